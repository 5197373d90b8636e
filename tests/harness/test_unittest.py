"""Tests the unittest driver against complete expected results and unittest's own log."""

import time

import pytest
import support
from support import line_of, model, run

DIVISION = ["ZeroDivisionError", "division by zero"]


def case(root, file, name, state, phase="call", line="def ", nth=1, started=True, **more):
    """One expected case in `tests.<file>`. `line`: the beginning of its `def` line."""
    tail = name.rpartition(".")[2]
    at_file = more.pop("at", "tests/%s.py" % file)
    expected = {
        "name": "tests.%s.%s" % (file, name),
        "at": (at_file, line_of(root, at_file, "%s%s(" % (line, tail), nth)),
        "pseudo": False,
        "started": started,
        "subtests": [],
        "state": state,
        "phase": phase,
    }
    expected.update(more)
    return expected


def test_every_state_of_a_unittest_test(python, root):
    support.copy_suite("unittest", root)
    file = "tests/test_states.py"
    result = run(python, "unittest", root, file)
    version = support.version(python)

    def frames(*functions):
        return [(file, function) for function in functions]

    def of(name, state, phase="call", **more):
        return case(root, "test_states", name, state, phase, **more)

    def counted(word):
        return [] if word is None else [word]

    def division(word=None):
        return DIVISION + ["teardown", frames("<lambda>")] + counted(word)

    # Only Python 3.12.1 does not start a test that a decorator skips.
    decorated = version != (3, 12, 1)
    subtests = [
        ["[named] (i=0)", "passed"],
        ["[named] (i=1)", "failed", ["AssertionError", "one", "call", frames("test_some_fail")]],
        ["[named] (i=2)", "errored", ["KeyError", "'two'", "call", frames("test_some_fail")]],
        ["[named] (i=3)", "skipped", "three"],
    ]
    if version < (3, 11):  # reported together after the test, skips first
        subtests = subtests[3:] + subtests[:3]

    expected = {
        "States::test_passes": of("States.test_passes", "passed"),
        "States::test_decorated": of("States.test_decorated", "passed"),
        "States::test_fails": of(
            "States.test_fails",
            "failed",
            failure=["AssertionError", "1 != 2", "call", frames("test_fails")],
        ),
        "States::test_fails_by_subclass": of(
            "States.test_fails_by_subclass",
            "failed",
            failure=[
                "tests.test_states.OwnFailure",
                "own",
                "call",
                frames("test_fails_by_subclass"),
            ],
        ),
        "States::test_errors": of(
            "States.test_errors",
            "errored",
            failure=["ValueError", "broken", "call", frames("test_errors")],
        ),
        "States::test_system_exit": of(
            "States.test_system_exit",
            "errored",
            failure=["SystemExit", "3", "call", frames("test_system_exit")],
        ),
        "States::test_broken_str": of(
            "States.test_broken_str",
            "errored",
            failure=[
                "tests.test_states.States.test_broken_str.<locals>.Mute",
                "<the exception's __str__ failed>",
                "call",
                frames("test_broken_str"),
            ],
        ),
        "States::test_skipped": of(
            "States.test_skipped", "skipped", "setup", reason="by decorator", started=decorated
        ),
        "States::test_skips_itself": of("States.test_skips_itself", "skipped", reason="by itself"),
        "States::test_xfails": of(
            "States.test_xfails",
            "xfailed",
            failure=["AssertionError", "known", "call", frames("test_xfails")],
        ),
        "States::test_xpasses": of("States.test_xpasses", "xpassed"),
        "States::test_cleanup_breaks": of(
            "States.test_cleanup_breaks", "errored", "teardown", failure=division()
        ),
        "States::test_fails_and_cleanup_breaks": of(
            "States.test_fails_and_cleanup_breaks",
            "failed",
            failure=["AssertionError", "first", "call", frames("test_fails_and_cleanup_breaks")],
            also=[division("errored")],
        ),
        "States::test_skips_and_cleanup_breaks": of(
            "States.test_skips_and_cleanup_breaks",
            "errored",
            "teardown",
            reason="first",
            call="skipped",
            failure=division(),
        ),
        "SubTests::test_all_pass": of(
            "SubTests.test_all_pass", "passed", subtests=[["(i=0)", "passed"], ["(i=1)", "passed"]]
        ),
        "SubTests::test_some_fail": of(
            "SubTests.test_some_fail", "failed", call="passed", subtests=subtests
        ),
        "SubTests::test_one_skips": of(
            "SubTests.test_one_skips",
            "skipped",
            reason="zero",
            call="passed",
            subtests=[["(i=0)", "skipped", "zero"]],
        ),
        "SubTests::test_fails_after_them": of(
            "SubTests.test_fails_after_them",
            "failed",
            failure=["AssertionError", "itself", "call", frames("test_fails_after_them")],
            subtests=[
                [
                    "(i=0)",
                    "errored",
                    ["KeyError", "'sub'", "call", frames("test_fails_after_them")],
                ]
            ],
        ),
        "SetUpBreaks::test_x": of(
            "SetUpBreaks.test_x",
            "errored",
            "setup",
            failure=["ValueError", "set-up", "setup", frames("setUp")],
        ),
        "SetUpSkips::test_x": of("SetUpSkips.test_x", "skipped", reason="set-up", nth=2),
        "TearDownBreaks::test_fails": of(
            "TearDownBreaks.test_fails",
            "failed",
            nth=2,
            failure=["AssertionError", "call", "call", frames("test_fails")],
            also=[["ValueError", "tear-down", "teardown", frames("tearDown"), "errored"]],
        ),
        "TearDownBreaks::test_passes": of(
            "TearDownBreaks.test_passes",
            "errored",
            "teardown",
            nth=2,
            failure=["ValueError", "tear-down", "teardown", frames("tearDown")],
        ),
        "Async::test_fails": of(
            "Async.test_fails",
            "failed",
            line="async def ",
            failure=["AssertionError", "1 != 2", "call", frames("test_fails")],
        ),
        "Async::test_passes": of("Async.test_passes", "passed", line="async def "),
        "Async::test_tear_down": of(
            "Async.test_tear_down",
            "errored",
            "teardown",
            line="async def ",
            failure=["ValueError", "tear-down", "teardown", frames("asyncTearDown")],
        ),
        "SkippedClass::test_x": of(
            "SkippedClass.test_x",
            "skipped",
            "setup",
            nth=3,
            reason="the class",
            started=decorated,
        ),
        "make.<locals>.Made::runTest": of("make.<locals>.Made.runTest", "passed"),
        "make.<locals>.Made::runTest#2": of("make.<locals>.Made.runTest", "passed"),
        "Derived::test_inherited": of(
            "Derived.test_inherited",
            "failed",
            at="tests/base.py",
            failure=[
                "AssertionError",
                "3 not found in (1, 2)",
                "call",
                [("tests/base.py", "test_inherited")],
            ],
        ),
    }
    inherited = dict(of("Derived.test_inherited", "passed", at="tests/base.py"))
    inherited["name"] = "tests.base.Inherited.test_inherited"
    expected["Inherited::test_inherited"] = inherited

    found = model(result)
    for entry in found.values():  # asyncio's frames depend on Python's version
        if "failure" in entry:
            entry["failure"][3] = [f for f in entry["failure"][3] if "asyncio" not in f[0]]
    assert found == expected
    assert result.status == 1 and result.finished


def pseudo(name, state, phase, at, **more):
    expected = {"name": name, "at": at, "pseudo": True, "started": False, "subtests": []}
    expected.update(state=state, phase=phase, **more)
    return expected


def test_failures_of_class_and_module_fixtures_are_reported(python, root):
    support.copy_suite("unittest", root)
    file = "tests/test_fixtures.py"
    result = run(python, "unittest", root, file)

    def of(name, state, phase="call", **more):
        return case(root, "test_fixtures", name, state, phase, **more)

    def failed(type, message, phase, function, *counted):
        return [type, message, phase, [(file, function)], *counted]

    set_up = dict(
        started=False,
        failure=failed("ValueError", "set-up", "class_setup", "setUpClass"),
        also=[failed(*DIVISION, "class_setup", "<lambda>", "errored")],
    )
    assert model(result) == {
        "SetUpBreaks::test_a": of("SetUpBreaks.test_a", "errored", "class_setup", **set_up),
        "SetUpBreaks::test_b": of("SetUpBreaks.test_b", "errored", "class_setup", **set_up),
        "SetUpSkips::test_a": of(
            "SetUpSkips.test_a", "skipped", "class_setup", nth=2, started=False, reason="not here"
        ),
        "SetUpSkips::test_b": of(
            "SetUpSkips.test_b", "skipped", "class_setup", nth=2, started=False, reason="not here"
        ),
        "TearDownBreaks::test_a": of("TearDownBreaks.test_a", "passed", nth=3),
        "TearDownSkips::test_a": of("TearDownSkips.test_a", "passed", nth=4),
        "TearDownBreaks::<tearDownClass>": pseudo(
            "tearDownClass (tests.test_fixtures.TearDownBreaks)",
            "errored",
            "class_teardown",
            (file, line_of(root, file, "def tearDownClass", 1)),
            failure=failed("AssertionError", "tear-down", "class_teardown", "tearDownClass"),
            also=[failed(*DIVISION, "class_teardown", "<lambda>", "errored")],
        ),
        "TearDownSkips::<tearDownClass>": pseudo(
            "tearDownClass (tests.test_fixtures.TearDownSkips)",
            "skipped",
            "class_teardown",
            (file, line_of(root, file, "def tearDownClass", 2)),
            reason="too late",
        ),
        "<tearDownModule>": pseudo(
            "tearDownModule (tests.test_fixtures)",
            "errored",
            "module_teardown",
            (file, line_of(root, file, "def tearDownModule")),
            failure=failed("ValueError", "module", "module_teardown", "tearDownModule"),
        ),
    }
    assert [line["id"].partition("::")[2] for line in result.of("fixture")] == [
        "SetUpBreaks::<setUpClass>",
        "SetUpSkips::<setUpClass>",
        "TearDownBreaks::<setUpClass>",
        "TearDownBreaks::<tearDownClass>",
        "TearDownSkips::<tearDownClass>",
        "<tearDownModule>",
    ]
    assert result.status == 1 and result.finished


@pytest.mark.parametrize(
    "file, state, more",
    [
        (
            "test_module_setup",
            "errored",
            {"failure": ["ValueError", "module", "module_setup", "setUpModule"]},
        ),
        ("test_module_skip", "skipped", {"reason": "whole module"}),
    ],
)
def test_a_failed_or_skipped_set_up_module_decides_all_tests(python, root, file, state, more):
    support.copy_suite("unittest", root)
    path = "tests/%s.py" % file
    result = run(python, "unittest", root, path)
    if "failure" in more:
        more = {"failure": more["failure"][:3] + [[(path, more["failure"][3])]]}
    classes = ["A", "B"] if state == "errored" else ["A"]
    assert model(result) == {
        name
        + "::test_x": case(
            root, file, name + ".test_x", state, "module_setup", nth=nth, started=False, **more
        )
        for nth, name in enumerate(classes, 1)
    }
    assert result.finished


# The row of a module that does not load: state, then failure or reason.
UNLOADABLE = {
    "test_import_error": (
        "errored",
        ["ModuleNotFoundError", "No module named 'not_installed_anywhere'", ["<module>"]],
    ),
    "test_import_value_error": ("errored", ["ValueError", "at import", ["<module>", "broken"]]),
    "test_import_exit": ("errored", ["SystemExit", "0", ["<module>"]]),
    "test_import_interrupt": ("errored", ["KeyboardInterrupt", "at import", ["<module>"]]),
    "test_syntax_error": ("errored", ["SyntaxError", None, ["<module>"]]),
    "test_load_tests_breaks": ("errored", ["ValueError", "load_tests", ["load_tests"]]),
    "test_load_tests_none": (
        "errored",
        ["TypeError", "load_tests returned None, not a test suite", []],
    ),
    "test_import_skip": ("skipped", "no such hardware"),
}
ESCAPES = {"test_import_exit": 0, "test_import_interrupt": -2}


@pytest.mark.parametrize("file", UNLOADABLE)
@pytest.mark.parametrize("collect_only", [False, True])
def test_a_module_that_does_not_load_has_one_row(python, root, file, collect_only):
    support.copy_suite("unittest", root)
    path = "tests/%s.py" % file
    mode = ["--collect-only"] if collect_only else []
    result = run(python, "unittest", root, path, *mode)
    state, told = UNLOADABLE[file]
    escapes = file in ESCAPES

    found = model(result)
    assert list(found) == ["<module>"]
    row = found["<module>"]
    assert (row["state"], row["phase"], row["pseudo"]) == (state, "load", True)
    assert row["at"] == (path, 0)
    if state == "skipped":
        assert row["reason"] == told and "failure" not in row
    else:
        type, message, functions = told
        assert row["failure"][0] == type and row["failure"][2] == "load"
        assert message is None or row["failure"][1] == message
        assert row["failure"][3] == [(path, function) for function in functions]

    version = support.version(python)
    never_started = collect_only or escapes or (state == "skipped" and version == (3, 12, 1))
    assert row["started"] is not never_started
    assert result.finished is not escapes
    if escapes:
        assert result.status == ESCAPES[file]
    elif not collect_only:
        empty = 5 if version == (3, 12, 1) else 0
        assert result.status == (empty if state == "skipped" else 1)


def test_load_tests_decides_what_runs(python, root):
    support.copy_suite("unittest", root)
    result = run(python, "unittest", root, "tests/test_load_tests.py")
    found = model(result)
    assert {id: entry["state"] for id, entry in found.items()} == {
        "A::test_y": "passed",
        "A::test_x": "passed",
        "A::test_y#2": "passed",
        "Fails::test_x": "errored",
        "a_function": "passed",
        "<module>": "errored",
    }
    assert found["Fails::test_x"]["phase"] == "class_setup"
    file = "tests/test_load_tests.py"
    assert found["a_function"]["at"] == (file, line_of(root, file, "def a_function"))
    assert found["<module>"]["failure"][0] in ("AttributeError", "ImportError")
    assert result.finished


LOGS = [
    "test_states",
    "test_fixtures",
    "test_module_setup",
    "test_module_skip",
    "test_load_tests",
    "test_load_tests_breaks",
    "test_nothing",
]


@pytest.mark.parametrize("file", LOGS)
def test_log_and_status_match_plain_unittest(python, root, file):
    support.copy_suite("unittest", root)
    path = "tests/%s.py" % file
    result = run(python, "unittest", root, path)
    status, log = support.framework_run(python, "unittest", root, path)
    assert support.normalized_log(result.log) == support.normalized_log(log)
    assert result.status == status


def test_colours_stay_in_the_log(python, root):
    support.copy_suite("unittest", root)
    result = run(python, "unittest", root, "tests/test_states.py", env={"FORCE_COLOR": "1"})
    failures = [line["failure"] for line in result.of("end") if line.get("failure")]
    assert len(failures) > 5
    assert not any("\x1b" in failure["traceback"] for failure in failures)


def test_verdicts_match_plain_unittest(python, root):
    support.copy_suite("unittest", root)
    path = "tests/test_states.py"
    result = run(python, "unittest", root, path)
    verdicts = support.unittest_verdicts(support.framework_run(python, "unittest", root, path)[1])
    names = {line["id"]: line["name"] for line in result.of("collected")}
    states = {names[line["id"]]: line["state"] for line in result.of("end")}
    # The line has no verdict if only sub-tests, or a tear-down after a skip, decided.
    assert len(verdicts) >= 20
    differing = {n: (v, states[n]) for n, v in verdicts.items() if states[n] != v}
    assert set(differing) <= {
        "tests.test_states.States.test_skips_and_cleanup_breaks",
        "tests.test_states.SubTests.test_some_fail",
        "tests.test_states.SubTests.test_fails_after_them",
        "tests.test_states.SubTests.test_one_skips",
    }


def test_only_runs_the_listed_ids(python, root, tmp_path):
    support.copy_suite("unittest", root)
    wanted = ["States::test_fails", "make.<locals>.Made::runTest#2", "Async::test_passes"]
    only = tmp_path / "only.txt"
    path = "tests/test_states.py"
    only.write_text("".join("%s::%s\n" % (path, id) for id in wanted), encoding="utf-8")
    result = run(python, "unittest", root, path, "--only", str(only))
    assert sorted(result.ids()) == sorted(wanted)
    assert result.states() == dict(zip(wanted, ["failed", "passed", "passed"]))
    assert "Ran 3 tests" in result.log and "printed by a test" not in result.log


def test_unknown_ids_run_nothing(python, root, tmp_path):
    support.copy_suite("unittest", root)
    only = tmp_path / "only.txt"
    only.write_text("tests/test_states.py::Gone::test_x\n", encoding="utf-8")
    result = run(python, "unittest", root, "tests/test_states.py", "--only", str(only))
    assert result.ids() == [] and result.finished
    assert result.status == (5 if support.version(python) >= (3, 12) else 0)


def test_select_works_like_k(python, root):
    support.copy_suite("unittest", root)
    result = run(python, "unittest", root, "tests/test_states.py", "--select", "xfail")
    assert result.states() == {
        "States::test_xfails": "xfailed",
        # unittest's own rule: a class without a selected test still runs its runTest.
        "make.<locals>.Made::runTest": "passed",
        "make.<locals>.Made::runTest#2": "passed",
    }


def test_options_reach_unittest(python, root):
    support.copy_suite("unittest", root)
    result = run(python, "unittest", root, "tests/test_states.py", "--option", "-f")
    ended = result.states()
    assert 0 < len(ended) < len(result.ids())
    assert result.finished


def test_collect_only_runs_no_test(python, root):
    support.copy_suite("unittest", root)
    full = run(python, "unittest", root, "tests/test_states.py")
    listed = run(python, "unittest", root, "tests/test_states.py", "--collect-only")
    assert listed.of("collected") and listed.status == 0
    assert [line["event"] for line in listed.lines[-2:]] == ["ready", "finish"]
    assert listed.of("end") == [] and listed.ids() == full.ids()


def test_the_session_event_describes_the_process(python, root):
    support.copy_suite("unittest", root)
    result = run(python, "unittest", root, "tests/test_states.py")
    version = "%d.%d.%d" % support.version(python)
    session = dict(result.session)
    del session["pid"]
    starts = [session["epoch"] + line["time"] for line in result.of("start")]
    assert all(abs(time.time() - start) < 3600 for start in starts) and starts
    del session["epoch"]
    assert session == {
        "event": "session",
        "seq": 0,
        "format": 1,
        "framework": "unittest",
        "framework_version": version,
        "python": version,
        "module": "tests/test_states.py",
        "root": str(root),
        "argv": [python, "-m", "unittest", "-v", "tests.test_states"],
    }


# Modules whose dotted name does not lead to their file.


@pytest.mark.parametrize(
    "path", ["test/test_plain.py", "my-tests/test_plain.py", "plain/test_plain.py", "test_plain.py"]
)
def test_modules_in_folders_that_are_not_packages_load(python, root, path):
    folder = path.rpartition("/")[0]
    files = {
        path: "import unittest\n\n\nclass A(unittest.TestCase):\n"
        "    def test_x(self):\n        pass\n"
    }
    if folder in ("test",):  # the standard library's package of that name comes first
        files[folder + "/beside.py"] = "VALUE = 1\n"
        files[path] = "import beside\n" + files[path]
    support.write(root, files)
    result = run(python, "unittest", root, path)
    assert result.states() == {"A::test_x": "passed"}
    assert model(result)["A::test_x"]["at"][0] == path


def test_a_package_with_a_failing_import_is_a_load_error(python, root):
    support.write(root, {"tests/__init__.py": "import absent_thing\n", "tests/test_a.py": ""})
    result = run(python, "unittest", root, "tests/test_a.py")
    failure = result.ends()["<module>"]["failure"]
    assert failure["message"] == "No module named 'absent_thing'"
    assert [f["file"] for f in failure["frames"]] == [str(root / "tests" / "__init__.py")]
