"""Tests runs of a CMake build folder through ctest: test properties apply, and states are right."""
import shutil
import subprocess

import pytest

from conftest import SUITES
from test_states import assert_sums, model

MODULE = "out/CTestTestfile.cmake"


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ctest") / "project"
    shutil.copytree(SUITES / "ctest_project", folder)
    subprocess.run(["cmake", "-S", folder, "-B", folder / "out"], check=True, stdout=subprocess.DEVNULL)
    return folder


STATES = {
    "passes": ("passed", ""),
    "fails": ("failed", "Failed: not found"),
    "segfaults": ("crashed", "SIGSEGV"),
    "aborts": ("crashed", "SIGABRT"),
    "times_out": ("timed_out", "CTest's time-out of 1 s"),
    "skips": ("skipped", "no printer"),
    "skips_silently": ("skipped", "exit code 77"),
    "disabled": ("skipped", "DISABLED"),
    "will_fail": ("passed", ""),
    "lies": ("passed", ""),
    "expects_words": ("failed", "Failed: Required regular expression not found. Regex=[the words ]"),
    "reads_its_environment": ("passed", ""),
    "has a space": ("passed", ""),
    "database_up": ("passed", ""),
    "database_down": ("passed", ""),
    "uses_database": ("passed", ""),
    "broken_set_up": ("failed", "Failed"),
    "needs_broken": ("errored", "NotRun: Failed test dependencies: broken_set_up"),
    "passes#2": ("passed", ""),
}


def test_every_state_of_a_ctest_test(runner, project):
    result = runner(project, env={"CTEST_PARALLEL_LEVEL": "4", "CTEST_PROGRESS_OUTPUT": "1"})
    assert set(model(result.report)) == {MODULE}
    outcome, cases = model(result.report)[MODULE]
    seen = {name: case[:2] for name, case in cases.items()}
    state, reason = seen.pop("not_built")
    assert state == "errored" and reason.startswith("NotRun: Could not find executable ") and reason.endswith("/not_built")
    assert seen == STATES
    assert outcome == "crashed" and result.code == 1  # from the first test that crashed
    assert_sums(result.report)


def test_a_crash_reported_by_ctest_counts_for_maxfail(runner, project):
    result = runner(project, "out::segfaults", "out::aborts", "-x", "-q")
    assert {n: c[0] for n, c in model(result.report)[MODULE][1].items()} == {"segfaults": "crashed", "aborts": "not_run"}
    assert_sums(result.report)


def test_a_test_links_to_its_add_test_line(runner, project):
    result = runner(project, f"{MODULE}::fails", f"{MODULE}::passes#2")
    cases = {c["id"].rpartition("::")[2]: c for c in result.report["modules"][0]["cases"]}
    assert set(cases) == {"fails", "passes#2"}
    lines = (project / "below/CMakeLists.txt").read_text().splitlines()
    assert "add_test(NAME passes" in lines[cases["passes#2"]["line"] - 1]
    assert cases["passes#2"]["file"].endswith("below/CMakeLists.txt")


def test_selecting_a_test_also_runs_its_fixture(runner, project):
    result = runner(project, "out::uses_database")
    assert {n: c[0] for n, c in model(result.report)[MODULE][1].items()} == {
        "database_up": "passed", "uses_database": "passed", "database_down": "passed"}
    assert_sums(result.report)
    assert result.code == 0


def test_k_is_passed_to_ctest_as_a_regular_expression(runner, project):
    result = runner("list", "--cases", "-k", "^skips", project)
    assert result.out.split() == [f"{MODULE}::skips", f"{MODULE}::skips_silently"]


def test_the_plain_command_reproduces_a_failure(runner, project):
    result = runner(project, f"{MODULE}::fails")
    plain = subprocess.run(result.report["modules"][0]["cases"][0]["reproduce"]["plain"], shell=True, text=True,
                           capture_output=True)
    assert plain.returncode == 8 and "0% tests passed, 1 tests failed out of 1" in plain.stdout


def test_a_build_folder_needs_no_suite_json(runner, project):
    result = runner(project / "out", "CTestTestfile.cmake::passes")
    assert "ctest: CTestTestfile.cmake in a build folder" in result.out
    assert result.code == 0 and result.report["totals"]["passed"] == 1


def test_an_unreadable_ctest_file_is_a_load_error(runner, tmp_path):
    build = tmp_path / "project"
    build.mkdir()
    (build / "CTestTestfile.cmake").write_text("add_test(")
    outcome, cases = model(runner(build).report)["CTestTestfile.cmake"]
    assert outcome == "load_error"
    assert cases["<module>"][0] == "errored" and "ctest --show-only=json-v1" in cases["<module>"][1]
