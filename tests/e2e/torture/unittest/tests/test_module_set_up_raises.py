import unittest


def setUpModule():
    raise OSError("no module")


class A(unittest.TestCase):
    def test_1(self):
        pass
