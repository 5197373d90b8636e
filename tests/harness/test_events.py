"""Tests the events file against damage, unusual names and printed fake results; the command line;
and the calls into the shim."""

import json
import os
import re
import subprocess

import pytest
import support
from support import run

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


def test_unusual_names_and_texts_are_kept(python, root):
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
        assert 60_000 < len(text.encode()) <= 65_536
        assert text.rstrip().endswith("the end")
    head, left_out, tail = re.split(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", huge["message"])
    assert len(head) + int(left_out) + len(tail) == 10_000_007
    assert ends["A::test_deep"]["failure"]["type"] == "RecursionError"
    assert len(ends["A::test_deep"]["failure"]["frames"]) == 100
    assert ends["A::test_surrogate_message"]["failure"]["message"] == "\ufffd and \ufffd"
    assert result.finished


LARGE = """
import unittest


class A(unittest.TestCase):
    def fail_at_length(self):
        raise ValueError("the key line\\n" + "x\\u00e9" * 10_000)

    def test_reason(self):
        self.skipTest("r" * 1_000_000)

    def test_subtests(self):
        for i in range(3):
            with self.subTest("l" * 100_000, i=i):
                self.fail_at_length()

    def test_twice(self):
        self.addCleanup(self.fail_at_length)
        self.fail_at_length()


for i in range(50):
    setattr(A, "test_%d" % i, A.fail_at_length)
"""


@pytest.mark.parametrize("limit, full", [("300000", 5), ("0", 0)])
def test_failure_text_is_cut_and_no_test_is_lost(framework, interpreter, root, limit, full):
    support.write(root, {"test_a.py": LARGE})
    result = run(interpreter, framework, root, "test_a.py", "--events-bytes", limit)
    assert result.finished and len(result.of("start")) == len(result.of("end")) == 53
    failures = [line["failure"] for line in result.of("end") if "failure" in line]
    assert len(failures) >= 51
    brief = [failure for failure in failures if "left_out" in failure]
    assert len(failures) - len(brief) == pytest.approx(full, abs=1)
    for failure in brief:
        assert failure["type"] == "ValueError" and failure["message"] == "the key line"
        assert [frame["function"] for frame in failure["frames"]] == ["fail_at_length"]
        note = "[... %d bytes left out: limits.events_bytes is reached ...]" % failure["left_out"]
        assert failure["traceback"] == note and failure["left_out"] > 30_000
    reason = result.ends()["A::test_reason"]["reason"]
    assert len(reason) <= 4096 and "bytes left out" in reason
    assert all(len(line["label"]) <= 4096 for line in result.of("subtest"))
    size = sum(len(json.dumps(line, ensure_ascii=False).encode()) for line in result.lines)
    assert size < int(limit) + 70_000


def test_exits_with_74_if_events_cannot_be_written(python, root):
    support.write(root, {"test_a.py": ODD})
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


def test_the_shim_learns_where_each_test_begins_and_ends(framework, interpreter, root):
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


def test_a_test_that_runs_again_is_announced_again(python, root):
    """The second run of a test is announced when it starts."""
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
def test_bad_arguments_print_the_usage(python, tmp_path, arguments):
    argv = [python, str(support.MAIN), *arguments]
    if arguments == ["--framework", "nose"]:
        argv += ["--module", "a.py", "--root", ".", "--events", str(tmp_path / "e")]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("usage: ")
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []


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
def test_a_damaged_events_file_is_restored(framework, interpreter, root, damage):
    support.write(root, {"test_a.py": DAMAGES % DAMAGE[damage]})
    result = run(interpreter, framework, root, "test_a.py")
    assert result.states() == {"A::test_" + name: "passed" for name in "abc"}
    assert result.finished and result.status == 0
    assert "was damaged by the suite; written again" in result.log


def test_a_deleted_events_folder_is_recreated(python, root, tmp_path):
    body = DAMAGES % "import shutil; shutil.rmtree(os.path.dirname(path))"
    support.write(root, {"test_a.py": body})
    folder = tmp_path / "files"
    folder.mkdir()
    argv = [python, str(support.MAIN), "--framework", "unittest", "--module", "test_a.py"]
    argv += ["--root", str(root), "--events", str(folder / "1.events.jsonl")]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, env=support.ENVIRONMENT)
    lines = [json.loads(line) for line in (folder / "1.events.jsonl").read_text().splitlines()]
    support.check_invariants(lines, "test_a.py", root)
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


def test_a_printed_summary_is_not_taken_for_the_frameworks(framework, interpreter, root):
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
