import unittest


def tearDownModule():
    raise OSError("no module tear-down")


class One(unittest.TestCase):
    def test_one(self):
        pass
