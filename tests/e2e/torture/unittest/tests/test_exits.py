"""Exceptions that end programs: those that unittest catches, and those that it does not."""

import sys
import unittest


class Own(BaseException):
    pass


class Exits(unittest.TestCase):
    def test_1_sys_exit(self):
        sys.exit(4)

    def test_2_sys_exit_with_0(self):
        sys.exit(0)

    def test_3_interrupt(self):
        raise KeyboardInterrupt("from a test")

    def test_4_own(self):
        raise Own("no Exception")

    def test_5_generator_exit(self):
        raise GeneratorExit

    def test_6_passes(self):
        pass


class InSetUp(unittest.TestCase):
    def setUp(self):
        if self._testMethodName == "test_1":
            raise KeyboardInterrupt("from setUp")
        if self._testMethodName == "test_2":
            sys.exit("no set-up")

    def test_1(self):
        pass

    def test_2(self):
        pass

    def test_3(self):
        pass


class InTearDown(unittest.TestCase):
    def tearDown(self):
        if self._testMethodName == "test_1":
            raise KeyboardInterrupt("from tearDown")

    def test_1(self):
        pass

    def test_2(self):
        pass
