"""Tests the pytest driver against complete expected results and pytest's own log."""

import pytest
import support
from support import line_of, model, run

FILE = "tests/test_states.py"


def of(root, name, state, phase="call", nth=1, **more):
    """One expected case, at the n-th `def` of its name."""
    function = name.partition("[")[0].rpartition("::")[2]
    expected = {
        "name": FILE + "::" + name,
        "at": (FILE, line_of(root, FILE, "def %s(" % function, nth)),
        "pseudo": False,
        "started": True,
        "subtests": [],
        "state": state,
        "phase": phase,
    }
    expected.update(more)
    return expected


def failed(type, message, phase, *functions):
    return [type, message, phase, [(FILE, function) for function in functions]]


def expected_states(root):
    def value_error(message, function, phase="setup"):
        return failed("ValueError", message, phase, function)

    def after(*counted):
        return value_error("tear-down", "broken_after", "teardown") + list(counted)

    rows = [
        of(root, "test_parameters[1-x y]", "passed"),
        of(
            root,
            r"test_parameters[2-\xe9\n]",
            "failed",
            failure=failed("AssertionError", "assert 2 != 2", "call", "test_parameters"),
        ),
        of(root, "test_parameters[own::id]", "passed"),
        of(root, "test_same_ids[same0]", "passed"),
        of(root, "test_same_ids[same1]", "passed"),
        of(root, "test_decorated", "passed"),
        of(root, "test_set_up", "errored", "setup", failure=value_error("set-up", "broken")),
        of(root, "test_tear_down", "errored", "teardown", call="passed", failure=after()),
        of(
            root,
            "test_fails_and_tear_down",
            "failed",
            failure=failed("AssertionError", "first\nassert 0", "call", "test_fails_and_tear_down"),
            also=[after("errored")],
        ),
        of(
            root,
            "test_skips_and_tear_down",
            "errored",
            "teardown",
            call="skipped",
            reason="first",
            failure=after(),
        ),
        of(
            root,
            "test_module_fixture",
            "errored",
            "setup",
            failure=value_error("module", "broken_module"),
        ),
        of(
            root,
            "test_session_fixture",
            "errored",
            "setup",
            failure=value_error("session", "broken_session"),
        ),
        of(
            root,
            "TestClass::test_class_fixture",
            "errored",
            "setup",
            failure=value_error("class", "broken_class"),
        ),
        of(
            root,
            "TestClass::test_class_fixture_again",
            "errored",
            "setup",
            failure=value_error("class", "broken_class"),
        ),
        of(
            root,
            "TestClass::TestInner::test_x",
            "failed",
            failure=failed("SystemExit", "4", "call", "test_x"),
        ),
        of(root, "test_skipped", "skipped", "setup", reason="by mark"),
        of(root, "test_skips_itself", "skipped", reason="by itself"),
        of(root, "test_skipped_by_fixture", "skipped", "setup", reason="by fixture"),
        of(
            root,
            "test_xfails",
            "xfailed",
            reason="known",
            failure=failed("AssertionError", "assert 0", "call", "test_xfails"),
        ),
        of(root, "test_xpasses", "xpassed", reason="known"),
        of(
            root,
            "test_xpasses_strictly",
            "failed",
            failure=failed("Failed", "[XPASS(strict)] strictly", "call"),
        ),
        of(
            root,
            "test_xfail_not_run",
            "xfailed",
            "setup",
            reason="[NOTRUN] not run",
            failure=failed("XFailed", "[NOTRUN] not run", "setup"),
        ),
        of(
            root,
            "test_xfails_itself",
            "xfailed",
            reason="by itself",
            failure=failed("XFailed", "by itself", "call", "test_xfails_itself"),
        ),
        of(
            root,
            "test_xfail_of_another_type",
            "failed",
            failure=failed("ValueError", "not that", "call", "test_xfail_of_another_type"),
        ),
        of(
            root,
            "test_unknown_fixture",
            "errored",
            "setup",
            failure=failed("FixtureLookupError", "fixture 'no_such_fixture' not found", "setup"),
        ),
        of(
            root,
            "test_fail_call",
            "failed",
            failure=failed("Failed", "by call", "call", "test_fail_call"),
        ),
        of(
            root,
            "Case::test_fails",
            "failed",
            failure=failed("AssertionError", "1 != 2", "call", "test_fails"),
        ),
        of(root, "Case::test_passes", "passed"),
        of(root, "Case::test_skips", "skipped", reason="by itself"),
        of(root, "Case::test_xfails", "xfailed", nth=2, failure=failed("XFailed", "", "call")),
        of(
            root,
            "Case::test_xpasses",
            "failed",
            nth=2,
            failure=failed("Failed", "Unexpected success", "call"),
        ),
        of(
            root,
            "CaseSetUpBreaks::test_a",
            "errored",
            "setup",
            failure=value_error("class", "setUpClass"),
        ),
        of(
            root,
            "CaseSetUpBreaks::test_b",
            "errored",
            "setup",
            failure=value_error("class", "setUpClass"),
        ),
        of(
            root,
            "test_last",
            "errored",
            "teardown",
            call="passed",
            failure=value_error("end of module", "broken_at_the_end", "teardown"),
        ),
    ]
    return {row["name"].partition("::")[2]: row for row in rows}


def test_every_state_of_a_pytest_test(pytest_python, root):
    support.copy_suite("pytest", root)
    result = run(pytest_python, "pytest", root, FILE)
    found = model(result)
    # The rest of the message lists fixtures, which depend on pytest's version.
    unknown = found["test_unknown_fixture"]["failure"]
    unknown[1] = unknown[1].splitlines()[0]
    assert found == expected_states(root)
    assert list(found) == list(expected_states(root))
    assert result.status == 1 and result.finished


def test_log_status_and_verdicts_match_plain_pytest(pytest_python, root):
    support.copy_suite("pytest", root)
    result = run(pytest_python, "pytest", root, FILE, "--option", "-p", "--option", "no:randomly")
    status, log = support.framework_run(pytest_python, "pytest", root, FILE, "-p", "no:randomly")
    assert support.normalized_log(result.log) == support.normalized_log(log)
    assert result.status == status

    verdicts = support.pytest_verdicts(log)
    assert len(verdicts) == len(result.of("collected"))
    for line in result.of("end"):
        words = verdicts[line["id"]]
        assert line.get("call", line["state"]) == words[0]
        assert line["state"] in words
        assert ("errored" in words[1:]) == (len(words) > 1)


LOGS = ["test_import_error", "test_import_skip", "test_parametrize_error", "test_nothing"]


@pytest.mark.parametrize("file", LOGS)
def test_log_and_status_without_tests_match_plain_pytest(pytest_python, root, file):
    support.copy_suite("pytest", root)
    path = "tests/%s.py" % file
    result = run(pytest_python, "pytest", root, path, "--option", "-p", "--option", "no:randomly")
    status, log = support.framework_run(pytest_python, "pytest", root, path, "-p", "no:randomly")
    assert support.normalized_log(result.log) == support.normalized_log(log)
    assert result.status == status and result.finished


# The row of a module that cannot be collected: type, message and frames, or the skip reason.
UNLOADABLE = {
    "test_import_error": [
        "ModuleNotFoundError",
        "No module named 'not_installed_anywhere'",
        ["<module>"],
    ],
    "test_import_value_error": ["ValueError", "at import", ["<module>", "broken"]],
    "test_syntax_error": ["SyntaxError", None, None],
    "test_parametrize_error": ["Failed", "In test_x: function uses no argument 'a'", []],
    "test_import_exit": ["SystemExit", "0", ["<module>"]],
    "test_import_interrupt": ["KeyboardInterrupt", "at import", ["<module>"]],
    "test_import_pytest_exit": ["Exit", "enough", ["<module>"]],
    "test_import_skip": "no such hardware",
    "test_import_or_skip": "could not import 'not_installed_anywhere'",
    "test_import_unittest_skip": "no such hardware",
}
# pytest 7 treats these as ordinary errors; since 8.0 they end the session.
CUT_SHORT = ("test_import_exit", "test_import_interrupt")


@pytest.mark.parametrize("file", UNLOADABLE)
def test_a_module_that_cannot_be_collected_has_one_row(pytest_python, root, file):
    support.copy_suite("pytest", root)
    path = "tests/%s.py" % file
    result = run(pytest_python, "pytest", root, path)
    told = UNLOADABLE[file]
    found = model(result)
    assert list(found) == ["<module>"]
    row = found["<module>"]
    assert (row["phase"], row["pseudo"], row["started"]) == ("load", True, False)
    if isinstance(told, str):
        assert row["state"] == "skipped" and row["reason"].startswith(told)
    else:
        type, message, functions = told
        assert row["state"] == "errored" and row["failure"][0] == type
        assert message is None or row["failure"][1] == message
        if functions is None:  # frames of the parser differ; the last is the error's place
            assert row["failure"][3][-1] == (path, "<module>")
        else:
            assert row["failure"][3] == [(path, function) for function in functions]
    assert result.status == support.framework_run(pytest_python, "pytest", root, path)[0]
    major = int(result.session["framework_version"].partition(".")[0])
    assert result.finished is (file not in CUT_SHORT or major < 8)


@pytest.mark.parametrize(
    "file, type, message",
    [
        ("test_interrupt", "KeyboardInterrupt", "in a test"),
        ("test_pytest_exit", "Exit", "enough"),
    ],
)
def test_a_session_that_a_test_ends_has_no_finish(pytest_python, root, file, type, message):
    support.copy_suite("pytest", root)
    result = run(pytest_python, "pytest", root, "tests/%s.py" % file)
    assert result.ids() == ["test_a", "test_b", "test_c"]
    assert result.states() == {"test_a": "passed", "test_b": "errored"}
    failure = result.ends()["test_b"]["failure"]
    assert (failure["type"], failure["message"]) == (type, message)
    assert not result.finished and result.status == 2


CONFIGURATIONS = {
    "unknown option": ({"pytest.ini": "[pytest]\naddopts = --no-such-option\n"}, "UsageError"),
    "broken conftest": ({"tests/conftest.py": "1 / 0\n"}, "ZeroDivisionError"),
    "missing plugin": ({"pytest.ini": "[pytest]\naddopts = -p not_there\n"}, "ImportError"),
    "required version": ({"pytest.ini": "[pytest]\nminversion = 99\n"}, "UsageError"),
    "required plugin": ({"pytest.ini": "[pytest]\nrequired_plugins = not-there\n"}, "UsageError"),
    "broken ini": ({"pytest.ini": "[pytest\nx = 1\n"}, "UsageError"),
    "hook that raises": (
        {"tests/conftest.py": "def pytest_configure(config):\n    raise ValueError('hook')\n"},
        "ValueError",
    ),
}


@pytest.mark.parametrize("what", CONFIGURATIONS)
def test_a_pytest_that_cannot_start_has_one_row(pytest_python, root, what):
    files, type = CONFIGURATIONS[what]
    support.write(root, {"tests/test_a.py": "def test_x():\n    pass\n", **files})
    result = run(pytest_python, "pytest", root, "tests/test_a.py")
    assert result.states() == {"<module>": "errored"}
    failure = result.ends()["<module>"]["failure"]
    assert failure["type"] == type and failure["phase"] == "load"
    assert result.status != 0
    if type == "UsageError":
        assert result.status == 4
        # The cause as pytest prints it, without the usage line and Python's frames.
        cause = failure["message"].partition("\n")[0]
        line = next(line for line in result.log.splitlines() if cause in line)
        assert line in ("ERROR: " + cause, "__main__.py: error: " + cause)
        assert failure["traceback"] in result.log and failure["frames"] == []


def test_an_internal_error_of_pytest_is_reported(pytest_python, root):
    files = {
        "conftest.py": "def pytest_runtest_logfinish(nodeid):\n    raise ValueError('plugin')\n",
        "tests/test_a.py": "def test_x():\n    pass\n\n\ndef test_y():\n    pass\n",
    }
    support.write(root, files)
    result = run(pytest_python, "pytest", root, "tests/test_a.py")
    assert result.ids() == ["test_x", "test_y"]
    assert result.states() == {"test_x": "errored"}
    assert result.ends()["test_x"]["failure"]["message"] == "plugin"
    assert not result.finished and result.status == 3


def test_only_runs_the_listed_ids(pytest_python, root, tmp_path):
    support.copy_suite("pytest", root)
    wanted = {
        "test_parameters[own::id]": "passed",
        "test_parameters[2-\\xe9\\n]": "failed",
        "Case::test_fails": "failed",
    }
    only = tmp_path / "only.txt"
    only.write_text("".join("%s::%s\n" % (FILE, id) for id in wanted), encoding="utf-8")
    result = run(pytest_python, "pytest", root, FILE, "--only", str(only))
    assert result.states() == wanted and set(result.ids()) == set(wanted)
    assert result.finished


def test_select_and_options_reach_pytest(pytest_python, root):
    support.copy_suite("pytest", root)
    result = run(pytest_python, "pytest", root, FILE, "--select", "xfails and not Case")
    assert result.states() == {"test_xfails": "xfailed", "test_xfails_itself": "xfailed"}
    result = run(
        pytest_python, "pytest", root, FILE, "--option", "--runxfail", "--select", "xfails"
    )
    assert result.states()["test_xfails"] == "failed"


def test_collect_only_runs_no_test(pytest_python, root):
    support.copy_suite("pytest", root)
    listed = run(pytest_python, "pytest", root, FILE, "--collect-only")
    assert listed.ids() == list(expected_states(root))
    assert [line["event"] for line in listed.lines[-2:]] == ["ready", "finish"]
    assert listed.of("start") == listed.of("end") == []


def test_the_suites_own_pytest_options_are_kept(pytest_python, root):
    """Except options that stop at the first failure. Nothing is written into the suite."""
    files = {
        "pytest.ini": "[pytest]\naddopts = -x --ff --stepwise -m 'not slow' --strict-markers\n"
        "markers =\n    slow: takes long\n",
        "conftest.py": "def pytest_configure(config):\n    config.cache.get('a', None)\n",
        "tests/test_a.py": "import pytest\n\n\n"
        "def test_a():\n    assert 0\n\n\n"
        "@pytest.mark.slow\ndef test_b():\n    pass\n\n\n"
        "def test_c(cache):\n    cache.set('a', 1)\n    assert 0\n\n\n"
        "def test_d():\n    pass\n",
    }
    support.write(root, files)
    result = run(pytest_python, "pytest", root, "tests/test_a.py")
    assert result.states() == {"test_a": "failed", "test_c": "failed", "test_d": "passed"}
    assert result.ids() == ["test_a", "test_c", "test_d"]
    assert result.finished
    assert sorted(path.name for path in root.iterdir()) == ["conftest.py", "pytest.ini", "tests"]
    assert not list(root.parent.glob("*.pytest_cache"))


def test_plugins_that_reorder_repeat_or_distribute_are_off(pytest_python, root):
    found = support.plugins(pytest_python, ["xdist", "pytest_randomly", "pytest_rerunfailures"])
    if len(found) != 3:
        pytest.skip("not all of the plugins are installed there")
    files = {
        "pytest.ini": "[pytest]\naddopts = -n 2 --reruns 3 -p randomly --strict-markers\n",
        "tests/test_a.py": "import os, pytest\n\n\n"
        + "".join(
            "def test_%02d():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n\n\n" % i
            for i in range(9)
        )
        + "@pytest.mark.flaky(reruns=2)\ndef test_10():\n    assert 0\n",
    }
    support.write(root, files)
    result = run(pytest_python, "pytest", root, "tests/test_a.py")
    assert result.ids() == sorted(result.ids()) and len(result.ids()) == 10
    assert list(result.states().values()) == ["passed"] * 9 + ["failed"]
    assert "also" not in result.ends()["test_10"]
    assert result.finished


def test_subtests_have_events_of_their_own(pytest_python, root):
    if not support.plugins(pytest_python, ["pytest_subtests", "_pytest.subtests"]):
        pytest.skip("neither pytest 9 nor pytest-subtests is installed there")
    files = {
        "tests/test_a.py": "import unittest\n\n\n"
        "def test_x(subtests):\n"
        "    for i in range(2):\n"
        "        with subtests.test('named', i=i):\n"
        "            assert i == 0\n\n\n"
        "class A(unittest.TestCase):\n"
        "    def test_y(self):\n"
        "        with self.subTest(i=1):\n"
        "            self.fail('sub')\n",
    }
    support.write(root, files)
    found = model(run(pytest_python, "pytest", root, "tests/test_a.py"))
    file = "tests/test_a.py"
    assert [entry["state"] for entry in found.values()] == ["failed", "failed"]
    assert found["A::test_y"]["call"] == "passed"
    assert found["test_x"]["subtests"] == [
        ["[named] (i=0)", "passed"],
        [
            "[named] (i=1)",
            "failed",
            ["AssertionError", "assert 1 == 0", "call", [(file, "test_x")]],
        ],
    ]
    assert found["A::test_y"]["subtests"] == [
        ["(i=1)", "failed", ["AssertionError", "sub", "call", [(file, "test_y")]]]
    ]


def test_only_failed_subtests_decide(pytest_python, root):
    if not support.plugins(pytest_python, ["pytest_subtests", "_pytest.subtests"]):
        pytest.skip("neither pytest 9 nor pytest-subtests is installed there")
    source = """
import unittest

import pytest


def test_skips(subtests):
    with subtests.test("s"):
        pytest.skip("no")
    with subtests.test("x"):
        pytest.xfail("known")


@pytest.mark.xfail(reason="marked")
def test_marked(subtests):
    with subtests.test("s"):
        assert 0


def test_skips_at_the_end(subtests):
    with subtests.test("s"):
        assert 0
    pytest.skip("all")


class A(unittest.TestCase):
    def test_skips(self):
        with self.subTest(i=1):
            self.skipTest("no")
"""
    support.write(root, {"tests/test_a.py": source})
    found = model(run(pytest_python, "pytest", root, "tests/test_a.py"))
    states = {
        id: (entry["state"], [sub[:2] for sub in entry["subtests"]]) for id, entry in found.items()
    }
    assert states == {
        "test_skips": ("passed", [["[s]", "skipped"], ["[x]", "xfailed"]]),
        "test_marked": ("xpassed", [["[s]", "xfailed"]]),
        "test_skips_at_the_end": ("failed", [["[s]", "failed"]]),
        "A::test_skips": ("passed", [["(i=1)", "skipped"]]),
    }
    assert found["test_skips_at_the_end"]["call"] == "skipped"


# The report that pytest-forked makes of a test whose process died.
FORKED = """
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    text = "%s:3: running the test CRASHED with signal 11 (SIGSEGV)" % item.path
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "???")
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


def test_a_forked_process_that_died_is_a_crash(pytest_python, root):
    support.write(root, {"tests/test_a.py": "def test_x():\n    pass\n", "conftest.py": FORKED})
    result = run(pytest_python, "pytest", root, "tests/test_a.py")
    (end,) = result.of("end")
    assert (end["state"], end["phase"]) == ("crashed", "call")
    assert end["reason"] == "running the test CRASHED with signal 11 (SIGSEGV)"
    assert end["failure"]["message"] == end["reason"]
    assert end["failure"]["counted"] == "failed"  # as pytest's closing line has it
    assert result.of("finish")[0]["closing"].startswith("1 failed")


def test_ids_do_not_depend_on_pytests_rootdir(pytest_python, root):
    """Ids start with the module's path in the plan, whatever pytest's rootdir is."""
    support.write(
        root,
        {"sub/pytest.ini": "[pytest]\n", "sub/tests/test_a.py": "def test_x():\n    pass\n"},
    )
    result = run(pytest_python, "pytest", root, "sub/tests/test_a.py")
    (line,) = result.of("collected")
    assert line["id"] == "sub/tests/test_a.py::test_x"
    assert line["name"] == "tests/test_a.py::test_x"


def test_a_python_without_pytest_has_one_row(root):
    """The row says that pytest is missing."""
    support.write(root, {"tests/test_a.py": ""})
    blocked = {"PYTHONPATH": str(root / "blocked")}
    support.write(root, {"blocked/pytest.py": "raise ImportError('No module named pytest')\n"})
    import sys

    result = run(sys.executable, "pytest", root, "tests/test_a.py", env=blocked)
    assert result.states() == {"<module>": "errored"}
    assert result.ends()["<module>"]["failure"]["message"] == "No module named pytest"
    assert result.session["framework_version"] == "" and result.status == 1
