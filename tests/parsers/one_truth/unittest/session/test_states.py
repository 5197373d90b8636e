import unittest


class States(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_raises(self):
        raise ValueError("not an assertion")

    def test_skips(self):
        self.skipTest("by a call")

    @unittest.skip("by a decorator")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_xfails(self):
        self.fail("known")

    @unittest.expectedFailure
    def test_xpasses(self):
        pass


class SetUp(unittest.TestCase):
    def setUp(self):
        raise OSError("no set-up")

    def test_one(self):
        pass


class TearDown(unittest.TestCase):
    def tearDown(self):
        raise OSError("no tear-down")

    def test_passes(self):
        pass

    def test_fails(self):
        self.fail("both")


class Cleanup(unittest.TestCase):
    def test_one(self):
        self.addCleanup(self.fail, "in a clean-up")
