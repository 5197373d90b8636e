import unittest


class SetUpFails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no database")

    def test_one(self):
        pass

    def test_two(self):
        pass


class TearDownFails(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise OSError("still open")

    def test_one(self):
        pass


class Skipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("needs a printer")

    def test_one(self):
        pass
