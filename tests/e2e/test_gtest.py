"""Tests the installed runner with GoogleTest binaries, built here with Debian's GoogleTest."""
import os
import shutil
import subprocess

import pytest

from conftest import SUITES
from test_states import assert_sums, model

KINDS = ["states", "kinds", "crashes", "hangs", "closes_stdout", "dies_at_exit", "leaves_a_child", "environment", "skipping", "many"]
SOURCE = SUITES / "gtest_states"


@pytest.fixture(scope="session")
def binaries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gtest_states")
    shutil.copy(SOURCE / "suite.json", folder)
    compiler = ["g++", "-std=c++17", "-O0"]
    read_once = folder / "headers/gtest/gtest.h"  # what it includes is GoogleTest's own
    read_once.parent.mkdir(parents=True)
    read_once.write_text("#include_next <gtest/gtest.h>\n")
    compiler += ["-I", folder / "headers"]
    subprocess.run([*compiler, "-x", "c++-header", read_once, "-o", f"{read_once}.gch"], check=True)
    builds = [[*compiler, f"-D{kind.upper()}", SOURCE / "states.cc", "-lgtest", "-lgtest_main", "-lpthread", "-o",
               folder / kind] for kind in KINDS]
    builds += [[*compiler, *define, SOURCE / "other.cc", "-o", folder / name]
               for name, define in [("other", []), ("refuses", ["-DREFUSES"])]]
    for build in builds:
        subprocess.run(build, check=True)
    return folder


@pytest.fixture
def run(runner, binaries):
    """run(*targets): runs the suite in an environment that asks GoogleTest to shuffle tests."""

    def call(*targets, env=()):
        hostile = {"GTEST_FILTER": "Nothing.*", "GTEST_TOTAL_SHARDS": "2", "GTEST_SHARD_INDEX": "1",
                   "GTEST_REPEAT": "2", "GTEST_OUTPUT": "xml:/nowhere/at.all", "GTEST_BRIEF": "1"}
        return runner(binaries, *targets, env={**hostile, **dict(env)})

    return call


def cases(result, module):
    return model(result.report)[module]


def test_every_state_of_a_googletest_test(run):
    result = run("states")
    assert cases(result, "states") == ("completed", {
        "Broken::<TestSuite>": ("errored", "Failure: Failed no database", []),
        "Broken::One": ("skipped", "the set-up failed: Failed no database", []),
        "States::DISABLED_Off": ("skipped", "DISABLED_", []),
        "States::Fail": ("failed", "Failure: Expected equality of these values: 1 2 the first", []),
        "States::Lies": ("failed", "Failure: Failed and fails", []),
        "States::Pass": ("passed", "", []),
        "States::PrintsWithoutNewline": ("passed", "", []),
        "States::Skip": ("skipped", "not today", []),
        "States::Throws": ("failed", 'Failure: C++ exception with description "boom" thrown in the test body.', []),
    })
    assert_sums(result.report)
    assert result.code == 1


def test_the_summary_line_is_stored_and_compared(run):
    result = run("states", "kinds")
    assert [m["diagnostics"] for m in result.report["modules"] if m["path"] == "kinds"] == [[]]


def test_each_failed_assertion_is_stored_with_its_line(run):
    result = run("states::States::Fail")
    [case] = result.report["modules"][0]["cases"]
    lines = (SOURCE / "states.cc").read_text().splitlines()
    failures = [case["failure"], *case["failure"]["also"]]
    assert [f["message"].rpartition(" the ")[2] for f in failures] == ["first", "second"]
    for failure, words in zip(failures, ["the first", "the second"]):
        [frame] = failure["frames"]
        assert frame["file"].endswith("states.cc") and f'"{words}"' in lines[frame["line"] - 1]
    assert f"TEST(States, Fail)" in lines[case["line"] - 1]


def test_the_log_is_what_the_binary_prints(run, binaries):
    result = run("states")
    strip = lambda text: [line.partition(" (")[0] for line in text.splitlines()]
    plain = subprocess.run([binaries / "states"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    assert strip((result.folder / "modules/states/1.log").read_text()) == strip(plain)


def test_typed_and_parametrised_tests_are_named_without_their_values(run):
    assert {k: v[0] for k, v in cases(run("kinds"), "kinds")[1].items()} == {
        "Typed/0::Size": "passed", "Typed/1::Size": "failed",
        "Some/Values::NotB/0": "passed", "Some/Values::NotB/1": "failed", "Some/Values::NotB/2": "passed",
        "Both::Runs/0": "passed", "Named/Both::Runs/0": "passed"}


@pytest.mark.parametrize("target, names", [
    ("Values::NotB", ["Some/Values::NotB/0", "Some/Values::NotB/1", "Some/Values::NotB/2"]),
    ("Values", ["Some/Values::NotB/0", "Some/Values::NotB/1", "Some/Values::NotB/2"]),
    ("Some/Values::NotB", ["Some/Values::NotB/0", "Some/Values::NotB/1", "Some/Values::NotB/2"]),
    ("Values::NotB/1", ["Some/Values::NotB/1"]),
    ("Some/Values::NotB/2", ["Some/Values::NotB/2"]),
    ("Typed::Size", ["Typed/0::Size", "Typed/1::Size"]),
    ("Typed", ["Typed/0::Size", "Typed/1::Size"]),
    ("Typed/1", ["Typed/1::Size"]),
    ("Both::Runs/0", ["Both::Runs/0"]),
    ("Both::Runs", ["Both::Runs/0", "Named/Both::Runs/0"]),
])
def test_a_target_is_named_as_in_the_source(run, target, names):
    result = run("kinds::" + target)
    assert "no test is named" not in result.err and result.code in (0, 1), result.err
    assert sorted(cases(result, "kinds")[1]) == names


def test_a_mistyped_target_gets_a_suggestion(run):
    result = run("kinds::Value::NotB")
    assert result.code == 2
    assert 'no test is named kinds::Value::NotB: did you mean "kinds::Values::NotB"' in result.err


def test_results_of_a_binary_that_closes_stdout_come_from_its_json(run):
    outcome, tests = cases(run("closes_stdout"), "closes_stdout")
    assert outcome == "completed"
    assert {k: v[0] for k, v in tests.items()} == {
        "Closes::A_Stdout": "passed", "Closes::B_FailsUnseen": "failed", "Closes::C_Skips": "skipped"}


def test_a_crash_at_exit_belongs_to_the_module(run):
    result = run("dies_at_exit")
    outcome, tests = cases(result, "dies_at_exit")
    assert outcome == "crashed"
    assert {name: case[0] for name, case in tests.items()} == {"AtExit::Passes": "passed", "<module>": "crashed"}
    assert result.report["modules"][0]["reason"] == "SIGABRT at exit, after its tests"


def test_a_leaked_child_is_named_and_delays_nothing(run):
    result = run("leaves_a_child")
    assert {v[0] for v in cases(result, "leaves_a_child")[1].values()} == {"passed"}
    assert result.report["run"]["duration_s"] < 60
    assert [p["module"] for p in result.report["leaked_processes"]] == ["leaves_a_child"]


def test_a_failing_environment_has_one_row(run):
    outcome, tests = cases(run("environment"), "environment")
    assert outcome == "completed"
    assert tests["<Environment>"] == ("errored", "Failure: Failed no network", [])
    assert {name: tests[name] for name in ("Under::One", "Under::Two")} == {
        name: ("skipped", "the set-up failed: Failed no network", []) for name in ("Under::One", "Under::Two")}


def test_tests_skipped_by_an_environment_are_skipped(run):
    result = run("skipping")
    assert cases(result, "skipping") == ("completed", {
        name: ("skipped", "no device no device", []) for name in ("Under::One", "Under::Two")})
    assert_sums(result.report)
    assert result.code == 0


def test_programs_without_tests_are_reported(run):
    result = run("other", "refuses")
    assert cases(result, "other") == ("no_tests", {})
    assert cases(result, "refuses") == ("load_error", {
        "<module>": ("errored", "NoTestList: exit code 2 to --gtest_list_tests: unknown flag", [])})


def test_a_selection_too_long_for_one_command_line_is_run_in_parts(run):
    test = "ATestWhoseNameIsLongEnoughForTheFilterToOutgrowOneArgument"
    wanted = [f"many::Numbers/Many::{test}/{i}" for i in range(1, 2000)]
    result = run(*wanted)
    outcome, tests = cases(result, "many")
    assert (len(tests), outcome) == (1999, "completed")
    assert [name for name, case in tests.items() if case[0] != "passed"] == [f"Numbers/Many::{test}/1999"]
    assert result.report["accounting"]["closed"] and result.report["modules"][0]["diagnostics"] == []
    assert "harness: invocation 2 of " in (result.folder / "modules/many/1.log").read_text()


def test_k_is_passed_to_googletest_as_a_filter(runner, binaries):
    result = runner("list", "--cases", "-k", "Skip", binaries, "states", "closes_stdout")
    assert result.out.split() == ["closes_stdout::Closes::C_Skips", "states::States::Skip"]
    result = runner("list", "--cases", "-k", "States.*-*.Fail", binaries, "states")
    assert "states::States::Pass" in result.out and "Fail" not in result.out


def test_the_plain_command_reproduces_a_failure(run, tmp_path):
    result = run("kinds")
    case = next(c for c in result.report["modules"][0]["cases"] if c["id"] == "kinds::Some/Values::NotB/1")
    plain = subprocess.run(case["reproduce"]["plain"], shell=True, cwd=tmp_path, text=True, capture_output=True,
                           env={k: v for k, v in os.environ.items() if not k.startswith("GTEST_")})
    assert plain.returncode == 1 and "[==========] Running 1 test from 1 test suite." in plain.stdout


def test_a_folder_of_test_binaries_needs_no_suite_json(runner, binaries, tmp_path):
    project = tmp_path / "project" / "bin"
    project.mkdir(parents=True)
    shutil.copy(binaries / "kinds", project / "kinds_test")
    result = runner(tmp_path / "project")
    assert "gtest: 1 executable (" in result.out
    assert set(model(result.report)) == {"bin/kinds_test"}


def test_the_remaining_tests_run_after_a_crash(run):
    result = run("crashes")
    outcome, tests = cases(result, "crashes")
    assert {name: case[0] for name, case in tests.items()} == {
        "Crashes::A_Before": "passed", "Crashes::B_Segfault": "crashed", "Crashes::C_Between": "passed",
        "Crashes::D_Exit": "crashed", "Crashes::E_ExitsAsIfWell": "crashed", "Crashes::F_Last": "passed"}
    assert tests["Crashes::B_Segfault"][1] == "SIGSEGV"
    failures = {c["id"].rpartition("::")[2]: c["failure"] for c in result.report["modules"][0]["cases"] if c["failure"]}
    assert failures["B_Segfault"]["key_line"] == "SIGSEGV: last words"
    assert failures["D_Exit"]["key_line"].startswith("exit code 3")
    assert_sums(result.report)


def test_a_test_that_hangs_is_ended_and_the_rest_runs(run):
    result = run("hangs")
    assert {name: case[0] for name, case in cases(result, "hangs")[1].items()} == {
        "Hangs::A_Before": "passed", "Hangs::B_Hangs": "timed_out", "Hangs::C_After": "passed"}
    assert result.report["run"]["duration_s"] < 60
