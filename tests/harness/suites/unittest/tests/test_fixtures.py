"""Class fixtures that break, skip or end."""

import unittest


class SetUpBreaks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(lambda: 1 / 0)
        raise ValueError("set-up")

    def test_a(self):
        pass

    def test_b(self):
        pass


class SetUpSkips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("not here")

    def test_a(self):
        pass

    def test_b(self):
        pass


class TearDownBreaks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(lambda: 1 / 0)

    @classmethod
    def tearDownClass(cls):
        raise AssertionError("tear-down")

    def test_a(self):
        pass


class TearDownSkips(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise unittest.SkipTest("too late")

    def test_a(self):
        pass


def tearDownModule():
    raise ValueError("module")
