import unittest


class SetUpFails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no class set-up")

    def test_one(self):
        pass

    def test_two(self):
        pass


class SetUpSkips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("in class set-up")

    def test_one(self):
        pass

    def test_two(self):
        pass


class TearDownFails(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise OSError("no class tear-down")

    def test_one(self):
        pass

    def test_two(self):
        pass
