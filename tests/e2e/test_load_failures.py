"""Tests what is printed for modules that cannot be loaded and for failures with long lines."""
import json

import pytest

LONG = """
import time, unittest


class A(unittest.TestCase):
    def test_long(self):
        self.fail("x" * 200_000)

    def test_waits(self):
        time.sleep(2)  # what broke before is told while its module goes on
"""


@pytest.fixture
def project(tmp_path):
    """project(files): a folder with `files`, {path: text}."""

    def make(files):
        folder = tmp_path / "project"
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    return make


def modules(text, count=3):
    return {"tests/test_%d.py" % i: text + "\n\ndef test_a():\n    pass\n" for i in range(count)}


def test_a_cause_shared_by_modules_is_printed_once_with_a_count(runner, project, python):
    folder = project(modules("import nosuchpackage"))
    result = runner("run", folder, "--python", python, "--framework", "pytest", "--shim", "off")
    assert result.code == 1, result.out + result.err
    lines = result.out.splitlines()
    assert sum(line.strip() == "import nosuchpackage" for line in lines) == 1
    assert result.out.count("ModuleNotFoundError: No module named 'nosuchpackage'") == 2, "its module's line and the summary"
    first = [line for line in lines if line.endswith("load_error: ModuleNotFoundError: No module named 'nosuchpackage'")]
    assert len(first) == 1
    name = first[0].split()[2].rstrip(":")
    assert sum(line.endswith("load_error: same cause as " + name) for line in lines) == 2
    assert "project: 3 modules could not be loaded, no test was collected (" in result.out
    assert "not loaded: 3 modules: ModuleNotFoundError: No module named 'nosuchpackage'" in lines
    assert "a package is missing in your Python environment: %s -m pip install PACKAGE" % python in lines


def test_modules_that_load_are_counted_next_to_those_that_fail(runner, project, python):
    folder = project({**modules("1 / 0", 1), "tests/test_ok.py": "def test_a():\n    pass\n"})
    result = runner("run", folder, "--python", python, "--framework", "pytest", "--shim", "off")
    assert "project: 2 tests in 2 modules: 1 passed, 1 errored (" in result.out
    assert "not loaded: 1 module: ZeroDivisionError: division by zero" in result.out
    assert "package" not in result.out


def test_pytests_own_error_message_is_printed(runner, project, python):
    folder = project({**modules("", 2), "pytest.ini": "[pytest]\naddopts = --no-such-option\n"})
    result = runner("run", folder, "--python", python, "--framework", "pytest", "--shim", "off")
    assert result.code == 1, result.out + result.err
    assert "not loaded: 2 modules: UsageError: unrecognized arguments: --no-such-option" in result.out
    assert result.out.count("inifile: ") == 1


def test_an_option_that_pytest_rejects_is_an_error_of_the_command_line(runner, project, python, tmp_path):
    words = ("run", project(modules("", 2)), "--python", python, "--framework", "pytest", "--shim", "off", "--")
    rejected = runner(*words, "--no-such-option")
    assert rejected.code == 2 and rejected.err == (
        "runner: pytest: unrecognized arguments: --no-such-option: arguments after -- go to pytest\n")
    assert "FAIL" not in rejected.out and not list((tmp_path / "results").glob("runs/*"))
    accepted = runner(*words, "--strict-markers")
    assert accepted.code == 0, accepted.out + accepted.err


@pytest.mark.parametrize("option, message", [
    ("--no-such=3", "unrecognized arguments: --no-such=3"),
    ("-Zx", "unrecognized arguments: -Zx"),
    ("-qZ", "argument -q/--quiet: ignored explicit argument 'Z'"),
    ("--tb=bad", "argument --tb: invalid choice: 'bad'"),
    ("none.py", "file or directory not found: none.py"),
    ("--log-level=LOUD", "'LOUD' is not recognized as a logging level name for 'log_level'."),
    ("-W error::no.such.Category", "while parsing the following warning configuration:"),
    ("--pyargs nosuch", "module or package not found: nosuch"),
])
def test_each_way_in_which_pytest_rejects_an_option(runner, project, python, option, message):
    result = runner("run", project(modules("", 1)), "--python", python, "--framework", "pytest", "--shim", "off", "--", *option.split())
    assert result.code == 2 and result.err.startswith("runner: pytest: " + message), result.err


@pytest.mark.parametrize("ini", ["addopts = --no-such-option", "minversion = 99"])
def test_other_errors_of_pytest_are_not_blamed_on_the_options(runner, project, python, ini):
    folder = project({**modules("", 1), "pytest.ini": "[pytest]\n" + ini})
    result = runner("run", folder, "--python", python, "--framework", "pytest", "--shim", "off", "--", "--strict-markers")
    assert result.code == 1 and ": UsageError: " in result.out, result.out + result.err


@pytest.mark.parametrize("words", [["-k", "bad or ("], ["-k", "(", "--", "--strict-markers"]])
def test_an_expression_that_pytest_rejects_is_a_usage_error(runner, project, python, words):
    result = runner("run", project(modules("", 1)), "--python", python, "--framework", "pytest", "--shim", "off", *words)
    assert result.code == 2 and result.err.startswith("runner: pytest: Wrong expression passed to '-k'"), result.out + result.err


@pytest.mark.parametrize("words, starts", [(["run", "--shim", "off", "--repeat", "2"], 1 + 2), (["porting"], 1 + 5)])
def test_options_are_checked_once_before_several_runs(runner, project, python, words, starts):
    folder = project({**modules("", 1), "conftest.py": "print('one more', file=open('starts', 'a'))\n"})
    result = runner(*words, folder, "--python", python, "--framework", "pytest", "--", "--strict-markers")
    assert result.code == 0, result.out + result.err
    assert (folder / "starts").read_text().count("one more") == starts


def test_a_keyword_without_a_match_beside_a_module_that_cannot_be_loaded(runner, project, python):
    folder = project({**modules("1 / 0", 1), "tests/test_ok.py": "def test_a():\n    pass\n"})
    result = runner("run", folder, "--python", python, "--framework", "pytest", "--shim", "off", "-k", "nothing")
    assert result.code == 1
    assert "project: 1 of 2 modules could not be loaded, no test was collected (" in result.out
    assert "collected =" not in result.out


def test_long_lines_are_cut(runner, project, python):
    folder = project({"tests/test_a.py": LONG})
    words = ("run", folder, "--python", python, "--framework", "unittest", "--shim", "off")
    result = runner(*words)
    assert result.code == 1, result.out + result.err
    (line,) = [line for line in result.out.splitlines() if "failed tests/test_a.py::A::test_long" in line]
    assert len(line) == 300 and line.endswith("x…")
    assert max(map(len, (result.folder / "run.log").read_text().splitlines())) < 340
    events = [json.loads(line) for line in runner(*words, "--progress", "json").out.splitlines()]
    broken = [event for event in events if event["event"] == "test_broken"]
    broken += [b for event in events if event["event"] == "module_finished" for b in event["broken"]]
    assert len(broken) == 2
    for event in broken:
        assert event["why"].startswith("AssertionError: xxx") and len(event["why"]) == 300
        assert event["why_cut"] is True
