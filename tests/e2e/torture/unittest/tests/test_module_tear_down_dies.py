import os
import unittest


def tearDownModule():
    os.abort()


class A(unittest.TestCase):
    def test_1(self):
        pass

    def test_2(self):
        self.fail("before it")
