import time
import unittest


class Hang(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_hangs(self):
        time.sleep(600)

    def test_3_after(self):
        pass
