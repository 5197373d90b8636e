"""A child that misbehaves on demand: child.py WHAT [ARG]. Used by the executor's tests; knows no framework."""
import os
import signal
import subprocess
import sys
import time

what, argument = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
if what == "exit":
    print("out")
    print("err", file=sys.stderr)
    sys.exit(int(argument))
elif what == "crash":
    os.kill(os.getpid(), getattr(signal, argument))
elif what == "hang":
    print("hanging", flush=True)
    time.sleep(600)
elif what == "ignore-term":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ignoring", flush=True)
    time.sleep(600)
elif what == "flood":
    for i in range(int(argument)):
        os.write(1, b"%09d\n" % i)
elif what == "leak":
    # A grandchild that keeps our output open and outlives us.
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 600; :", "the-leaked-one"])
    # Until it has become the program that the test looks for.
    while b"the-leaked-one" not in open(f"/proc/{child.pid}/cmdline", "rb").read():
        time.sleep(0.01)
    print("leader done", flush=True)
elif what == "environment":
    import json
    print(json.dumps({
        "env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[2:], "sid_is_own": os.getsid(0) == os.getpid(),
        "stdin": sys.stdin.read(), "fds": sorted(int(f) for f in os.listdir("/proc/self/fd")),
        "blocked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "sigpipe_default": open("/proc/self/status").read().split("SigIgn:\t")[1].split()[0],
    }))
else:
    sys.exit("unknown: " + what)
