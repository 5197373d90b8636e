import os
import signal
import unittest


class Crash(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_crash(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def test_3_after(self):
        pass
