import unittest


class ClassCleanUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cls.leave)

    @classmethod
    def leave(cls):
        raise OSError("no class clean-up")

    def test_one(self):
        pass


class SetUpAndCleanUp(unittest.TestCase):
    def setUp(self):
        self.addCleanup(self.fail, "in a clean-up")
        raise OSError("no set-up")

    def test_one(self):
        pass
