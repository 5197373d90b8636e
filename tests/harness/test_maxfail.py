"""Tests --maxfail: the framework stops normally, and the remaining tests are not started."""

import subprocess

import pytest
import support
from support import run

# Two failed sub-tests count as one failed test; so do a test and its tear-down.
BREAKS = """
import unittest


class A(unittest.TestCase):
    def test_a(self):
        for i in range(2):
            with self.subTest(i=i):
                self.fail("in %d" % i)

    def test_b(self):
        self.addCleanup(self.fail, "after it")
        self.fail("itself")

    def test_c(self):
        pass

    def test_d(self):
        raise ValueError("errored")

    def test_e(self):
        pass

    @classmethod
    def tearDownClass(cls):
        print("class torn down")
"""


REACHED = [(0, "abcde"), (1, "a"), (2, "ab"), (3, "abcd"), (4, "abcde")]


@pytest.mark.parametrize("most, reached", REACHED)
def test_the_session_stops_after_maxfail_failures(framework, interpreter, root, most, reached):
    support.write(root, {"test_a.py": BREAKS})
    options = ["--option", "-s"] if framework == "pytest" else []
    result = run(interpreter, framework, root, "test_a.py", "--maxfail", str(most), *options)
    assert result.ids() == ["A::test_" + name for name in "abcde"]
    assert list(result.states()) == ["A::test_" + name for name in reached]
    assert result.finished and result.status == 1
    assert result.log.count("class torn down") == 1


UNEXPECTED = """
import unittest


class A(unittest.TestCase):
    @unittest.expectedFailure
    def test_a(self):
        pass

    def test_b(self):
        pass
"""


def test_an_unexpected_success_counts_in_unittest(framework, interpreter, root):
    support.write(root, {"test_a.py": UNEXPECTED})
    result = run(interpreter, framework, root, "test_a.py", "--maxfail", "1")
    # pytest reports an unexpected success of a TestCase as failed.
    assert result.states() == {"A::test_a": "xpassed" if framework == "unittest" else "failed"}
    assert result.finished and result.status == 1


def test_the_suites_own_maxfail_is_overridden(pytest_python, root):
    support.write(root, {"test_a.py": BREAKS, "pytest.ini": "[pytest]\naddopts = -x\n"})
    result = run(pytest_python, "pytest", root, "test_a.py", "--maxfail", "2")
    assert list(result.states()) == ["A::test_a", "A::test_b"]


def test_a_failed_class_fixture_counts_once_for_each_test(python, root):
    body = "import unittest\n\n\nclass A(unittest.TestCase):\n    @classmethod\n"
    body += "    def setUpClass(cls):\n        raise ValueError()\n\n"
    body += "    def test_a(self):\n        pass\n\n    def test_b(self):\n        pass\n\n\n"
    body += "class B(unittest.TestCase):\n    def test_c(self):\n        pass\n"
    support.write(root, {"test_a.py": body})
    result = run(python, "unittest", root, "test_a.py", "--maxfail", "2")
    assert result.states() == {"A::test_a": "errored", "A::test_b": "errored"}


def test_maxfail_must_be_a_number(python, tmp_path):
    argv = [python, str(support.MAIN), "--framework", "unittest", "--module", "a.py"]
    argv += ["--root", ".", "--events", str(tmp_path / "e"), "--maxfail", "-1"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "--maxfail takes a number, not '-1'" in done.stderr
