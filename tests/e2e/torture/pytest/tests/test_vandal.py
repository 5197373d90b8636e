import builtins
import os
import signal
import sys
import time

import pytest


def refuse(*args, **kwargs):
    raise RuntimeError("not that function")


def test_1_folder(tmp_path):
    os.chdir(tmp_path)
    os.rmdir(tmp_path)


def test_2_environment():
    os.environ.clear()
    sys.argv[:] = []


def test_3_clock():
    for name in ("time", "monotonic", "perf_counter", "process_time"):
        setattr(time, name, lambda: 0.0)


def test_4_signals():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def test_5_builtins():
    for name in ("print", "input", "round"):
        setattr(builtins, name, refuse)


def test_6_still_fails():
    assert not "after all that"


def test_7_still_passes():
    pass
