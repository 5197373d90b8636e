import unittest


class Stops(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_fails(self):
        self.fail("the first")

    def test_3_after(self):
        pass
