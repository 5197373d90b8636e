"""Every way to end in order."""

import unittest


class Kinds(unittest.TestCase):
    def test_pass(self):
        pass

    def test_fail(self):
        self.assertEqual(1, 2)

    def test_error(self):
        raise ValueError("of the test")

    @unittest.skip("for a reason")
    def test_skip(self):
        pass

    def test_skip_inside(self):
        self.skipTest("found out late")

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("known")

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

    def test_sub_tests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    def test_tear_down_too(self):
        self.addCleanup(self.fail, "after it")
        self.fail("itself")


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.value = 1

    async def test_pass(self):
        self.assertEqual(self.value, 1)

    async def test_fail(self):
        self.assertEqual(self.value, 2)


@unittest.skip("the whole class")
class Skipped(unittest.TestCase):
    def test_x(self):
        pass
