import os
import unittest


def setUpModule():
    os._exit(3)


class A(unittest.TestCase):
    def test_1(self):
        pass


class B(unittest.TestCase):
    def test_2(self):
        pass
