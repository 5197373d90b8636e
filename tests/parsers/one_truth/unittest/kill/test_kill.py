import os
import signal
import unittest


class Dies(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_dies(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def test_3_after(self):
        pass
