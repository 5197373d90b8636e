import unittest


def setUpModule():
    raise OSError("no module set-up")


class One(unittest.TestCase):
    def test_one(self):
        pass

    def test_two(self):
        pass
