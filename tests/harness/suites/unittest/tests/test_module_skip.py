import unittest


def setUpModule():
    raise unittest.SkipTest("whole module")


class A(unittest.TestCase):
    def test_x(self):
        pass
