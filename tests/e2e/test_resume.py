"""Tests interrupted runs: resume after SIGKILL and Ctrl-C, rerun, -x, repeat."""
import json
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

SLOW = ("import os, time, unittest\n\n\nclass A(unittest.TestCase):\n    pass\n\n\n"
        "def add(n):\n    def test(self):\n        time.sleep(0.1)\n        if n == %d:\n            self.fail('as it should')\n"
        "        if n == %d:\n            os._exit(3)\n    setattr(A, 'test_%%d' %% n, test)\n\n\n"
        "for number in range(8):\n    add(number)\n")


def make_suite(folder, modules):
    tests = folder / "tests"
    tests.mkdir(parents=True)
    for name, source in modules.items():
        (tests / name).write_text(source)
    (folder / "suite.json").write_text(json.dumps({
        "format": 1, "name": folder.name, "source": {"path": "."}, "framework": "unittest",
        "layout": {"tests": "tests", "modules": ["test_*.py"]}}))
    return folder


@pytest.fixture
def slow(tmp_path):
    return make_suite(tmp_path / "slow", {"test_a.py": SLOW % (3, -1), "test_b.py": SLOW % (-1, 4), "test_c.py": SLOW % (-1, -1)})


def states(report):
    return {case["id"]: case["state"] for module in report["modules"] for case in module["cases"]}


EXPECTED = {"tests/test_%s.py::A::test_%d" % (m, n): "failed" if (m, n) == ("a", 3) else "crashed" if (m, n) == ("b", 4) else "passed"
            for m in "abc" for n in range(8)}


def start(program, python, suite, tmp_path, *words):
    return subprocess.Popen([program, suite, "--python", python, "--shim", "off", "-j2", *words], cwd=tmp_path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_a_test(tmp_path, count):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if sum(f.read_text().count('"event": "end"') for f in (tmp_path / "results").rglob("*.events.jsonl")) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("no test ended")


def test_an_interrupted_run_tells_of_modules_that_never_started(runner, program, python, slow, tmp_path):
    process = start(program, python, slow, tmp_path)
    wait_for_a_test(tmp_path, 1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    shown = runner("show", "latest").out
    for text in (out, shown):
        assert re.search(r"; the tests of \d modules? without a result are not counted\n", text) and "all accounted for" not in text
        assert "continue with: runner resume slow_" in text
    assert re.search(r"^    not_run tests/test_[abc].py: interrupted by SIGINT$", shown, re.M)


def test_show_leaves_a_run_under_way_alone(runner, program, python, slow, tmp_path):
    process = start(program, python, slow, tmp_path)
    wait_for_a_test(tmp_path, 1)
    process.send_signal(signal.SIGSTOP)
    shown = runner("show", next((tmp_path / "results/runs").iterdir()).name)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert shown.code == 0 and "  (running)\n" in shown.out and "not_run tests/" not in shown.out and "runner resume" not in shown.out, shown.out


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_resume_continues_an_interrupted_run(runner, program, python, slow, tmp_path, how):
    process = start(program, python, slow, tmp_path)
    wait_for_a_test(tmp_path, 4)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert "interrupted" in runner("runs").out
    ended = [json.loads(line)["id"] for f in (tmp_path / "results").rglob("1.events.jsonl")
             for line in f.read_text().splitlines() if '"event": "end"' in line]
    result = runner("resume")
    assert result.code == 1, result.err
    assert states(result.report) == EXPECTED
    assert result.report["run"]["complete"] and result.report["accounting"]["closed"]
    with sqlite3.connect(tmp_path / "results/runner.db") as db:
        later = db.execute("select only_ids from attempt where kind = 'rest'").fetchall()
    asked = {id for (ids,) in later for id in json.loads(ids)}
    assert asked and not asked & set(ended), "what had ended ran again"
    again = runner("resume")
    assert again.code == 2 and "complete" in again.err
    assert "interrupted" not in runner("runs").out


def test_a_resumed_run_has_the_device_marks_of_a_whole_one(runner, program, python, tmp_path):
    began, go = tmp_path / "began", tmp_path / "go"
    module = ("import os, time, unittest\n"
              f"if not os.path.exists({str(go)!r}):\n    open({str(began)!r}, 'w').close()\n    time.sleep(100)\n"
              "import torch\nclass A(unittest.TestCase):\n    def test_a(self):\n        torch.ones(2, device='cuda')\n"
              "    def test_host(self):\n        pass\n")
    suite = make_suite(tmp_path / "marked", {"test_a.py": module, "test_b.py": module})
    words = [suite, "--python", python, "--simulate", "cuda", "--policy", "none", "-j2", "--warm", "off"]
    process = subprocess.Popen([program, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300  # the shim may have to be built
    while not began.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    go.touch()
    resumed, whole = runner("resume"), runner(*words)

    def marks(result):
        assert result.code == 0, result.out + result.err
        return {case["id"]: case["marks"] for module in result.report["modules"] for case in module["cases"]}

    assert marks(resumed) == marks(whole)
    assert [test["marks"] for m in whole.report["modules"] for test in m["cases"]] == [["device"], ["untouched"]] * 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_during_startup_ends_the_run_cleanly(program, python, tmp_path, how):
    waits = "import time, unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        time.sleep(100)\n"
    suite = make_suite(tmp_path / "waits", {f"test_{name}.py": waits for name in "abc"})
    step = begun = 0
    while step < 12 or (not begun and step < 100):  # a busy machine takes longer to begin a run
        process = start(program, python, suite, tmp_path)
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) >> (how - 1) & 1:
            time.sleep(0.001)  # until the program has started
        time.sleep(0.05 * step)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, (step, out, err)
        begun = len(list(tmp_path.glob("results/runs/*/plan.json")))
        step += 1
    with sqlite3.connect(tmp_path / "results/runner.db") as db:
        runs = db.execute("select complete, not_run_reason from run").fetchall()
    assert set(runs) == {(0, "interrupted by " + how.name)}, runs
    assert len(runs) == begun, "each that was begun is stored"


MOVES = "import os, unittest\n\n\nclass A(unittest.TestCase):\n    def test(self):\n        %s\n"


def test_a_run_whose_processes_could_not_start_resumes(runner, python, tmp_path):
    suite, away = tmp_path / "suite", tmp_path / "away"
    make_suite(suite, {"test_a.py": MOVES % f"os.rename({str(suite)!r}, {str(away)!r})", "test_b.py": MOVES % "pass"})
    result = runner(suite, "--python", python, "--shim", "off", "-j1", "--order", "as-listed")
    assert result.code == 4 and "runner resume" in result.out, (result.out, result.err)
    away.rename(suite)
    again = runner("resume")
    assert again.code == 0, again.err
    assert states(again.report) == {"tests/test_a.py::A::test": "passed", "tests/test_b.py::A::test": "passed"}
    assert again.report["run"]["complete"] and again.report["accounting"]["closed"]


def test_a_run_in_progress_cannot_be_resumed(runner, program, python, slow, tmp_path):
    process = start(program, python, slow, tmp_path)
    wait_for_a_test(tmp_path, 1)
    assert "running" in runner("runs").out
    result = runner("resume")
    assert result.code == 2 and "another runner is using this run" in result.err
    assert process.wait(timeout=60) == 1


LEAVES = ("import os, subprocess, time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_1(self):\n"
          "        subprocess.Popen(['sleep', '%s'], start_new_session=True%s)\n\n    def test_2(self):\n"
          "        while not os.path.exists('go'):\n            time.sleep(0.1)\n")


@pytest.mark.parametrize("environment", ["", ", env={}"])
def test_resume_ends_processes_left_by_a_killed_runner(runner, running, unique_sleep_seconds, program, python, tmp_path, environment):
    suite = make_suite(tmp_path / "leaves", {"test_a.py": LEAVES % (unique_sleep_seconds, environment)})
    process = start(program, python, suite, tmp_path)
    wait_for_a_test(tmp_path, 1)
    process.kill()
    process.communicate()
    (suite / "go").touch()
    sleeps = "sleep " + unique_sleep_seconds
    assert running(sleeps)
    result = runner("resume")
    assert result.code == 0 and sleeps in result.out, result.out
    assert not running(sleeps)


def test_resuming_a_copied_run_does_not_end_the_originals_processes(program, running, unique_sleep_seconds, python, tmp_path):
    suite = make_suite(tmp_path / "leaves", {"test_a.py": LEAVES % (unique_sleep_seconds, "")})
    live = start(program, python, suite, tmp_path)
    wait_for_a_test(tmp_path, 1)
    shutil.copytree(tmp_path / "results", tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns("runner.db*"))
    with sqlite3.connect(tmp_path / "results/runner.db") as db, sqlite3.connect(tmp_path / "copy/runner.db") as copied:
        db.backup(copied)
    resumed = subprocess.Popen([program, "resume", "--results", "copy"], cwd=tmp_path, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "copy").rglob("2.events.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert live.poll() is None and running("sleep " + unique_sleep_seconds)
    (suite / "go").touch()
    for process in (live, resumed):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
        assert "ended process" not in out and "accounting: 2 collected = 2 passed, all accounted for" in out


def test_rerun_runs_part_of_a_run(runner, python, slow):
    runner(slow, "--python", python, "--shim", "off", env={"COMPAT_MACOS": "14"})  # no option of this run
    result = runner("rerun", "--failed")
    assert result.code == 1
    assert states(result.report) == {id: s for id, s in EXPECTED.items() if s != "passed"}
    nothing = runner("rerun", "--flaky")
    assert nothing.code == 5 and "no such tests" in nothing.err
    assert runner("rerun").code == 2


def test_the_first_failure_stops_the_run(runner, python, slow):
    result = runner(slow, "--python", python, "--shim", "off", "-x", "-j1", "--order", "as-listed")
    assert result.code == 1 and "--maxfail 1" in result.out
    seen = {m["path"]: m for m in result.report["modules"]}
    assert [c["state"] for c in seen["tests/test_a.py"]["cases"]] == ["passed"] * 3 + ["failed"] + ["not_run"] * 4
    assert seen["tests/test_b.py"]["outcome"] == "not_run" and not seen["tests/test_b.py"]["cases"]
    resumed = runner("resume")
    assert resumed.code == 1 and states(resumed.report)["tests/test_a.py::A::test_3"] == "failed"


def test_retries_tell_flaky_from_failing(runner, python, tmp_path):
    suite = make_suite(tmp_path / "flaky", {"test_a.py": (
        "import os, unittest\n\n\nclass A(unittest.TestCase):\n    def test_flaky(self):\n        if not os.path.exists('once'):\n"
        "            open('once', 'w').close()\n            self.fail('the first time')\n\n    def test_fails(self):\n        self.fail('always')\n\n"
        "    def test_passes(self):\n        pass\n")})
    words = [suite, "--python", python, "--shim", "off", "--retries", "1"]
    result = runner(*words)
    cases = {c["id"].split("::")[-1]: c for c in result.report["modules"][0]["cases"]}
    assert [(a["kind"], a["state"]) for a in cases["test_flaky"]["attempts"]] == [
        ("whole", "failed"), ("again", "passed"), ("alone", "passed")]
    assert cases["test_flaky"]["flaky"] and cases["test_flaky"]["state"] == "passed"
    assert [(a["kind"], a["state"]) for a in cases["test_fails"]["attempts"]] == [("whole", "failed"), ("again", "failed")]
    assert not cases["test_fails"]["flaky"] and cases["test_passes"]["attempts"] == []
    (suite / "once").unlink()
    (suite / "tests/test_a.py").write_text((suite / "tests/test_a.py").read_text().replace("self.fail('always')", "pass"))
    assert runner(*words).code == 0
    (suite / "once").unlink()
    assert runner(*words, "--flaky-fails").code == 1


def test_repeat_lists_tests_whose_results_differ(runner, python, tmp_path):
    suite = make_suite(tmp_path / "noisy", {"test_a.py": (
        "import os, unittest\n\n\nclass A(unittest.TestCase):\n    def test_noisy(self):\n        n = len(os.listdir('.'))\n"
        "        open('seen%d' % n, 'w').close()\n        self.assertEqual(n % 2, 0)\n\n    def test_quiet(self):\n        pass\n")})
    result = runner(suite, "--python", python, "--shim", "off", "--repeat", "3")
    assert result.code == 1, result.err
    assert "noise: 1 of 2 tests in 3 runs" in result.out
    assert "test_a.py::A::test_noisy: " in result.out and "test_quiet: " not in result.out
    with sqlite3.connect(tmp_path / "results/runner.db") as db:
        rows = db.execute("select name, repeat_of from run order by id").fetchall()
    assert rows[0][1] == "" and {row[1] for row in rows[1:]} == {rows[0][0]}


def test_two_runners_share_a_results_folder(runner, program, python, slow, tmp_path):
    runs = [start(program, python, slow, tmp_path, "--results", "shared") for _ in range(2)]
    for process in runs:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert "accounting: 24 collected = 22 passed + 1 failed + 1 crashed, all accounted for" in out
    with sqlite3.connect(tmp_path / "shared/runner.db") as db:
        assert db.execute("select complete, count(*) from run group by complete").fetchall() == [(1, 2)]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True, text=True)
    if made.returncode:
        pytest.skip("a file system cannot be mounted here: " + made.stderr.strip())
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_ends_the_run_and_loses_nothing(runner, python, tmp_path, small_disk):
    floods = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        for _ in range(600):\n            print('x' * 10000)\n"
    quiet = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n"
    suite = make_suite(tmp_path / "floods", {"test_a.py": quiet, "test_b.py": floods, "test_c.py": quiet})
    results = small_disk / "results"
    full = runner(suite, "--python", python, "--shim", "off", "-j1", "--order", "as-listed", "--results", results)
    assert full.code == 4 and "No space left" in full.err, full.err
    with sqlite3.connect(results / "runner.db") as db:
        kept = dict(db.execute("select case_id, state from result join test on test.id = result.test where verdict = 1"))
    assert kept["tests/test_a.py::A::test_a"] == "passed"
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    resumed = runner("resume", "--results", results)
    assert resumed.code == 0, resumed.err
    report = json.loads((results / "latest/report.json").read_text())
    assert states(report) == {"tests/test_%s.py::A::test_a" % m: "passed" for m in "abc"}
