"""Threads that outlive their test: one raises, one goes on, one dies at the interpreter's end."""

import atexit
import threading
import time
import unittest


def go_on():
    while True:
        time.sleep(0.001)


class Threads(unittest.TestCase):
    def test_1_raises_beside(self):
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()

    def test_2_goes_on(self):
        for _ in range(8):
            threading.Thread(target=go_on, daemon=True).start()

    def test_3_at_exit(self):
        atexit.register(lambda: 1 / 0)

    def test_4_fails(self):
        self.fail("beside eight threads")
