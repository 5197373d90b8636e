"""Suites that change, break or leave the process that they run in: the events stay whole and
true."""

import json
import os
import signal
import subprocess
import time

import pytest
import support
from support import run

# Replaces everything of the process that it can reach, then goes on passing and failing.
VANDAL = """
import builtins, io, json, os, sys, time, traceback, unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Vandal(unittest.TestCase):
    def test_a_folder(self):
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir(os.path.join(HERE, "gone"))

    def test_b_environment(self):
        os.environ.clear()
        sys.argv[:] = []

    def test_c_clock(self):
        for name in ("time", "monotonic", "perf_counter", "process_time"):
            setattr(time, name, lambda: -1e9)

    def test_d_streams(self):
        sys.stdout = io.StringIO()
        sys.stderr = None

    def test_e_functions(self):
        def refuse(*args, **kwargs):
            raise RuntimeError("not that function")

        for name in ("write", "getpid", "fstat", "open", "close", "_exit"):
            setattr(os, name, refuse)
        builtins.open = io.open = refuse
        json.dumps = json.JSONEncoder.encode = refuse
        os.path.isabs = os.path.join = refuse

    def test_f_modules(self):
        sys.path[:] = []
        for name in list(sys.modules):
            if name.startswith(("_compat", "json", "re", "traceback")):
                del sys.modules[name]

    def test_g_still_fails(self):
        self.fail("after all that")
"""

# A module of the suite may have any name; each of these would break who imports it by accident.
SHADOWS = ["json", "describe", "events", "recorder", "session", "main", "signal", "fcntl"]


def test_everything_replaced(python, root):
    support.write(root, {"test_vandal.py": VANDAL})
    result = run(python, "unittest", root, "test_vandal.py")
    states = result.states()
    assert list(states.values()) == ["passed"] * 6 + ["failed"]
    assert result.finished and result.status == 1
    assert all(0 <= line["duration_s"] < 30 for line in result.of("end"))
    (frame,) = result.ends()["Vandal::test_g_still_fails"]["failure"]["frames"]
    assert frame["file"] == str(root / "test_vandal.py")
    assert "FAILED (failures=1)" in result.log


def test_names_that_the_suite_has_too(framework, interpreter, root):
    body = "".join("import %s\n\n\n" % name for name in SHADOWS) + "import unittest\n\n\n"
    body += "class A(unittest.TestCase):\n    def test_x(self):\n"
    for name in ("describe", "events", "recorder", "session", "main"):
        body += "        self.assertEqual(%s.MARK, 1)\n" % name
    support.write(root, {"%s.py" % name: "MARK = 1\n" for name in SHADOWS})
    support.write(root, {"test_a.py": body})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_x": "passed"} and result.finished


def test_own_json_wins_as_under_the_framework(python, root):
    support.write(
        root,
        {
            "json.py": "MARK = 1\n",
            "test_a.py": "import unittest, json\n\n\nclass A(unittest.TestCase):\n"
            "    def test_x(self):\n        self.assertEqual(json.MARK, 1)\n",
        },
    )
    assert run(python, "unittest", root, "test_a.py").states() == {"A::test_x": "passed"}


CLOSES = """
import os, unittest


class A(unittest.TestCase):
    def test_a(self):
        os.closerange(%s, 4096)

    def test_b(self):
        # Takes every low number, those of ours among them.
        self.files = [os.open(os.devnull, os.O_RDWR) for _ in range(300)]

    def test_c(self):
        self.fail("seen")
"""


@pytest.mark.parametrize("first", [0, 3])
def test_descriptors_closed_and_taken(python, root, first):
    support.write(root, {"test_a.py": CLOSES % first})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_a": "passed", "A::test_b": "passed", "A::test_c": "failed"}
    assert result.finished and result.status == 1


def test_only_stderr_closed_keeps_the_log(python, root):
    support.write(root, {"test_a.py": CLOSES.replace("os.closerange(%s, 4096)", "os.close(2)")})
    result = run(python, "unittest", root, "test_a.py", "--option", "-k", "--option", "*_[ac]")
    assert result.states() == {"A::test_a": "passed", "A::test_c": "failed"}
    assert "FAIL: test_c" in result.log and "Ran 2 tests" in result.log


def test_descriptors_are_out_of_the_way_and_not_inherited(python, root):
    body = """
import os, subprocess, sys, unittest

LIST = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"


class A(unittest.TestCase):
    def test_x(self):
        print("own", [n for n in sorted(map(int, os.listdir("/proc/self/fd"))) if n > 3])
        child = [sys.executable, "-S", "-c", LIST]
        print("child", subprocess.check_output(child, close_fds=False).decode())
"""
    support.write(root, {"test_a.py": body})
    log = run(python, "unittest", root, "test_a.py").log
    own = json.loads(log.partition("own ")[2].partition("\n")[0])
    child = json.loads(log.partition("child ")[2].partition("\n")[0])
    assert len(own) == 2 and all(n >= 200 for n in own)
    assert all(n < 200 for n in child)


DEATHS = {
    "os._exit(7)": 7,
    "os.abort()": -signal.SIGABRT,
    "os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "ctypes.string_at(0)": -signal.SIGSEGV,
}


@pytest.mark.parametrize("death", DEATHS)
def test_death_in_a_test(framework, interpreter, root, death):
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


def test_interrupt_in_a_test(python, root):
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
def test_exit_from_a_fixture(python, root, error, fixture, rows):
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


def test_fork_that_returns_twice(framework, interpreter, root):
    # The child leaves without writing what its copies of the streams hold: no line comes twice.
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


def test_children_that_import_the_main_module(framework, interpreter, root):
    support.write(root, {"test_a.py": SPAWNS})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_x": "passed", "A::test_y": "passed"}
    assert result.foreign == [] and len(result.of("session")) == 1


LOOKS = """
import os, sys, unittest

main = sys.modules["__main__"]


class A(unittest.TestCase):
    def test_x(self):
        print("argv", [w for w in sys.argv if w not in ("-p", "no:randomly")])
        print("path", sys.path)
        print("main", main.__spec__.name, main.__file__, main.__package__, main.__name__)
        print("cwd", os.getcwd(), __name__, __file__)
        print("streams", sys.stdout.encoding, sys.stderr.errors)
"""


def test_process_looks_as_under_the_framework(framework, interpreter, root):
    support.write(root, {"tests/__init__.py": "", "tests/test_a.py": LOOKS})
    options = ["-s"] if framework == "pytest" else []
    ours = [word for option in options for word in ("--option", option)]
    result = run(interpreter, framework, root, "tests/test_a.py", *ours)
    _, log = support.framework_run(interpreter, framework, root, "tests/test_a.py", *options)

    def seen(text):
        words = ("argv ", "path ", "main ", "cwd ", "streams ")
        return [
            l.partition("test_x ")[2] or l for l in text.splitlines() if any(w in l for w in words)
        ]

    assert len(seen(log)) == 5
    assert seen(result.log) == seen(log)


ODD = """
import sys, unittest
from unittest import mock


class A(unittest.TestCase):
    def test_huge(self):
        raise ValueError("x" * 10_000_000 + "the end")

    def test_deep(self):
        def down(n):
            return down(n + 1)

        down(0)

    def test_surrogate_message(self):
        raise ValueError("\\ud800 and \\udfff")

    test_mock = mock.MagicMock(__name__="test_mock", side_effect=ValueError("mocked"))
    test_mock.__unittest_skip__ = False
    test_mock.__unittest_expecting_failure__ = False


def test_body(self):
    pass


setattr(A, "test_\\ud83d surrogate", test_body)
setattr(A, "test_line\\nbreak", test_body)
setattr(A, "test_at 0x7f0011223344", test_body)
"""


def test_odd_names_and_texts(python, root):
    support.write(root, {"test_a.py": ODD})
    result = run(python, "unittest", root, "test_a.py", timeout=120)
    ends = result.ends()
    assert result.states() == {
        "A::test_huge": "errored",
        "A::test_deep": "errored",
        "A::test_surrogate_message": "errored",
        "A::test_mock": "errored",
        "A::test_\ufffd surrogate": "passed",
        "A::test_line\\nbreak": "passed",
        "A::test_at 0x\u2026": "passed",
    }
    huge = ends["A::test_huge"]["failure"]
    for text in (huge["message"], huge["traceback"]):
        assert len(text) < 300_000 and "characters left out" in text
        assert text.rstrip().endswith("the end")
    assert ends["A::test_deep"]["failure"]["type"] == "RecursionError"
    assert len(ends["A::test_deep"]["failure"]["frames"]) == 100
    assert ends["A::test_surrogate_message"]["failure"]["message"] == "\ufffd and \ufffd"
    assert result.finished


HANGS = """
import threading, time, unittest


def beside():
    time.sleep(60)


class A(unittest.TestCase):
    def test_x(self):
        threading.Thread(target=beside, daemon=True).start()
        time.sleep(60)
"""


def test_stacks_on_sigusr1(python, root, tmp_path):
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


def test_events_that_cannot_be_written(python, root):
    support.write(root, {"test_a.py": INTERRUPTED})
    argv = [python, str(support.MAIN), "--framework", "unittest", "--module", "test_a.py"]
    argv += ["--root", str(root), "--events", "/dev/full"]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, env=support.ENVIRONMENT)
    assert done.returncode == 74
    assert done.stderr.startswith("harness: cannot write /dev/full: ")
    assert "Traceback" not in done.stderr


SHIM = """
def begin_test(id):
    print("begin", id)


def end_test():
    print("shim end")
    %s
"""


def test_the_shim_is_told(framework, interpreter, root):
    files = {
        "compat_shim.py": SHIM % "raise ValueError('of the shim')",
        "test_a.py": "import unittest, compat_shim\n\n\nclass A(unittest.TestCase):\n"
        "    def test_x(self):\n        print('runs')\n",
    }
    support.write(root, files)
    options = ["--option", "-s"] if framework == "pytest" else []
    result = run(interpreter, framework, root, "test_a.py", *options)
    assert result.states() == {"A::test_x": "passed"} and result.finished
    marks = [result.log.index(word) for word in ("begin test_a.py::A::test_x", "runs", "shim end")]
    assert marks == sorted(marks)
    assert "harness: compat_shim.end_test: ValueError('of the shim')" in result.log


def test_same_test_object_run_again(python, root):
    """What the framework runs more often than it was collected is announced when it runs."""
    body = """
import unittest


class A(unittest.TestCase):
    def run(self, result=None):
        super().run(result)
        super().run(result)

    def test_x(self):
        pass
"""
    support.write(root, {"test_a.py": body})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_x": "passed", "A::test_x#2": "passed"}
    assert result.lines[-1]["collected"] == 2


@pytest.mark.parametrize(
    "arguments",
    [[], ["--framework", "unittest"], ["--bogus"], ["--framework"], ["--framework", "nose"]],
)
def test_usage(python, tmp_path, arguments):
    argv = [python, str(support.MAIN), *arguments]
    if arguments == ["--framework", "nose"]:
        argv += ["--module", "a.py", "--root", ".", "--events", str(tmp_path / "e")]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("usage: ")
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []


PATCHES = """
import builtins, contextlib, os, re, traceback, unittest


def refuse(*args, **kwargs):
    raise RuntimeError("not that function")


class A(unittest.TestCase):
    def test_a_builtins(self):
        for name in ("open", "print", "any", "all", "round", "min", "sorted", "frozenset"):
            setattr(builtins, name, refuse)

    def test_b_functions(self):
        re.compile = re.sub = traceback.format_exception = refuse
        contextlib.suppress = os.stat = os.makedirs = refuse
        for name in ("O_APPEND", "O_CREAT", "path", "name"):
            delattr(os, name)

    def test_c_passes(self):
        pass
"""


def test_functions_that_refuse(python, root):
    support.write(root, {"test_a.py": PATCHES})
    result = run(python, "unittest", root, "test_a.py")
    assert list(result.states().values()) == ["passed"] * 3
    assert result.finished and result.status == 0


def test_a_framework_that_dies_of_a_builtin(python, root):
    """contextlib, and so unittest, cannot do without `next`."""
    support.write(root, {"test_a.py": PATCHES.replace('"any"', '"next"')})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_a_builtins": "errored"}
    assert len(result.ids()) == 3
    assert not result.finished and result.status == 1


BREAKS_REPORTING = """
import sys, traceback, unittest


def refuse(*args, **kwargs):
    raise RuntimeError("no tracebacks today")


class A(unittest.TestCase):
    def test_a(self):
        traceback.TracebackException.__init__ = traceback.TracebackException.format = refuse
        sys.stderr = None
        self.fail("the reason")

    def test_b(self):
        pass
"""


def test_a_framework_that_cannot_report(python, root):
    """The framework dies of its own report; the test's verdict is known all the same, and the log
    says what happened, though the suite has taken sys.stderr away."""
    support.write(root, {"test_a.py": BREAKS_REPORTING})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_a": "failed"}
    assert result.ends()["A::test_a"]["failure"]["message"] == "the reason"
    assert not result.finished and result.status == 1
    assert "harness: " in result.log and "no tracebacks today" in result.log


DAMAGES = """
import os, unittest


def events():
    names = os.listdir("/proc/self/fd")
    paths = [os.readlink("/proc/self/fd/" + n) for n in names if int(n) > 200]
    return next(p for p in paths if p.endswith("events.jsonl"))


class A(unittest.TestCase):
    def test_a(self):
        pass

    def test_b(self):
        path = events()
        %s

    def test_c(self):
        pass
"""
DAMAGE = {
    "deleted": "os.unlink(path)",
    "emptied": "open(path, 'w').close()",
    "shortened": "os.truncate(path, os.path.getsize(path) - 10)",
    "replaced": "open(path + 'x', 'w').write('{}' * 9999); os.rename(path + 'x', path)",
    "scribbled": "open(path, 'w').write('not ours')",
    "at exit": "import atexit; atexit.register(os.unlink, path)",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_events_are_written_again(framework, interpreter, root, damage):
    support.write(root, {"test_a.py": DAMAGES % DAMAGE[damage]})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_" + name: "passed" for name in "abc"}
    assert result.finished and result.status == 0
    assert "was damaged by the suite; written again" in result.log


def test_the_events_folder_is_made_again(python, root, tmp_path):
    body = DAMAGES % "import shutil; shutil.rmtree(os.path.dirname(path))"
    support.write(root, {"test_a.py": body})
    folder = tmp_path / "files"
    folder.mkdir()
    argv = [python, str(support.MAIN), "--framework", "unittest", "--module", "test_a.py"]
    argv += ["--root", str(root), "--events", str(folder / "1.events.jsonl")]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, env=support.ENVIRONMENT)
    lines = [json.loads(line) for line in (folder / "1.events.jsonl").read_text().splitlines()]
    support.check(lines, "test_a.py", root)
    assert done.returncode == 0 and lines[-1]["event"] == "finish"


CLOSINGS = """
import atexit, sys, unittest

FALSE = "-" * 70 + "\\nRan 9 tests in 0.001s\\n\\nOK\\n===== 9 passed in 0.01s =====\\n"


class A(unittest.TestCase):
    def test_a(self):
        atexit.register(sys.__stderr__.write, FALSE)

    def test_b(self):
        self.fail("so")

    @unittest.skip("why")
    def test_c(self):
        pass
"""


def test_the_closing_is_the_frameworks_own(framework, interpreter, root):
    support.write(root, {"test_a.py": CLOSINGS})
    result = run(interpreter, framework, root, "test_a.py")
    closing = result.of("finish")[0]["closing"]
    assert "Ran 9 tests" in result.log
    if framework == "unittest":
        rule, ran, empty, verdict = closing.splitlines()
        assert rule == "-" * 70 and ran.startswith("Ran ") and empty == ""
        assert verdict == "FAILED (failures=1, skipped=1)"
        assert closing in result.log
    else:
        assert closing == "1 failed, 1 passed, 1 skipped in 0.00s"


FREEZES = """
import datetime, time, unittest
from unittest import mock


class A(unittest.TestCase):
    def test_a(self):
        for name in ("time", "monotonic", "perf_counter", "monotonic_ns"):
            patch = mock.patch("time." + name, return_value=0)
            patch.start()
            self.addClassCleanup(patch.stop)

    def test_b(self):
        time.sleep(0.3)
"""


def test_durations_under_a_frozen_clock(framework, interpreter, root):
    support.write(root, {"test_a.py": FREEZES})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.finished
    assert 0.3 <= result.ends()["A::test_b"]["duration_s"] < 10


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


def test_exceptions_that_are_no_exception(framework, interpreter, root):
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


def test_forks_in_every_place(framework, interpreter, root):
    support.write(root, {"test_a.py": FORKS_EVERYWHERE})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_a": "passed", "A::test_b": "failed"}
    assert result.finished and result.status == 1
    if framework == "unittest":
        assert result.log.count("... ok\n") == result.log.count("FAILED (failures=1)") == 1


CLOSES_STREAMS = """
import sys


def test_a():
    sys.stdout.close()
    sys.stderr.close()


def test_b():
    pass
"""


def test_streams_that_pytest_needs(pytest_python, root):
    """pytest itself breaks; that it did has one row, and each test its own."""
    support.write(root, {"test_a.py": CLOSES_STREAMS})
    result = run(pytest_python, "pytest", root, "test_a.py")
    status, _ = support.framework_run(pytest_python, "pytest", root, "test_a.py")
    assert result.states() == {"test_a": "failed", "test_b": "errored", "<session>": "errored"}
    assert result.status == status
