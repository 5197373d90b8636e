"""Tests what new users try first: their own project, a keyword without matches, pytest's options."""
import sqlite3

import pytest

from conftest import SUITES

CONFTEST = """\
import pytest


def pytest_addoption(parser):
    parser.addoption("--runslow", action="store_true")
    parser.addoption("--password")


@pytest.fixture
def slow(request):
    if not request.config.getoption("--runslow"):
        pytest.skip("needs --runslow")
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "tests/test_slow.py").write_text("def test_slow(slow):\n    assert False\n")
    return folder


def test_a_keyword_that_matches_nothing_stores_no_run(runner, project, python, tmp_path):
    words = (project, "--python", python, "--shim", "off")
    assert runner(*words).code == 0
    before = (tmp_path / "results/latest").resolve()
    ran = runner(*words, "-k", "nothing_is_called_this")
    assert ran.code == 5, ran.out + ran.err
    assert "no test was selected: the run is not stored" in ran.out
    assert "-k nothing_is_called_this matches no test" in ran.err
    assert (tmp_path / "results/latest").resolve() == before
    assert list((tmp_path / "results/runs").iterdir()) == [before]
    database = sqlite3.connect(tmp_path / "results/runner.db")
    assert database.execute("SELECT name FROM run").fetchall() == [(before.name,)]
    assert runner("show", "latest").code == 0


def test_arguments_after_dashes_reach_pytest_and_are_stored(runner, project, python):
    words = (project, "--python", python, "--shim", "off")
    assert runner(*words).report["totals"]["skipped"] == 1
    ran = runner(*words, "tests", "--", "-p", "no:cacheprovider", "--runslow")
    assert ran.code == 1 and ran.report["totals"]["failed"] == 1, ran.out + ran.err
    test = ran.report["modules"][0]["cases"][0]
    assert test["reproduce"]["runner"].endswith("tests/test_slow.py::test_slow -- -p no:cacheprovider --runslow")
    again = runner("rerun", "--failed")
    assert again.code == 1 and again.report["totals"]["failed"] == 1, again.out + again.err


def test_a_secret_for_pytest_is_not_stored(runner, project, python):
    ran = runner(project, "--python", python, "--shim", "off", "--", "--runslow", "--password=hunter2")
    assert ran.code == 1, ran.out + ran.err
    again = runner("rerun", "--failed")
    assert again.code == 2 and "--password=<set> was a secret and is not stored" in again.err
    assert b"hunter2" not in (ran.results / "runner.db").read_bytes()


def test_arguments_after_dashes_are_refused_without_pytest(runner, python, tmp_path):
    ran = runner(SUITES / "unittest_states", "--python", python, "--shim", "off", "--", "--runslow")
    assert ran.code == 2 and "arguments after -- go to pytest, and this suite runs under unittest" in ran.err
    assert not (tmp_path / "results").exists()
