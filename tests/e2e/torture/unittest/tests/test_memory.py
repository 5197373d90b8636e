"""Grows past limits.memory, alone and by a child."""

import subprocess
import sys
import time
import unittest

GROW = """
import time
kept = []
for _ in range(40):
    kept.append(bytearray(b"x") * (25 << 20))
    time.sleep(0.05)
"""


class Memory(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_grows(self):
        kept = []
        for _ in range(40):
            kept.append(bytearray(b"x") * (25 << 20))
            time.sleep(0.05)

    def test_3_child_grows(self):
        subprocess.run([sys.executable, "-S", "-c", GROW])

    def test_4_memory_error(self):
        bytearray(1 << 60)

    def test_5_after(self):
        pass
