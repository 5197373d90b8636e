"""Changes what it can reach of its process, and goes on passing and failing."""

import builtins
import faulthandler
import gc
import io
import os
import resource
import signal
import sys
import tempfile
import time
import unittest
import warnings


def refuse(*args, **kwargs):
    raise RuntimeError("not that function")


class Vandal(unittest.TestCase):
    def test_01_folder_gone(self):
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)

    def test_02_environment(self):
        os.environ.clear()
        os.umask(0o777)
        sys.argv[:] = []

    def test_03_clock(self):
        for name in ("time", "monotonic", "perf_counter", "process_time", "sleep"):
            setattr(time, name, lambda *args: -1e9)

    def test_04_streams(self):
        sys.stdout = io.StringIO()
        sys.stderr = None

    def test_05_signals(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        faulthandler.disable()
        faulthandler.unregister(signal.SIGUSR1)

    def test_06_limits(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4, most))
        gc.disable()
        warnings.simplefilter("error")

    def test_07_tracing(self):
        sys.settrace(lambda *args: None)
        sys.setprofile(lambda *args: None)

    def test_08_functions(self):
        for name in ("write", "getpid", "fstat", "stat", "open", "close", "_exit"):
            setattr(os, name, refuse)
        os.path.join = os.path.isabs = os.path.abspath = refuse

    def test_09_builtins(self):
        for name in ("open", "print", "input", "sorted", "any", "all", "round", "min", "max"):
            setattr(builtins, name, refuse)

    def test_10_modules(self):
        sys.path[:] = []
        sys.meta_path[:] = []
        for name in list(sys.modules):
            if name.partition(".")[0] in ("_compat_harness", "json", "re", "os", "time", "io"):
                del sys.modules[name]

    def test_11_still_fails(self):
        self.fail("after all that")

    def test_12_still_passes(self):
        pass
