"""Each way to die in a test, a test that passes between each."""

import ctypes
import os
import signal
import sys
import unittest


class Own(BaseException):
    pass


def overflow():
    """Recursion in C that no Python limit sees."""
    callback = ctypes.CFUNCTYPE(None)

    def again():
        inner()

    inner = callback(again)
    sys.setrecursionlimit(10**9)
    inner()


class Death(unittest.TestCase):
    def test_01_segfault(self):
        print("about to read what is not there", flush=True)
        ctypes.string_at(0)

    def test_02_passes(self):
        pass

    def test_03_exit_with_3(self):
        os._exit(3)

    def test_04_exit_with_0(self):
        os._exit(0)

    def test_05_passes(self):
        pass

    def test_06_abort(self):
        os.abort()

    def test_07_sigkill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def test_08_sigterm(self):
        os.kill(os.getpid(), signal.SIGTERM)

    def test_09_fatal_error(self):
        ctypes.pythonapi.Py_FatalError(b"nothing works")

    def test_10_overflow(self):
        overflow()

    def test_11_passes(self):
        pass

    def test_12_closed_stdout_then_dies(self):
        sys.stdout.close()
        os.close(1)
        os.close(2)
        os._exit(9)

    def test_13_dies_in_a_sub_test(self):
        for i in range(3):
            with self.subTest(i=i):
                if i == 1:
                    os._exit(5)

    def test_14_group(self):
        os.killpg(0, signal.SIGKILL)

    def test_15_last(self):
        os._exit(0)
