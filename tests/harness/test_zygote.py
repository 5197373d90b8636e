"""Tests modules in processes forked from a zygote, compared with fresh processes. The test process
plays the runner: it adopts the forked processes and waits for them."""

import ctypes
import itertools
import os
import re
import signal
import socket
import subprocess
import time

import pytest
import support

PR_SET_CHILD_SUBREAPER = 36


numbers = itertools.count(1)  # job numbers, over all zygotes


class Zygote:
    def __init__(self, python, framework, root, preload, env=()):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket, self.framework, self.root = ours, framework, root
        self.folder = root.parent
        argv = [python, str(support.MAIN), "--zygote", str(its.fileno()), framework, str(root)]
        with open(self.folder / "zygote.log", "wb") as log:
            self.process = subprocess.Popen(
                argv + list(preload),
                env={**support.ENVIRONMENT, "COMPAT_JOB": "run/zygote-process", **dict(env)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[its.fileno()],
                start_new_session=True,
            )
        its.close()
        self.answer = ours.recv(1 << 10).decode()

    @property
    def log(self):
        return (self.folder / "zygote.log").read_text()

    def fork(self, module, *arguments, env=()):
        """(pid, reading end of its output, events file)"""
        number = next(numbers)
        events = self.folder / ("events%d.jsonl" % number)
        words = ["--framework", self.framework, "--module", module, "--root", str(self.root)]
        words += ["--events", str(events), *arguments, ""]
        variables = {"COMPAT_JOB": "run/%d" % number, **dict(env)}
        words += ["%s=%s" % pair for pair in variables.items()]
        reading, writing = os.pipe()
        socket.send_fds(self.socket, ["\0".join(words).encode()], [writing])
        os.close(writing)
        answer = self.socket.recv(1 << 10).decode()
        assert answer.startswith("forked "), answer
        return int(answer.split()[1]), reading, events

    def run(self, module, *arguments, env=()):
        pid, reading, events = self.fork(module, *arguments, env=env)
        with open(reading, "rb") as output:
            log = output.read().decode()
        _, status, self.usage = os.wait4(pid, 0)
        lines = [support.json.loads(line) for line in events.read_text().splitlines()]
        support.check_invariants(lines, module, self.root)
        own = [line for line in lines if line["pid"] == pid]
        foreign = [line for line in lines if line["pid"] != pid]
        status = os.waitstatus_to_exitcode(status)
        return support.Run(self.root, module, status, log, own, foreign)


@pytest.fixture
def zygote(root):
    """zygote(python, framework, *preload): a started zygote."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = []

    def start(python, framework, *preload, env=()):
        started.append(Zygote(python, framework, root, preload, env))
        return started[-1]

    yield start
    for one in started:
        one.socket.close()
        one.process.kill()
        one.process.wait()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def modules_of(framework):
    return sorted(
        str(path.relative_to(support.SUITES / framework))
        for path in (support.SUITES / framework).rglob("test_*.py")
    )


def comparable_events(run):
    """The events without values that differ between processes."""
    varies = ("pid", "time", "epoch", "duration_s", "forked")
    kept = [{k: v for k, v in line.items() if k not in varies} for line in run.lines]
    return support.normalized_log(support.json.dumps(kept, indent=1)).splitlines()


def test_a_fork_writes_the_same_events_as_a_fresh_process(zygote, framework, interpreter, root):
    support.copy_suite(framework, root)
    warm = zygote(interpreter, framework, "json", "decimal")
    assert warm.answer == "ready 1", warm.log
    for module in modules_of(framework):
        fresh = support.run(interpreter, framework, root, module)
        forked = warm.run(module)
        assert comparable_events(forked) == comparable_events(fresh), module
        assert forked.status == fresh.status, module
        assert [run.lines[0].get("forked") for run in (forked, fresh)] == [True, None]
        logs = [support.normalized_log(run.log) for run in (forked, fresh)]
        assert logs[0] == logs[1], module


KEY = "fedcba9876543210" * 2
SEES_NO_KEY = """
import os, sys, unittest


class A(unittest.TestCase):
    def test_a(self):
        seen = [open("/proc/self/" + name, "rb").read() for name in ("cmdline", "environ")]
        seen += [repr(sys.argv).encode(), repr(getattr(sys, "orig_argv", "")).encode(), repr(os.environ).encode()]
        self.assertFalse(any(b"%s" in text for text in seen))
""" % KEY


def test_a_forks_key_comes_with_the_request_and_is_not_seen(zygote, python, root):
    support.write(root, {"test_a.py": SEES_NO_KEY})
    served = zygote(python, "unittest")
    run = served.run("test_a.py", "--signed", "--key", KEY)
    assert run.states() == {"A::test_a": "passed"} and run.finished
    assert all(len(line["mac"]) == 32 for line in run.lines)
    assert "mac" not in served.run("test_a.py").lines[0]


LOOKS = """
import ctypes, inspect, os, signal, sys, unittest

def words(name):
    with open("/proc/self/" + name) as file:
        return file.read().split("\\0")

class T(unittest.TestCase):
    def test(self):
        main = sys.modules["__main__"]
        death = ctypes.c_int()
        ctypes.CDLL(None).prctl(2, ctypes.byref(death))
        with open(os.environ["TELL"], "w") as file:
            print({
                "argv": sys.argv, "path": sys.path, "main": main.__spec__.name,
                "flags": sys.flags[:],
                "cwd": os.getcwd(), "session": os.getsid(0) == os.getpid() == os.getpgid(0),
                "parent": os.getppid(), "death": death.value,
                "open": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
                "stdin": os.readlink("/proc/self/fd/0"),
                "streams": [s.line_buffering for s in (sys.stdout, sys.stderr)],
                "mask": [s for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
                "handlers": {
                    int(s): str(signal.getsignal(s)).split(" at ")[0]
                    for s in signal.valid_signals()
                },
                "environ": {k: v for k, v in os.environ.items() if k != "TELL"},
                "job": [w for w in words("environ") if w.startswith("COMPAT_JOB=")],
                "command": [w for w in words("cmdline") if w][2:6], "orig": sys.orig_argv[1:6],
                "depth": len(inspect.stack()),
                "threads": os.listdir("/proc/self/task") == [str(os.getpid())],
            }, file=file)
"""


def test_a_forked_process_looks_like_a_fresh_one(zygote, python, root):
    support.write(root, {"test_looks.py": LOOKS})
    if support.version(python) < (3, 10):
        pytest.skip("sys.orig_argv is new in 3.10")
    told = root.parent / "told"
    env = {"TELL": str(told), "COMPAT_JOB": "run/1"}
    fresh = support.run(python, "unittest", root, "test_looks.py", env=env)
    expected = eval(told.read_text())
    forked = zygote(python, "unittest", "json").run("test_looks.py", env=env)
    found = eval(told.read_text())
    assert fresh.states() == forked.states() == {"T::test": "passed"}
    # The runner's launcher sets these for a fresh process.
    assert found.pop("session") and found.pop("death") == signal.SIGKILL
    assert found.pop("parent") == os.getpid() == expected.pop("parent")
    del expected["session"], expected["death"]
    assert expected["job"] == ["COMPAT_JOB=run/1"]
    assert found == expected


RANDOM = """
import random, unittest
try:
    import numpy, torch
except ImportError:
    numpy = torch = None

class T(unittest.TestCase):
    def test(self):
        print("drawn:", random.random())
        if torch:
            print("drawn:", numpy.random.rand())
            print("drawn:", torch.rand(1).item())
"""


def drawn(run):
    return re.findall(r"drawn: (\S+)", run.log)


def test_forks_get_new_random_seeds_unless_an_import_set_one(zygote, python, root):
    pytest.importorskip("torch")
    support.write(root, {
        "test_random.py": RANDOM,
        "seeded/__init__.py": "import numpy, torch\nnumpy.random.seed(5)\ntorch.manual_seed(7)\n",
    })
    warm = zygote(python, "unittest", "torch", "numpy", "random")
    first, second = (drawn(warm.run("test_random.py")) for _ in range(2))
    assert len(first) == 3 and not set(first) & set(second)
    seeded = zygote(python, "unittest", "seeded")
    first, second = (drawn(seeded.run("test_random.py"))[1:] for _ in range(2))
    assert first == second
    support.write(root, {"test_fresh.py": "import seeded\n" + RANDOM})
    assert drawn(support.run(python, "unittest", root, "test_fresh.py"))[1:] == first


PASSES = """
import unittest

class T(unittest.TestCase):
    def test(self):
        pass
"""

ENDS = """
import os, signal, sys, time, unittest

class T(unittest.TestCase):
    def test(self):
        print("said")
        how = os.environ["HOW"]
        if how == "abort":
            os.abort()
        if how == "exit":
            os._exit(3)
        if how == "busy":
            end = time.process_time() + 0.3
            while time.process_time() < end:
                pass
        if how == "hang":
            time.sleep(60)
"""


def test_the_runner_gets_the_exit_status_and_resource_usage(zygote, python, root):
    support.write(root, {"test_ends.py": ENDS})
    warm = zygote(python, "unittest", "json")
    assert warm.run("test_ends.py", env={"HOW": "exit"}).status == 3
    aborted = warm.run("test_ends.py", env={"HOW": "abort"})
    assert aborted.status == -signal.SIGABRT and "said" in aborted.log
    assert "Fatal Python error: Aborted" in aborted.log  # the stacks, as in any child
    busy = warm.run("test_ends.py", env={"HOW": "busy"})
    assert busy.status == 0 and 0.3 < warm.usage.ru_utime + warm.usage.ru_stime < 1
    assert warm.run("test_ends.py", env={"HOW": "busy"}).finished


def test_sigusr1_writes_stacks_of_a_forked_process(zygote, python, root):
    support.write(root, {"test_ends.py": ENDS})
    warm = zygote(python, "unittest", "json")
    pid, reading, events = warm.fork("test_ends.py", env={"HOW": "hang"})
    deadline = time.monotonic() + 20
    while not (events.exists() and '"start"' in events.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(pid, signal.SIGUSR1)
    time.sleep(0.2)
    os.kill(pid, signal.SIGTERM)
    with open(reading, "rb") as output:
        log = output.read().decode()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM
    assert "time.sleep(60)" not in log and "in test" in log and "test_ends.py" in log


def test_output_of_imports_stays_in_the_zygotes_log(zygote, python, root):
    support.write(root, {
        "talks.py": "import sys\nsys.stdout.write('imported ')\nsys.stderr.write('noisily ')\n",
        "test_it.py": "import talks\n" + PASSES,
    })
    warm = zygote(python, "unittest", "talks")
    runs = [warm.run("test_it.py") for _ in range(2)]
    assert all(run.finished and "import" not in run.log and "nois" not in run.log for run in runs)
    assert sorted(warm.log.split()) == ["imported", "noisily"]


@pytest.mark.parametrize("body, last", [
    ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("raise SystemExit('not today')", "not today"),
])
def test_a_failed_import_ends_the_zygote_with_its_traceback(zygote, python, root, body, last):
    support.write(root, {"broken.py": body})
    warm = zygote(python, "unittest", "broken")
    assert warm.answer == "" and warm.process.wait(20) == 1
    assert warm.log.splitlines()[-1] == last


def test_threads_are_counted_after_a_fork(zygote, python, root):
    support.write(root, {
        "threads.py": "import threading, time\n"
                      "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
    })
    assert zygote(python, "unittest", "threads").answer == "ready 2"
    pytest.importorskip("numpy")
    # OpenBLAS starts its pool on import and ends it before a fork.
    pool = zygote(python, "unittest", "numpy", env={"OPENBLAS_NUM_THREADS": "3"})
    assert pool.answer == "ready 1"


def test_two_hundred_forks_leave_no_process_or_descriptor(zygote, python, root):
    support.write(root, {"test_it.py": PASSES})
    warm = zygote(python, "unittest")
    warm.run("test_it.py")
    folder = "/proc/%d/fd" % warm.process.pid
    before = sorted(os.listdir(folder))
    for _ in range(200):
        assert warm.run("test_it.py").finished
    assert sorted(os.listdir(folder)) == before
    with open("/proc/%d/task/%d/children" % (warm.process.pid, warm.process.pid)) as children:
        assert children.read() == ""


def test_the_zygote_ends_with_the_runner(zygote, python, root):
    support.write(root, {"test_ends.py": ENDS})
    warm = zygote(python, "unittest", "json")
    warm.socket.close()
    assert warm.process.wait(20) == 0
    assert warm.log == ""


def test_preloaded_plugins_do_not_fail_the_run(zygote, pytest_python, root):
    """pytest warns about plugins that were imported before it could rewrite them, and this suite
    turns warnings into errors. pytest still rewrites the suite's own modules."""
    metadata = "Metadata-Version: 2.1\nName: plugged\nVersion: 1\n"
    support.write(root, {
        "plugged/__init__.py": "from plugged import helping\n",
        "plugged/helping.py": "def check(x):\n    assert x == 1\n",
        "plugged-1.dist-info/METADATA": metadata,
        "plugged-1.dist-info/RECORD": "plugged/__init__.py,,\nplugged/helping.py,,\n",
        "plugged-1.dist-info/entry_points.txt": "[pytest11]\nplugged = plugged\n",
        "pytest.ini": "[pytest]\nfilterwarnings = error\n",
        "conftest.py": "def known(x):\n    assert x == 'from the conftest'\n",
        "test_it.py": "from conftest import known\n"
                      "def test_own(): assert 'own' == 'other'\n"
                      "def test_conftest(): known('from the test')\n",
    })
    env = {"PYTHONPATH": str(root)}
    fresh = support.run(pytest_python, "pytest", root, "test_it.py", env=env)
    forked = zygote(pytest_python, "pytest", "plugged", env=env).run("test_it.py")
    assert fresh.states() == forked.states() == {"test_own": "failed", "test_conftest": "failed"}
    for run in (fresh, forked):
        assert "plugins: plugged-1" in run.log
        assert "assert 'own' == 'other'" in run.log and "- from the conftest" in run.log


PARALLEL = """
import torch, unittest

class T(unittest.TestCase):
    def test(self):
        torch.set_num_threads(2)
        x = torch.randn(300, 300, requires_grad=True)
        for _ in range(20):
            (x @ x).relu().sum().backward()
        self.assertEqual(torch.get_num_threads(), 2)
        torch.randn(1000, 1000).numpy() @ torch.randn(1000, 1000).numpy()
"""


def test_parallel_work_after_a_fork_does_not_hang(zygote, python, root):
    pytest.importorskip("torch")
    support.write(root, {"test_parallel.py": PARALLEL})
    warm = zygote(python, "unittest", "torch", env={"OMP_NUM_THREADS": "2"})
    assert warm.answer == "ready 1"
    for _ in range(3):
        assert warm.run("test_parallel.py").states() == {"T::test": "passed"}


LEAVES = """
import atexit, ctypes, gc, sys, unittest
import kept

class Noisy:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        print("deleted", self.name, flush=True)

noisy = Noisy("global")
ring = [Noisy("in a ring")]
ring.append(ring)
atexit.register(lambda: print("at exit", "kept" in sys.modules, flush=True))

class T(unittest.TestCase):
    def test(self):
        ctypes.CDLL(None).printf(b"buffered by C\\n")
        self.fail()
"""


def test_exit_handlers_run_as_in_a_fresh_process(zygote, python, root):
    support.write(root, {
        "kept.py": "import atexit\natexit.register(print, 'of the import', flush=True)\n",
        "test_leaves.py": LEAVES,
    })
    fresh = support.run(python, "unittest", root, "test_leaves.py")
    forked = zygote(python, "unittest", "kept").run("test_leaves.py")
    assert fresh.status == forked.status == 1
    logs = [support.normalized_log(run.log) for run in (forked, fresh)]
    assert logs[0] == logs[1]
    for words in ("deleted global", "deleted in a ring", "at exit True", "buffered by C"):
        assert words in fresh.log
