import unittest


@unittest.skip("a class")
class Skipped(unittest.TestCase):
    def test_one(self):
        pass

    def test_two(self):
        pass


class SetUpSkips(unittest.TestCase):
    def setUp(self):
        self.skipTest("in set-up")

    def test_one(self):
        pass


class TearDownSkips(unittest.TestCase):
    def tearDown(self):
        self.skipTest("in tear-down")

    def test_one(self):
        pass


class TearDownClassSkips(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise unittest.SkipTest("in class tear-down")

    def test_one(self):
        pass
