"""Tests which files of an import are jobs, shards and attempts."""
import json
import re
import subprocess

import pytest

PYTEST_XML = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="{failures}" skipped="0" \
tests="2" time="0.300"><testcase classname="tests.test_gears" name="test_turn" time="0.1">{failure}</testcase><testcase \
classname="tests.test_gears" name="test_brake" time="0.2" /></testsuite></testsuites>"""
GOOD = PYTEST_XML.format(failures=0, failure="")
BAD = PYTEST_XML.format(failures=1, failure='<failure message="assert 3 == 4">assert 3 == 4</failure>')
BAZEL_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="{target}" tests="1" failures="0" errors="{errors}">
    <testcase name="{target}" status="run" duration="3" time="3" classname="">{error}</testcase>
      <system-out><![CDATA[some output]]></system-out>
  </testsuite>
</testsuites>"""


def bazel(target, error=""):
    return BAZEL_XML.format(target=target, errors=int(bool(error)), error=error and f'<error message="{error}"></error>')


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def jobs_of(folder):
    """The states of the newest run of each series."""
    found = {}
    for path in sorted(folder.glob("results/runs/*/report.json")):
        report = json.loads(path.read_text())
        found[report["run"]["series"]] = {case["id"]: case["state"] for module in report["modules"] for case in module["cases"]}
    return found


TURN, BRAKE = "tests/test_gears.py::test_turn", "tests/test_gears.py::test_brake"


@pytest.mark.parametrize("words", [["ci"], ["ci/mac", "ci/linux"], ["ci/linux/r.xml", "ci/mac/r.xml"],
                                   ["--job", "mac=ci/mac/r.xml", "--job", "linux=ci/linux"]])
def test_each_folder_of_a_matrix_is_a_job(runner, tmp_path, words):
    write(tmp_path, {"ci/linux/r.xml": GOOD, "ci/mac/r.xml": BAD})
    result = runner("import", *words, "--suite", "gears")
    assert result.code == 1, result.out + result.err
    assert re.findall("^job (.*):", result.out, re.M) == ["linux", "mac"]
    assert jobs_of(tmp_path) == {"gears-linux": {TURN: "passed", BRAKE: "passed"}, "gears-mac": {TURN: "failed", BRAKE: "passed"}}
    differing = f"{TURN}  passed → failed"
    assert differing in result.out and "1 regressed, 1 unchanged" in result.out
    again = runner("compare", "--by", "job")
    assert again.code == 0 and differing in again.out and "the jobs of the newest import" in again.out, again.out + again.err
    assert runner("reparse", "gears-mac@latest").code == 0
    assert runner("compare", "--by", "job", "--fail-on", "bad").code == 1


def test_bazels_shards_and_attempts(runner, tmp_path):
    write(tmp_path / "testlogs" / "pkg", {
        "slow_test/shard_1_of_2/test.xml": bazel("pkg/slow_test"),
        "slow_test/shard_2_of_2/test.xml": bazel("pkg/slow_test", "Timed out"),
        "flaky_test/test.xml": bazel("pkg/flaky_test"),
        "flaky_test/test_attempts/attempt_1.xml": bazel("pkg/flaky_test", "exited with error code 1"),
    })
    result = runner("import", "testlogs")
    assert result.code == 1, result.out + result.err
    cases = {case["id"]: case for module in result.report["modules"] for case in module["cases"]}
    assert {id: (case["state"], case["flaky"]) for id, case in cases.items()} == {
        "pkg/slow_test [shard 1 of 2]::pkg/slow_test": ("passed", False),
        "pkg/slow_test [shard 2 of 2]::pkg/slow_test": ("errored", False),
        "pkg/flaky_test::pkg/flaky_test": ("passed", True),
    }
    assert runner("reparse", "latest").code == 0


def test_where_nothing_decides_both_are_shown(runner, tmp_path):
    write(tmp_path, {"ci/one.xml": GOOD, "ci/two.xml": BAD})
    for words in (["ci"], ["ci/two.xml", "ci/one.xml"]):
        result = runner("import", *words)
        assert result.code == 3, result.out + result.err
        assert "one.xml: two.xml has results of the same tests, and nothing says how the two" in result.out
        assert "--job NAME=PATH" in result.out
        assert jobs_of(tmp_path) == {"imported-one.xml": {TURN: "passed", BRAKE: "passed"},
                                   "imported-two.xml": {TURN: "failed", BRAKE: "passed"}}
    again = runner("reparse", "imported-two.xml@latest", "--apply")
    assert again.code == 0, again.out + again.err
    for path in tmp_path.glob("results/runs/*/report.json"):
        assert json.loads(path.read_text())["accounting"]["closed"] is False


def test_a_log_and_a_file_of_one_run_are_one_attempt(runner, tmp_path, python):
    write(tmp_path, {"t/test_m.py": "def test_a(): pass\ndef test_b(): assert 0\n"})
    log = subprocess.run([python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--junitxml", tmp_path / "ci/r.xml", "test_m.py"],
                         cwd=tmp_path / "t", text=True, stdout=subprocess.PIPE)
    write(tmp_path, {"ci/r.log": log.stdout})
    result = runner("import", "ci")
    assert result.code == 1 and "imported: 2 tests in 1 module: 1 passed, 1 failed" in result.out, result.out + result.err
    [module] = result.report["modules"]
    assert module["attempts"] == 1


def test_a_later_run_of_the_failed_tests_is_a_retry(runner, tmp_path, python):
    write(tmp_path, {"test_m.py": "import pathlib\ndef test_a(): pass\ndef test_b():\n    seen = pathlib.Path('seen')\n"
                                  "    was = seen.exists()\n    seen.touch()\n    assert was\n"})
    for name, words in (("z-first", []), ("again", ["--last-failed"])):
        subprocess.run([python, "-m", "pytest", "--junitxml", f"ci/{name}.xml", "test_m.py", *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
    result = runner("import", "ci")
    assert result.code == 0 and "imported: 2 tests in 1 module: 2 passed" in result.out, result.out + result.err
    [flaky] = [case["id"] for module in result.report["modules"] for case in module["cases"] if case["flaky"]]
    assert flaky == "test_m.py::test_b"


@pytest.mark.parametrize("words, error", [
    (["import"], "no file is named"), (["import", "--job", "mac"], "mac is not NAME=PATH"),
    (["import", "--job", "=x"], "=x is not NAME=PATH"), (["import", "--job", "a=r.xml", "--job", "b=r.xml"], "each of its files is of another job"),
    (["import", "gh.log"], "this log holds several jobs"), (["import", "--job", "mac=none.xml"], "none.xml: no such file"),
    (["compare", "--by", "job"], "has two jobs to compare"),
])
def test_wrong_words_about_jobs(runner, tmp_path, words, error):
    line = "{}\tRun tests\t2026-11-20T10:00:00.0000000Z {}\n"
    write(tmp_path, {"r.xml": GOOD, "gh.log": line.format("test (linux)", "=== test session starts ===") + line.format("test (mac)", "1 passed")})
    assert runner("import", "r.xml").code == 0
    result = runner(*words)
    assert result.code == 2 and error in result.err, result.err
