"""Ends in ways that the runner has to notice: a crash, a hang, memory, processes left behind."""
import ctypes
import os
import signal
import subprocess
import time
import unittest


class Ends(unittest.TestCase):
    def test_a_leaves_a_process(self):
        subprocess.Popen(["sleep", "4711"], start_new_session=True)

    def test_b_leaves_an_orphan(self):
        subprocess.run(["sh", "-c", "sleep 4712 &"], check=True)

    def test_c_crashes(self):
        ctypes.string_at(0)

    def test_d_kills_itself(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def test_e_hangs(self):
        hangs_here()

    def test_f_holds_memory(self):
        block = bytearray(200 << 20)
        time.sleep(0.3)
        self.assertEqual(len(block), 200 << 20)


def hangs_here():
    while True:
        time.sleep(0.01)
