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
elif what == "flood-forever":
    while True:
        os.write(1, b"x" * 65536)
elif what == "flood-then-hang":
    os.write(1, b"x" * int(argument))
    time.sleep(600)
elif what == "leak-and-hang":
    subprocess.Popen(["sleep", "600"])
    print("hanging", flush=True)
    time.sleep(600)
elif what == "leak":
    # A grandchild that keeps our output open and outlives us.
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 600; :", "the-leaked-one"])
    # Until it has become the program that the test looks for.
    while b"the-leaked-one" not in open(f"/proc/{child.pid}/cmdline", "rb").read():
        time.sleep(0.01)
    print("leader done", flush=True)
elif what == "last-word":
    # Said after we have ended, by one that ends with it.
    if os.fork() == 0:
        time.sleep(0.5)
        os.write(1, b"the last word\n")
        os._exit(0)
elif what == "flood-by-descendant":
    # Lines of 8 bytes, also while we end.
    if os.fork() == 0:
        i = 0
        while True:
            os.write(1, b"".join(b"%07d\n" % n for n in range(i, i + 512)))
            i += 512
    time.sleep(0.3)
    os._exit(0)
elif what == "environment":
    import json
    print(json.dumps({
        "env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[2:], "sid_is_own": os.getsid(0) == os.getpid(),
        "stdin": sys.stdin.read(), "fds": sorted(int(f) for f in os.listdir("/proc/self/fd")),
        "blocked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "sigpipe_default": open("/proc/self/status").read().split("SigIgn:\t")[1].split()[0],
    }))
elif what in ("daemon", "daemon-without-environment", "slow-daemon-without-environment"):
    # Leaves our session, and by the time it is what it will be, us. Our own stdout is what it keeps open.
    executed, until_executed = os.pipe()
    if os.fork() == 0:
        os.setsid()
        time.sleep(2.5 if what.startswith("slow") else 0)
        if os.fork() == 0:
            os.execve("/bin/sleep", ["sleep" + argument, "600"], {} if "without" in what else dict(os.environ))
        os._exit(0)
    os.wait()
    os.close(until_executed)
    os.read(executed, 1)
elif what == "hop":
    # A process that is never the same for long: its child goes on where it ends. Gives up by itself.
    print("hopping", flush=True)
    until = time.monotonic() + 30
    if os.fork() == 0:
        while time.monotonic() < until:
            os.setsid()
            if os.fork() > 0:
                os._exit(0)
            time.sleep(float(argument))
elif what == "bomb":
    # Doubles as fast as it can, each in a session of its own, up to a number that harms nobody.
    leader = os.getpid()
    all_there, there = os.pipe()
    for _ in range(int(argument)):
        if os.fork() == 0:
            os.setsid()
            os.write(there, b"x")
    if os.getpid() != leader:
        time.sleep(600)
    for _ in range(2 ** int(argument) - 1):
        os.read(all_there, 1)
elif what == "hog":
    # Two processes of half of it each.
    os.fork()
    kept = b"x" * (int(argument) << 19)
    print("grown", flush=True)
    time.sleep(600)
elif what == "share":
    # Ten processes that have it all in common.
    kept = b"x" * (int(argument) << 20)
    for _ in range(9):
        if os.fork() == 0:
            time.sleep(1.5)
            os._exit(0)
    time.sleep(1.5)
    for _ in range(9):
        os.wait()
elif what == "write":
    with open("written", "wb") as file:
        file.write(b"x" * int(argument))
        file.flush()
        os.fsync(file.fileno())
elif what == "tests":
    # As the harness does: name=seconds starts and ends a test, name alone never ends.
    import faulthandler
    import json
    faulthandler.register(signal.SIGUSR1, file=1, all_threads=True)
    with open(os.environ["EVENTS"], "a", buffering=1) as events:
        tell = lambda event, **keys: events.write(json.dumps({"event": event, "pid": os.getpid(), **keys}) + "\n")
        tell("session", format=1)
        for word in sys.argv[2:]:
            name, _, seconds = word.partition("=")
            tell("start", id=name)
            time.sleep(float(seconds or 600))
            tell("end", id=name)
elif what == "import-hangs":
    import faulthandler
    faulthandler.register(signal.SIGUSR1, file=1, all_threads=True)
    with open(os.environ["EVENTS"], "a") as events:
        events.write('{"event": "session", "pid": %d}\n' % os.getpid())

    def while_imported():
        time.sleep(600)

    while_imported()
elif what == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
elif what == "until":
    while not os.path.exists(argument):
        time.sleep(0.01)
elif what == "count":
    # A line every tenth of a second, so that a pause is a gap.
    for i in range(int(argument)):
        print(time.monotonic(), flush=True)
        time.sleep(0.1)
else:
    sys.exit("unknown: " + what)
