"""Tests that take too long: asleep, deaf to SIGTERM, in C with the interpreter's lock held."""

import ctypes
import signal
import threading
import time
import unittest


def wait_beside():
    time.sleep(60)


class Hang(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_sleeps(self):
        threading.Thread(target=wait_beside, daemon=True).start()
        time.sleep(60)

    def test_3_between(self):
        pass

    def test_4_deaf(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)

    def test_5_in_c(self):
        ctypes.PyDLL(None).sleep(60)

    def test_6_after(self):
        pass
