import unittest


def setUpModule():
    raise ValueError("module")


class A(unittest.TestCase):
    def test_x(self):
        pass


class B(unittest.TestCase):
    def test_x(self):
        pass
