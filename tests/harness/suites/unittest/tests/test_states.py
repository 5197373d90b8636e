"""Every way in which one test can end."""

import unittest

from tests.base import Inherited, with_argument, wrapped


class OwnFailure(AssertionError):
    pass


class States(unittest.TestCase):
    def test_passes(self):
        print("printed by a test")

    @wrapped
    @with_argument(
        "def test_decorated(self): not this one"
    )
    def test_decorated(self):
        pass

    def test_fails(self):
        """The first line of its documentation stands in the log."""
        self.assertEqual(1, 2)

    def test_fails_by_subclass(self):
        raise OwnFailure("own")

    def test_errors(self):
        raise ValueError("broken")

    def test_system_exit(self):
        raise SystemExit(3)

    def test_broken_str(self):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError("no words")

        raise Mute()

    @unittest.skip("by decorator")
    def test_skipped(self):
        pass

    def test_skips_itself(self):
        self.skipTest("by itself")

    @unittest.expectedFailure
    def test_xfails(self):
        self.fail("known")

    @unittest.expectedFailure
    def test_xpasses(self):
        pass

    def test_cleanup_breaks(self):
        self.addCleanup(lambda: 1 / 0)

    def test_fails_and_cleanup_breaks(self):
        self.addCleanup(lambda: 1 / 0)
        self.fail("first")

    def test_skips_and_cleanup_breaks(self):
        self.addCleanup(lambda: 1 / 0)
        self.skipTest("first")


class SubTests(unittest.TestCase):
    def test_all_pass(self):
        for i in range(2):
            with self.subTest(i=i):
                pass

    def test_some_fail(self):
        for i in range(4):
            with self.subTest("named", i=i):
                if i == 1:
                    self.fail("one")
                if i == 2:
                    raise KeyError("two")
                if i == 3:
                    self.skipTest("three")

    def test_one_skips(self):
        with self.subTest(i=0):
            self.skipTest("zero")

    def test_fails_after_them(self):
        with self.subTest(i=0):
            raise KeyError("sub")
        self.fail("itself")


class SetUpBreaks(unittest.TestCase):
    def setUp(self):
        raise ValueError("set-up")

    def test_x(self):
        pass


class SetUpSkips(unittest.TestCase):
    def setUp(self):
        self.skipTest("set-up")

    def test_x(self):
        pass


class TearDownBreaks(unittest.TestCase):
    def tearDown(self):
        raise ValueError("tear-down")

    def test_fails(self):
        self.fail("call")

    def test_passes(self):
        pass


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.value = 1

    async def asyncTearDown(self):
        if self._testMethodName == "test_tear_down":
            raise ValueError("tear-down")

    async def test_fails(self):
        self.assertEqual(self.value, 2)

    async def test_passes(self):
        self.assertEqual(self.value, 1)

    async def test_tear_down(self):
        pass


@unittest.skip("the class")
class SkippedClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise AssertionError("never called")

    def test_x(self):
        pass


class Derived(Inherited):
    value = 3


def make():
    class Made(unittest.TestCase):
        def runTest(self):
            pass

    return Made


Made = make()
Same = Made
