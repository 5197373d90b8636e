import os
import unittest


class Dies(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_dies(self):
        os.abort()

    def test_3_after(self):
        pass
