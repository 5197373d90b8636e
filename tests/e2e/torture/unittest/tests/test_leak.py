"""Processes that are left behind, each in its way."""

import os
import subprocess
import sys
import unittest

SLEEP = "import time; time.sleep(%d)"


class Leak(unittest.TestCase):
    def test_1_child(self):
        # It holds the log's pipe open.
        subprocess.Popen([sys.executable, "-S", "-c", SLEEP % 601])

    def test_2_daemon_without_an_environment(self):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.chdir("/")
                os.closerange(0, 3)
                os.execve(sys.executable, [sys.executable, "-S", "-c", SLEEP % 602], {})
            os._exit(0)
        os.wait()

    def test_3_deaf(self):
        deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); signal.signal(1, signal.SIG_IGN)"
        subprocess.Popen([sys.executable, "-S", "-c", deaf + "; time.sleep(603)"], start_new_session=True)

    def test_4_stopped(self):
        subprocess.Popen([sys.executable, "-S", "-c", "import os; os.kill(os.getpid(), 19); 604"])
