import unittest


def setUpModule():
    raise unittest.SkipTest("in module set-up")


class One(unittest.TestCase):
    def test_one(self):
        pass
