"""A process that stops itself hears no signal but SIGKILL."""

import os
import signal
import unittest


class Stopped(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_stops(self):
        os.kill(os.getpid(), signal.SIGSTOP)

    def test_3_after(self):
        pass
