"""Tests suites that exit or kill their process, fork, or hang: the events up to then are kept and
name the process that wrote them."""

import signal
import subprocess
import time

import pytest
import support
from support import run

DEATHS = {
    "os._exit(7)": 7,
    "os.abort()": -signal.SIGABRT,
    "os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "ctypes.string_at(0)": -signal.SIGSEGV,
}


@pytest.mark.parametrize("death", DEATHS)
def test_events_are_kept_when_a_test_kills_the_process(framework, interpreter, root, death):
    body = "import ctypes, os, signal, unittest\n\n\nclass A(unittest.TestCase):\n"
    body += "    def test_a(self):\n        pass\n\n    def test_b(self):\n        %s\n\n" % death
    body += "    def test_c(self):\n        pass\n"
    support.write(root, {"test_a.py": body})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.status == DEATHS[death]
    assert result.states() == {"A::test_a": "passed"}
    assert result.lines[-1]["event"] == "start" and result.lines[-1]["id"].endswith("::test_b")
    if death == "ctypes.string_at(0)":
        assert "Segmentation fault" in result.log and "in test_b" in result.log


INTERRUPTED = """
import unittest


class A(unittest.TestCase):
    def test_a(self):
        pass

    def test_b(self):
        raise KeyboardInterrupt("in a test")

    def test_c(self):
        pass
"""


def test_an_interrupt_in_a_test_ends_the_session(python, root):
    support.write(root, {"test_a.py": INTERRUPTED})
    result = run(python, "unittest", root, "test_a.py")
    status, log = support.framework_run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_a": "passed", "A::test_b": "errored"}
    failure = result.ends()["A::test_b"]["failure"]
    assert (failure["type"], failure["message"]) == ("KeyboardInterrupt", "in a test")
    assert [f["function"] for f in failure["frames"]] == ["test_b"]
    assert not result.finished and result.status == status


@pytest.mark.parametrize("error", ["SystemExit(5)", "KeyboardInterrupt()"])
@pytest.mark.parametrize(
    "fixture, rows",
    [
        ("setUpClass", {"A::test_a": "errored", "A::test_b": "errored"}),
        ("setUpModule", {"A::test_a": "errored", "A::test_b": "errored", "B::test_c": "errored"}),
        (
            "tearDownClass",
            {"A::test_a": "passed", "A::test_b": "passed", "A::<tearDownClass>": "errored"},
        ),
    ],
)
def test_an_exit_in_a_fixture_is_reported(python, root, error, fixture, rows):
    body = "import unittest\n\n\nclass A(unittest.TestCase):\n"
    if fixture.endswith("Class"):
        body += "    @classmethod\n    def %s(cls):\n        raise %s\n\n" % (fixture, error)
    body += "    def test_a(self):\n        pass\n\n    def test_b(self):\n        pass\n\n\n"
    body += "class B(unittest.TestCase):\n    def test_c(self):\n        pass\n"
    if fixture.endswith("Module"):
        body += "\n\ndef %s():\n    raise %s\n" % (fixture, error)
    support.write(root, {"test_a.py": body})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == rows
    assert all(
        line["failure"]["type"] == error.partition("(")[0]
        for line in result.of("end")
        if line["state"] == "errored"
    )
    assert not result.finished
    assert result.status == support.framework_run(python, "unittest", root, "test_a.py")[0]


FORKS = """
import os, unittest


class A(unittest.TestCase):
    def test_a(self):
        self.child = os.fork()
        if self.child:
            self.assertEqual(os.waitpid(self.child, 0)[1], 0)

    def test_b(self):
        print("b runs")
"""


def test_a_fork_that_returns_to_the_framework_runs_no_further_tests(framework, interpreter, root):
    # The child exits without flushing its copies of the streams: no line appears twice.
    options = ["--option", "-s"] if framework == "pytest" else []
    support.write(root, {"test_a.py": FORKS})
    result = run(interpreter, framework, root, "test_a.py", *options)
    assert result.states() == {"A::test_a": "passed", "A::test_b": "passed"}
    assert result.finished and result.status == 0
    assert [line["event"] for line in result.foreign] == ["end"]
    assert result.log.count("b runs") == 1


SPAWNS = """
import multiprocessing, os, pickle, sys, unittest


class Value:
    pass


def work(queue, value):
    queue.put((type(value).__module__, "_compat_harness" in sys.modules))


class A(unittest.TestCase):
    def test_x(self):
        for method in ("spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            child = context.Process(target=work, args=(queue, Value()))
            child.start()
            found = queue.get(timeout=30)
            child.join()
            self.assertEqual(found, (__name__, False))
            self.assertEqual(child.exitcode, 0)

    def test_y(self):
        self.assertIs(pickle.loads(pickle.dumps(Value)), Value)
"""


def test_spawned_children_import_nothing_of_the_harness(framework, interpreter, root):
    support.write(root, {"test_a.py": SPAWNS})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_x": "passed", "A::test_y": "passed"}
    assert result.foreign == [] and len(result.of("session")) == 1


HANGS = """
import threading, time, unittest


def beside():
    time.sleep(60)


class A(unittest.TestCase):
    def test_x(self):
        threading.Thread(target=beside, daemon=True).start()
        time.sleep(60)
"""


def test_sigusr1_writes_stacks_to_the_log(python, root, tmp_path):
    support.write(root, {"test_a.py": HANGS})
    events, log = tmp_path / "events.jsonl", tmp_path / "log.txt"
    argv = [python, str(support.MAIN), "--framework", "unittest", "--module", "test_a.py"]
    argv += ["--root", str(root), "--events", str(events)]
    with open(log, "wb") as out:
        child = subprocess.Popen(argv, cwd=root, stdout=out, stderr=out, env=support.ENVIRONMENT)
    try:
        _until(lambda: events.exists() and '"start"' in events.read_text())
        time.sleep(0.2)
        child.send_signal(signal.SIGUSR1)
        _until(lambda: "in beside" in log.read_text() and "in test_x" in log.read_text())
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def _until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


BASES = """
import unittest


class Own(BaseException):
    pass


class A(unittest.TestCase):
    def test_a(self):
        raise Own("mine")

    def test_b(self):
        raise GeneratorExit

    def test_c(self):
        raise SystemExit(0)

    def test_d(self):
        raise MemoryError
"""


def test_base_exceptions_in_a_test_are_reported(framework, interpreter, root):
    support.write(root, {"test_a.py": BASES})
    result = run(interpreter, framework, root, "test_a.py")
    state = "errored" if framework == "unittest" else "failed"
    assert result.states() == {"A::test_" + name: state for name in "abcd"}
    assert result.finished and result.status == 1


FORKS_EVERYWHERE = """
import os, unittest

os.fork()


def twice():
    child = os.fork()
    if child:
        os.waitpid(child, 0)


def setUpModule():
    twice()


class A(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        twice()

    def setUp(self):
        twice()

    def tearDown(self):
        twice()

    @classmethod
    def tearDownClass(cls):
        twice()

    def test_a(self):
        for _ in range(3):
            os.fork()

    def test_b(self):
        self.fail("once")
"""


def test_forks_in_tests_and_fixtures_write_no_extra_rows(framework, interpreter, root):
    support.write(root, {"test_a.py": FORKS_EVERYWHERE})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_a": "passed", "A::test_b": "failed"}
    assert result.finished and result.status == 1
    if framework == "unittest":
        assert result.log.count("... ok\n") == result.log.count("FAILED (failures=1)") == 1
