"""kill -9 -1: everything that it may kill but itself. Only in a sandbox."""
import os
import signal
import subprocess
import time
import unittest


@unittest.skipUnless(os.environ.get("MISBEHAVING_KILLS_ALL"), "it would end the host's processes")
class KillAll(unittest.TestCase):
    def test_kills_all(self):
        child = subprocess.Popen(["sleep", "60"])
        os.kill(-1, signal.SIGKILL)
        self.assertEqual(child.wait(10), -signal.SIGKILL)

    def test_passes_afterwards(self):
        time.sleep(0.1)
