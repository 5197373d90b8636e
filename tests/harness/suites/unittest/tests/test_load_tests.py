"""load_tests: suites of its own, a function, the same test twice, a discovered module that is broken."""

import unittest


class A(unittest.TestCase):
    def test_x(self):
        pass

    def test_y(self):
        pass


class Suite(unittest.TestSuite):
    pass


class Fails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("in a suite class of the module's own")

    def test_x(self):
        pass


def a_function():
    pass


def load_tests(loader, standard, pattern):
    suite = unittest.TestSuite([A("test_y"), A("test_x"), A("test_y")])
    own = Suite([Fails("test_x"), unittest.FunctionTestCase(a_function)])
    missing = loader.loadTestsFromName("tests.not_there")
    return unittest.TestSuite([suite, own, missing])
