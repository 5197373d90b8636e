"""Compares every test of two suites, which together reach every state, with its expected state."""
import json
import sqlite3

from conftest import SUITES

UNITTEST = {
    "tests/test_broken_import.py": ("load_error", {
        "<module>": ("errored", "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'", []),
    }),
    "tests/test_crash.py": ("crashed", {
        "Crash::test_1_before": ("passed", "", ["untouched"]),
        "Crash::test_2_crash": ("crashed", "SIGSEGV", []),
        "Crash::test_3_after": ("passed", "", ["untouched"]),
    }),
    "tests/test_devices.py": ("completed", {
        "Devices::test_asks_for_cuda": ("passed", "", ["redirected"]),
        "Devices::test_moves_a_module": ("passed", "", ["redirected"]),
        "Devices::test_only_where_cuda_is": ("passed", "", ["untouched"]),
        "Devices::test_touches_nothing": ("passed", "", ["untouched"]),
    }),
    "tests/test_empty.py": ("no_tests", {}),
    "tests/test_exit.py": ("crashed", {
        "Exit::test_1_leaves": ("crashed", "exit code 7", []),
        "Exit::test_2_after": ("passed", "", ["untouched"]),
    }),
    "tests/test_fixtures.py": ("completed", {
        "SetUpFails::test_one": ("errored", "OSError: no database", []),
        "SetUpFails::test_two": ("errored", "OSError: no database", []),
        "Skipped::test_one": ("skipped", "needs a printer", []),
        "TearDownFails::<tearDownClass>": ("errored", "OSError: still open", []),
        "TearDownFails::test_one": ("passed", "", ["untouched"]),
    }),
    "tests/test_hang.py": ("timed_out", {
        "Hang::test_1_before": ("passed", "", ["untouched"]),
        "Hang::test_2_hangs": ("timed_out", "timed out after 10.0s", []),
        "Hang::test_3_after": ("passed", "", ["untouched"]),
    }),
    "tests/test_skipped_module.py": ("completed", {
        "<module>": ("skipped", "not on this planet", []),
    }),
    "tests/test_states.py": ("completed", {
        "States::test_error": ("errored", "ValueError: no | such `value` <b>", []),
        "States::test_expected_failure": ("xfailed", "AssertionError: known", []),
        "States::test_fail": ("failed", "AssertionError: 1 != 2", ["untouched"]),
        "States::test_failure_and_broken_teardown": ("failed", "AssertionError: first", ["untouched"]),
        "States::test_inherited": ("passed", "", ["untouched"]),
        "States::test_pass": ("passed", "", ["untouched"]),
        "States::test_skip": ("skipped", "not today", []),
        "States::test_subtests": ("failed", "", ["untouched"]),
    }),
    "tests/test_unexpected_success.py": ("completed", {
        "Success::test_passes_after_all": ("xpassed", "", []),
    }),
}

PYTEST = {
    "tests/test_collection_error.py": ("load_error", {
        "<module>": ("errored", "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'", []),
    }),
    "tests/test_module_skip.py": ("completed", {"<module>": ("skipped", "optional", [])}),
    "tests/test_states.py": ("completed", {
        "TestClass::test_method": ("passed", "", []),
        "test_fail": ("failed", "AssertionError: assert [1, 2] == [1, 3]", []),
        "test_parametrized[1]": ("failed", "AssertionError: assert 1 != 1", []),
        "test_parametrized[::]": ("passed", "", []),
        "test_parametrized[a/b]": ("passed", "", []),
        "test_pass": ("passed", "", []),
        "test_set_up_breaks": ("errored", "RuntimeError: fixture", []),
        "test_skip": ("skipped", "not today", []),
        "test_tear_down_breaks": ("errored", "RuntimeError: tear-down", []),
        "test_xfail": ("xfailed", "AssertionError: assert False", []),
        "test_xpass": ("xpassed", "thought so", []),
        "test_xpass_strict": ("failed", "Failed: [XPASS(strict)] thought so", []),
    }),
}


def model(report):
    """The report in the form of the tables above."""
    seen = {}
    for module in report["modules"]:
        cases = {}
        for case in module["cases"]:
            prefix = module["path"] + "::"
            assert case["id"].startswith(prefix)
            died = case["state"] in ("crashed", "timed_out")  # its failure is the end of the log
            why = case["failure"]["key_line"] if case["failure"] and not died else case.get("reason") or ""
            assert case["id"][len(prefix):] not in cases, "a test has one state"
            cases[case["id"][len(prefix):]] = (case["state"], why, case["marks"])
        seen[module["path"]] = (module["outcome"], cases)
    return seen


def assert_sums(report):
    totals = report["totals"]
    states = ["passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "timed_out", "not_run"]
    assert totals["collected"] == sum(totals[s] for s in states)
    for state in states:
        assert totals[state] == sum(c["state"] == state for m in report["modules"] for c in m["cases"])
    assert report["accounting"] == {"closed": True, "mismatches": []}


def test_every_unittest_case_has_the_expected_state(states_run):
    report = states_run.report
    assert model(report) == UNITTEST
    assert_sums(report)
    assert states_run.code == 1
    assert report["run"]["shim"] == "on" and report["run"]["device"] == "cpu" and report["run"]["complete"] is True


def test_the_last_lines_print_totals_accounting_devices_and_report(states_run):
    lines = states_run.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("unittest_states: 28 tests in 10 modules: "))
    assert "12 passed, 3 failed, 5 errored, 3 skipped, 1 xfailed, 1 xpassed, 2 crashed, 1 timed out" in lines[start]
    assert lines[start + 1] == "not loaded: 1 module: ModuleNotFoundError: No module named 'a_module_that_is_nowhere'"
    assert lines[start + 2].startswith("a package is missing in your Python environment: ")
    assert lines[start + 3] == "accounting: 28 collected = " + lines[start].split(": ")[2].partition(" (")[0].replace(", ", " + ") + ", all accounted for"
    assert lines[start + 4].startswith("devices: no test used an accelerator; 2 redirected; ")
    assert lines[start + 5].startswith("the counts do not say: 1 took the place of a module that could not be loaded, ")
    assert "1 ended by time-out" in lines[start + 5] and lines[start + 5].endswith(" touched no device")
    assert lines[start + 6] == f"report: {states_run.folder / 'report.html'}"
    assert "\033" not in states_run.out and "\r" not in states_run.out


def test_redirections_are_counted_by_line(states_run):
    report = states_run.report
    source = (SUITES / "unittest_states/tests/test_devices.py").read_text().splitlines()
    sites = {(r["file"], r["line"]): r for r in report["redirections"] if r["kind"] == "redirect"}
    lines = {line for file, line in sites if file == "tests/test_devices.py"}
    assert lines == {i + 1 for i, text in enumerate(source) if '"cuda' in text or ".cuda()" in text}
    for site in sites.values():
        assert site["from"].startswith("cuda") and site["to"] == "cpu" and site["count"] >= 1 and site["tests"] == 1


def test_subtests_are_rows_under_their_test(states_run):
    report = states_run.report
    case = next(c for m in report["modules"] for c in m["cases"] if c["id"].endswith("::test_subtests"))
    assert [(s["id"].rpartition("::")[2], s["state"]) for s in case["subtests"]] == [
        ("test_subtests (i=0)", "passed"), ("test_subtests (i=1)", "failed"), ("test_subtests (i=2)", "passed")]


def test_each_test_links_to_its_def(states_run):
    report = states_run.report
    checked = 0
    for module in report["modules"]:
        for case in module["cases"]:
            if case["line"]:
                text = (SUITES / "unittest_states" / case["file"]).read_text().splitlines()[case["line"] - 1]
                name = case["id"].rpartition("::")[2].strip("<>")
                assert f"def {name}(" in text, case
                assert case["url"]
                checked += 1
    assert checked >= 20
    assert report["links"]["total"] > checked and report["links"]["unresolved"] == 0


def test_each_failure_can_be_reproduced_by_both_commands(states_run, program, tmp_path):
    import os
    import subprocess
    report = states_run.report
    case = next(c for m in report["modules"] for c in m["cases"] if c["id"].endswith("States::test_fail"))
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    plain = subprocess.run(case["reproduce"]["plain"], shell=True, cwd=tmp_path, env=env, text=True, capture_output=True)
    assert plain.returncode == 1 and "AssertionError: 1 != 2" in plain.stderr and "Ran 1 test" in plain.stderr
    ours = subprocess.run(case["reproduce"]["runner"], shell=True, cwd=tmp_path, env=env, text=True, capture_output=True)
    assert ours.returncode == 1, ours.stderr
    again = json.loads((tmp_path / "results/latest/report.json").read_text())
    assert model(again) == {"tests/test_states.py": ("completed", {
        "States::test_fail": ("failed", "AssertionError: 1 != 2", ["untouched"])})}


def test_the_log_equals_the_output_of_unittest(states_run):
    log = (states_run.folder / "modules/tests/test_states.py/1.log").read_text()
    assert "test_pass (tests.test_states.States.test_pass) ... Ran 99 tests in 0.001s\n" in log
    assert "\nRan 8 tests in " in log and log.endswith("FAILED (failures=3, errors=2, skipped=1, expected failures=1)\n")


def test_the_database_can_be_queried_directly(states_run):
    report = states_run.report
    with sqlite3.connect(f"file:{states_run.results}/runner.db?mode=ro", uri=True) as db:
        assert db.execute("pragma journal_mode").fetchone()[0] == "wal"
        counts = dict(db.execute("select state, count(*) from v_case group by state"))
    assert counts == {s: n for s, n in report["totals"].items() if s in counts}
    assert sum(counts.values()) == report["totals"]["collected"]


def test_every_pytest_case_has_the_expected_state(runner, python):
    result = runner(SUITES / "pytest_states", "--python", python, "--shim", "off")
    assert model(result.report) == PYTEST, result.err
    assert_sums(result.report)
    assert result.code == 1
    assert result.report["run"]["shim"] == "off"


def test_markdown_and_json_reports_agree(states_run):
    report = states_run.report
    text = (states_run.folder / "report.md").read_text()
    totals = report["totals"]
    row = "| " + " | ".join(str(totals[k]) for k in (
        "modules", "collected", "passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "timed_out",
        "not_run")) + " |"
    assert row in text
    for module in report["modules"]:
        for case in module["cases"]:
            if case["state"] in ("failed", "errored", "crashed", "timed_out"):
                assert case["id"].rpartition("::")[2] in text
