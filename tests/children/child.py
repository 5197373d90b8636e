"""A child that misbehaves on demand: child.py WHAT [ARG…]. For the executor's tests; uses no test framework."""
import os
import signal
import subprocess
import sys
import time



def wait_for_command(pid, word):
    """Until the command line of `pid`, which has called exec, shows `word`."""
    while True:
        with open(f"/proc/{pid}/cmdline", "rb") as command:
            if word in command.read():
                return
        time.sleep(0.01)


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
    wait_for_command(subprocess.Popen(["sleep", "600"]).pid, b"sleep")
    print("hanging", flush=True)
    time.sleep(600)
elif what == "leak":
    # A grandchild that keeps the output open and outlives its parent.
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 600; :", "the-leaked-one"])
    wait_for_command(child.pid, b"the-leaked-one")
    print("leader done", flush=True)
elif what == "helper":
    # Cleans up and ends after its leader, as torch_shm_manager does.
    seconds, file = sys.argv[2:]
    code = "import sys, time; time.sleep(float(sys.argv[2])); open(sys.argv[3], 'w')"
    subprocess.Popen([sys.executable, "-c", code, "torch_shm_manager", seconds, file])
elif what == "last-word":
    # Written after the leader has exited.
    if os.fork() == 0:
        time.sleep(0.5)
        os.write(1, b"the last word\n")
        os._exit(0)
elif what == "flood-by-descendant":
    # Lines of 8 bytes, written before and while the leader exits.
    flooding, floods = os.pipe()
    if os.fork() == 0:
        i = 0
        while True:
            os.write(1, b"".join(b"%07d\n" % n for n in range(i, i + 512)))
            i += 512
            if i == 512 * 20:
                os.close(floods)
    os.close(floods)
    os.read(flooding, 1)
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
    # A double fork into another session. The leader exits once the daemon has its command line.
    pid_of_daemon, tell_pid = os.pipe()
    if os.fork() == 0:
        os.setsid()
        time.sleep(2.5 if what.startswith("slow") else 0)
        if os.fork() == 0:
            os.write(tell_pid, b"%d" % os.getpid())
            os.execve("/bin/sleep", ["sleep" + argument, "600"], {} if "without" in what else dict(os.environ))
        os._exit(0)
    os.wait()
    wait_for_command(int(os.read(pid_of_daemon, 20)), b"sleep")
elif what == "hop":
    # A chain of processes: each forks the next in a session of its own and exits. Ends after 30 s.
    print("hopping", flush=True)
    until = time.monotonic() + 30
    if os.fork() == 0:
        while time.monotonic() < until:
            os.setsid()
            if os.fork() > 0:
                os._exit(0)
            time.sleep(float(argument))
elif what == "bomb":
    # 2^ARG processes, each in a session of its own. The leader exits when all of them exist.
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
    # Two processes, half of it each.
    os.fork()
    kept = b"x" * (int(argument) << 19)
    print("grown", flush=True)
    time.sleep(600)
elif what == "share":
    # Ten processes that share all of it, until a file exists.
    kept = b"x" * (int(argument) << 20)
    leader = os.getpid()
    for _ in range(9):
        if os.getpid() == leader:
            os.fork()
    if os.getpid() == leader:
        print("grown", flush=True)
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.01)
    if os.getpid() == leader:
        for _ in range(9):
            os.wait()
elif what == "write":
    with open("written", "wb") as file:
        file.write(b"x" * int(argument))
        file.flush()
        os.fsync(file.fileno())
elif what == "tests":
    # Writes events as the harness does. NAME=SECONDS ends, NAME@FILE ends once FILE exists, NAME
    # hangs.
    import faulthandler
    import json
    faulthandler.register(signal.SIGUSR1, file=1, all_threads=True)
    with open(os.environ["EVENTS"], "a", buffering=1) as events:
        tell = lambda event, **keys: events.write(json.dumps({"event": event, "pid": os.getpid(), **keys}) + "\n")
        tell("session", format=1)
        for word in sys.argv[2:]:
            word, _, file = word.partition("@")
            name, _, seconds = word.partition("=")
            tell("start", id=name)
            while file and not os.path.exists(file):
                time.sleep(0.01)
            if not file:
                time.sleep(float(seconds or 600))
            tell("end", id=name)
elif what == "import-hangs":
    import faulthandler
    faulthandler.register(signal.SIGUSR1, file=1, all_threads=True)

    def while_imported():
        with open(os.environ["EVENTS"], "a") as events:
            events.write('{"event": "session", "pid": %d}\n' % os.getpid())
        time.sleep(600)

    while_imported()
elif what == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
elif what == "until":
    while not os.path.exists(argument):
        time.sleep(0.01)
elif what == "count":
    # A line every tenth of a second.
    for i in range(int(argument)):
        print(time.monotonic(), flush=True)
        time.sleep(0.1)
else:
    sys.exit("unknown: " + what)
