"""load_tests that repeats a test and adds a function."""

import unittest


class Loaded(unittest.TestCase):
    def test_x(self):
        pass

    def test_left_out(self):
        self.fail("never loaded")


def check():
    assert 1 + 1 == 2


def load_tests(loader, tests, pattern):
    suite = unittest.TestSuite([Loaded("test_x"), Loaded("test_x")])
    suite.addTest(unittest.FunctionTestCase(check))
    return suite
