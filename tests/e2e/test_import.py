"""`import` and `reparse` with files that the real frameworks wrote."""
import json
import sqlite3
import subprocess

import pytest

from conftest import SUITES

UNITTEST = '''import unittest

class A(unittest.TestCase):
    def test_good(self):
        pass
    def test_bad(self):
        self.assertEqual(1, 2)
    @unittest.skip("not here")
    def test_skipped(self):
        pass
'''
PYTEST = '''import pytest

def test_good(): pass
def test_bad(): raise NotImplementedError("The operator 'aten::foo' is not currently implemented for the MPS device.")
@pytest.mark.xfail
def test_known(): assert False
'''


@pytest.fixture
def foreign(tmp_path, python):
    """A folder with a unittest log, the JUnit XML of a pytest run, and a file that is neither."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "test_u.py").write_text(UNITTEST)
    (tmp_path / "tests" / "test_p.py").write_text(PYTEST)
    out = tmp_path / "out"
    out.mkdir()
    log = subprocess.run([python, "-m", "unittest", "-v", "tests.test_u"], cwd=tmp_path, text=True, capture_output=True)
    assert log.returncode == 1
    (out / "ci.log").write_text(log.stdout + log.stderr)
    subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", out / "p.xml", "tests/test_p.py"],
                   cwd=tmp_path, stdout=subprocess.DEVNULL)
    (out / "notes.txt").write_text("nothing to see\n")
    return out


STATES = {
    "tests/test_u.py::A::test_good": "passed", "tests/test_u.py::A::test_bad": "failed",
    "tests/test_u.py::A::test_skipped": "skipped", "tests/test_p.py::test_good": "passed",
    "tests/test_p.py::test_bad": "failed", "tests/test_p.py::test_known": "xfailed",
}


def states(report):
    return {case["id"]: case["state"] for module in report["modules"] for case in module["cases"]}


def test_a_folder_of_results_becomes_a_run(runner, foreign):
    made = runner("import", foreign, "--suite", "theirs", "--device", "mps", "--torch", "2.1.0")
    assert made.code == 1, made.err
    assert "ci.log: unittest" in made.out and "p.xml: junit-xml" in made.out
    assert "passed over" in made.out and "notes.txt" in made.out
    assert states(made.report) == STATES
    assert made.report["accounting"] == {"closed": True, "mismatches": []}
    assert made.report["run"]["device"] == "mps" and made.report["run"]["suite"] == "theirs"
    causes = {f["id"]: f["failure"]["cause"] for m in made.report["modules"] for f in m["cases"] if f["failure"]}
    assert causes["tests/test_p.py::test_bad"] == "op_missing"
    gaps = json.loads(runner("gaps", "list", "--json").out)["gaps"]
    assert [(gap["symbol"], gap["device"]) for gap in gaps] == [("aten::foo", "mps")]
    kept = sorted(path.name for path in (made.folder / "imported").iterdir())
    assert kept == ["1-ci.log", "2-p.xml"]
    assert runner("runs").out.startswith("theirs_")
    assert "tests/test_u.py::A::test_bad" in runner("show", "latest").out
    assert runner("reparse").code == 0
    for words in ["resume"], ["rerun", "--failed"]:
        again = runner(*words)
        assert again.code == 2 and "imported" in again.err


def test_results_of_another_attempt_at_a_module(runner, foreign):
    """The same tests once more, and now they pass: flaky."""
    better = foreign / "p2.xml"
    better.write_text((foreign / "p.xml").read_text())
    passed = foreign / "z.log"
    passed.write_text((foreign / "ci.log").read_text().replace("test_bad (tests.test_u.A.test_bad) ... FAIL", "test_bad (tests.test_u.A.test_bad) ... ok")
                      .split("=====")[0] + "-" * 70 + "\nRan 3 tests in 0.000s\n\nOK (skipped=1)\n")
    made = runner("import", foreign / "ci.log", passed)
    assert made.code == 0, made.out + made.err
    cases = {case["id"]: case for module in made.report["modules"] for case in module["cases"]}
    bad = cases["tests/test_u.py::A::test_bad"]
    assert bad["state"] == "passed" and bad["flaky"]


def test_a_log_that_breaks_off_is_no_clean_run(runner, foreign):
    log = foreign / "ci.log"
    log.write_text(log.read_text().split("=====")[0])
    made = runner("import", log)
    assert made.code == 3
    assert made.report["accounting"]["closed"] is False


def test_a_log_of_two_frameworks_is_no_clean_run(runner, foreign, python, tmp_path):
    session = subprocess.run([python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/test_p.py"], cwd=tmp_path,
                             text=True, capture_output=True).stdout
    both = foreign / "both.log"
    both.write_text(session + (foreign / "ci.log").read_text())
    made = runner("import", both)
    assert made.code == 3 and "--dialect unittest" in made.out
    assert "--dialect unittest" in (made.folder / "report.md").read_text()
    assert [m["module"] for m in made.report["accounting"]["mismatches"]] == ["both.log"]
    assert len(states(made.report)) == 3
    chosen = runner("import", both, "--dialect", "unittest")
    assert chosen.code == 1 and chosen.report["accounting"]["closed"]


def test_totals_over_several_modules_stand_in_the_report(runner, foreign):
    log = foreign / "ci.log"
    more = log.read_text().replace("test_u.A.test_good)", "test_v.A.test_good)").replace("Ran 3 tests", "Ran 4 tests")
    log.write_text(more)
    made = runner("import", log)
    assert made.code == 3
    assert ["ran: 3 by its tests, 4 by the framework's closing line"] == [
        m["message"] for m in made.report["accounting"]["mismatches"]]
    assert "Accounting does not close" in (made.folder / "report.md").read_text()


@pytest.mark.parametrize("words, error", [
    (["nowhere.log"], "there is no such file"),
    (["notes.txt"], "in any known dialect"),
    (["empty"], "this file is empty"),
    (["ci.log", "--dialect", "cobol"], "there is no dialect 'cobol'"),
    (["ci.log", "--dialect", "junit-xml"], "there is not one result"),
])
def test_what_cannot_be_imported_leaves_nothing(runner, foreign, words, error):
    (foreign / "empty").touch()
    made = runner("import", *words, cwd=foreign)
    assert made.code == 2 and error in made.err, made.err
    assert not list((foreign / "results").glob("runs/*"))


def test_reparse_tells_what_differs_and_stores_it(runner, python):
    run = runner(SUITES / "unittest_states", "--python", python, "--shim", "off")
    before = run.report
    assert runner("reparse").code == 0
    with sqlite3.connect(run.results / "runner.db") as database:
        [(test,)] = database.execute("""SELECT case_id FROM result JOIN test ON test.id = result.test
                                        WHERE state = 'passed' AND NOT pseudo ORDER BY case_id LIMIT 1""")
        database.execute("UPDATE result SET state = 'failed' WHERE test = (SELECT id FROM test WHERE case_id = ?)", [test])
    told = runner("reparse")
    assert told.code == 1
    assert "%s: failed stored, passed read" % test in told.out and "1 differ" in told.out
    assert runner("reparse").code == 1, "nothing was changed"
    applied = runner("reparse", "--apply")
    assert "stored" in applied.out
    assert runner("reparse").code == 0
    after = run.report
    assert states(after) == states(before)
    assert after["run"]["exit_code"] == before["run"]["exit_code"]
    assert after["accounting"] == before["accounting"]


def test_reparse_by_text_alone(runner, python):
    """A test that prints what a result looks like is all that text takes for what it is not."""
    runner(SUITES / "unittest_states", "--python", python, "--shim", "off")
    told = runner("reparse", "--text")
    lines = told.out.splitlines()
    assert lines[:2] == ["tests/test_states.py::States::test_pass: passed stored, not_run read",
                         "tests/test_states.py::States::test_fake: absent stored, failed read"]
    assert all("that the text cannot tell: " in line for line in lines[2:-1]) and len(lines) > 3
    assert "2 differ" in lines[-1] and told.code == 1
    assert runner("reparse", "--text", "--apply").code == 2


def test_files_that_are_gone_are_counted(runner, python):
    run = runner(SUITES / "unittest_states", "--python", python, "--shim", "off")
    logs = sorted(run.folder.glob("modules/**/*.log"))
    logs[0].unlink()
    told = runner("reparse")
    assert told.code == 0 and "1 attempt not read again" in told.out
