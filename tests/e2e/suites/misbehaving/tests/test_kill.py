"""Kills a process of the host by its id, and looks for it."""
import os
import signal
import unittest


class Kill(unittest.TestCase):
    def test_kills_by_id(self):
        os.kill(int(os.environ["MISBEHAVING_VICTIM"]), signal.SIGKILL)

    def test_sees_it(self):
        self.assertTrue(os.path.exists("/proc/" + os.environ["MISBEHAVING_VICTIM"]))

    def test_passes_afterwards(self):
        self.assertGreater(os.getpid(), 1)
