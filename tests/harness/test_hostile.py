"""Tests that events stay complete and correct when a suite changes or breaks its own process."""

import json

import pytest
import support
from support import run

# Replaces everything it can reach in its process, then passes and fails tests.
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

# Names of suite modules that would break the harness if it imported them by accident.
SHADOWS = ["json", "describe", "events", "recorder", "session", "main", "signal", "fcntl"]


def test_a_suite_may_replace_builtins_and_modules(python, root):
    support.write(root, {"test_vandal.py": VANDAL})
    result = run(python, "unittest", root, "test_vandal.py")
    states = result.states()
    assert list(states.values()) == ["passed"] * 6 + ["failed"]
    assert result.finished and result.status == 1
    assert all(0 <= line["duration_s"] < 30 for line in result.of("end"))
    (frame,) = result.ends()["Vandal::test_g_still_fails"]["failure"]["frames"]
    assert frame["file"] == str(root / "test_vandal.py")
    assert "FAILED (failures=1)" in result.log


def test_suite_modules_may_have_names_of_the_standard_library(framework, interpreter, root):
    body = "".join("import %s\n\n\n" % name for name in SHADOWS) + "import unittest\n\n\n"
    body += "class A(unittest.TestCase):\n    def test_x(self):\n"
    for name in ("describe", "events", "recorder", "session", "main"):
        body += "        self.assertEqual(%s.MARK, 1)\n" % name
    support.write(root, {"%s.py" % name: "MARK = 1\n" for name in SHADOWS})
    support.write(root, {"test_a.py": body})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_x": "passed"} and result.finished


def test_a_suites_own_json_module_is_imported(python, root):
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
def test_events_survive_closed_and_reused_descriptors(python, root, first):
    support.write(root, {"test_a.py": CLOSES % first})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_a": "passed", "A::test_b": "passed", "A::test_c": "failed"}
    assert result.finished and result.status == 1


def test_the_log_survives_a_closed_stderr(python, root):
    support.write(root, {"test_a.py": CLOSES.replace("os.closerange(%s, 4096)", "os.close(2)")})
    result = run(python, "unittest", root, "test_a.py", "--option", "-k", "--option", "*_[ac]")
    assert result.states() == {"A::test_a": "passed", "A::test_c": "failed"}
    assert "FAIL: test_c" in result.log and "Ran 2 tests" in result.log


def test_descriptors_have_high_numbers_and_are_not_inherited(python, root):
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


def test_a_suite_sees_the_same_process_as_under_the_framework(framework, interpreter, root):
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


def test_a_suite_may_replace_functions_by_ones_that_raise(python, root):
    support.write(root, {"test_a.py": PATCHES})
    result = run(python, "unittest", root, "test_a.py")
    assert list(result.states().values()) == ["passed"] * 3
    assert result.finished and result.status == 0


def test_a_framework_that_crashes_on_a_replaced_builtin_is_reported(python, root):
    """unittest crashes without `next`, which contextlib needs."""
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


def test_a_verdict_is_kept_if_the_framework_cannot_report_it(python, root):
    """The framework crashes while it reports a test. The verdict is still recorded, and the log
    explains the crash although the suite replaced sys.stderr."""
    support.write(root, {"test_a.py": BREAKS_REPORTING})
    result = run(python, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_a": "failed"}
    assert result.ends()["A::test_a"]["failure"]["message"] == "the reason"
    assert not result.finished and result.status == 1
    assert "harness: " in result.log and "no tracebacks today" in result.log


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


def test_durations_are_right_under_a_frozen_clock(framework, interpreter, root):
    support.write(root, {"test_a.py": FREEZES})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.finished
    assert 0.3 <= result.ends()["A::test_b"]["duration_s"] < 10


CLOSES_STREAMS = """
import sys


def test_a():
    sys.stdout.close()
    sys.stderr.close()


def test_b():
    pass
"""


def test_a_suite_that_closes_pytests_streams_is_reported_once(pytest_python, root):
    """pytest itself crashes. The crash has one row, next to the tests' rows."""
    support.write(root, {"test_a.py": CLOSES_STREAMS})
    result = run(pytest_python, "pytest", root, "test_a.py")
    status, _ = support.framework_run(pytest_python, "pytest", root, "test_a.py")
    assert result.states() == {"test_a": "failed", "test_b": "errored", "<session>": "errored"}
    assert result.status == status
