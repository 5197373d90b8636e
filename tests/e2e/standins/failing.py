"""How a stand-in for a framework fails, as the variable STANDIN_NAME says."""

import os
import signal
import subprocess
import sys
import time


def fail_as_asked(name):
    how = os.environ.get(f"STANDIN_{name}")
    if how == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "100"])  # keeps the pipe open
        time.sleep(100)
    if how == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "nonsense":
        print("{not a device}")
        sys.exit()
    print("a line that frameworks print")
