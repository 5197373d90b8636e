"""Leaves a process and dies: it belongs to the attempt that left it."""

import os
import subprocess
import sys
import unittest


class Leak(unittest.TestCase):
    def test_1_leaves_and_dies(self):
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(605)"])
        os._exit(6)

    def test_2_after(self):
        pass
