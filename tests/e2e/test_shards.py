"""Shards (--shard I/N): each writes only its run's folder, and merge makes one run of these folders."""
import json
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from test_resume import EXPECTED, SLOW, make_suite, start, states

ASSERTS = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertNotEqual(%d, 3)\n"


@pytest.fixture
def slow(tmp_path):
    return make_suite(tmp_path / "slow", {"test_a.py": SLOW % (3, -1), "test_b.py": SLOW % (-1, 4), "test_c.py": SLOW % (-1, -1)})


@pytest.fixture
def five(tmp_path):
    """Five modules, of which one fails."""
    return make_suite(tmp_path / "five", {"test_%d.py" % i: ASSERTS % i for i in range(5)})


@pytest.fixture
def run_shard(runner, python):
    def call(suite, shard, results, *words):
        result = runner(suite, *words, "--python", python, "--shim", "off", "--shard", shard, "--results", results)
        assert result.code in (0, 1), result.err
        return result

    return call


def only_run(results):
    (folder,) = (results / "runs").iterdir()
    return folder


def stored_tests(results):
    """Each test with all that the database says of it and its attempts, but times, costs and files."""
    with sqlite3.connect(results / "runner.db") as db:
        return sorted(db.execute(
            """SELECT module.path, attempt.number, attempt.kind, attempt.only_ids, attempt.process_end, attempt.outcome, attempt.collected,
                      test.case_id, result.verdict, result.state, result.reason, result.line, failure.type, failure.cause, failure.signature
               FROM attempt JOIN module ON module.id = attempt.module
               LEFT JOIN result ON result.attempt = attempt.id LEFT JOIN test ON test.id = result.test
               LEFT JOIN failure ON failure.result = result.id"""), key=str)


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in ("duration_s", "started", "ended")}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def reported_tests(report):
    return {case["id"]: without_times(case) for module in report["modules"] for case in module["cases"]}


def test_merged_shards_equal_a_local_run(runner, run_shard, slow, python, tmp_path):
    assert runner(slow, "--python", python, "--shim", "off", "--results", "local").code == 1
    for i in (1, 2):
        run_shard(slow, "%d/2" % i, "r%d" % i)
        assert not list((tmp_path / ("r%d" % i)).glob("runner.db*"))
        assert (only_run(tmp_path / ("r%d" % i)) / "report.md").is_file()
    merged = runner("merge", only_run(tmp_path / "r1"), "r2", "--results", "merged")
    assert merged.code == 1, merged.err
    local, report = (json.loads((tmp_path / name / "latest/report.json").read_text()) for name in ("local", "merged"))
    assert states(report) == states(local) == EXPECTED
    assert reported_tests(report) == reported_tests(local)
    assert stored_tests(tmp_path / "merged") == stored_tests(tmp_path / "local")
    assert all((tmp_path / "merged/latest" / module["log"]).is_file() for module in report["modules"])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_shard_is_resumed_from_its_folder(runner, run_shard, program, python, slow, tmp_path, how):
    run_shard(slow, "1/2", "r1")
    process = start(program, python, slow, tmp_path, "--shard", "2/2", "--results", "r2")
    deadline = time.monotonic() + 60
    while sum(f.read_text().count('"event": "end"') for f in (tmp_path / "r2").rglob("*.events.jsonl")) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(how)
    process.communicate(timeout=60)
    refused = runner("merge", "r1", "r2", "--results", "merged")
    assert refused.code == 2 and "not complete: " in refused.err
    assert "interrupted" in runner("runs", "--results", "r2").out
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "r2", moved)
    resumed = runner("resume", "--results", moved)
    assert resumed.code == 1, resumed.err
    assert not list(moved.glob("runner.db*"))
    complete = runner("resume", "--results", moved)
    assert complete.code == 2 and "this run is complete" in complete.err
    assert runner("merge", "r1", moved, "--results", "merged").code == 1
    report = json.loads((tmp_path / "merged/latest/report.json").read_text())
    assert states(report) == EXPECTED and report["accounting"]["closed"]


def test_merge_refuses_shards_that_make_no_run(runner, run_shard, five, tmp_path):
    run_shard(five, "1/2", "r1")
    run_shard(five, "2/2", "r2")
    run_shard(five, "2/2", "r3", "test_1.py")

    def refused(*folders):
        result = runner("merge", *folders, "--results", "wrong")
        assert result.code == 2 and not (tmp_path / "wrong/latest").exists()
        return result.err

    assert "shards are missing: 2/2" in refused("r1")
    assert "another plan" in refused("r1", "r3")
    assert "not a run folder or results folder" in refused("nowhere")
    (tmp_path / "empty/runs").mkdir(parents=True)
    assert "no shards" in refused("empty")
    log = next((only_run(tmp_path / "r2") / "modules").rglob("1.log"))
    log.rename(log.with_name("kept"))
    assert "shard 2/2 lacks attempt 1 at tests/" in refused("r1", "r2")
    log.with_name("kept").rename(log)
    record = only_run(tmp_path / "r2") / "record.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if '"event":"attempt"' not in line))
    assert "lacks attempt 1 at tests/" in refused("r1", "r2")
    record.write_text("".join(lines))
    assert not list((tmp_path / "wrong/runs").iterdir())
    assert runner("merge", "r1", "r2", "--results", "merged").code == 1


def test_merge_takes_no_older_run_for_a_shard_whose_record_is_damaged(runner, run_shard, five, tmp_path):
    run_shard(five, "1/2", "shards")
    for _ in range(2):
        run_shard(five, "2/2", "two")
    newest = max((tmp_path / "two/runs").iterdir())
    (newest / "record.jsonl").write_text('{"event": "run", "id"')
    merged = runner("merge", "shards", "two", "--results", "merged")
    assert merged.code == 2 and newest.name in merged.err
    assert not (tmp_path / "merged/runner.db").exists()


def test_commands_say_that_a_shard_is_only_a_folder(runner, run_shard, python, five, tmp_path):
    run_shard(five, "1/2", "results")
    run = only_run(tmp_path / "results").name
    listed = runner("runs")
    assert listed.code == 0 and run in listed.out and "shard 1/2" in listed.out and "runner merge" in listed.out
    for words in (["report"], ["show", run], ["rerun", "--failed"], ["reparse"], ["gaps", "list"], ["reparse", "--all"]):
        result = runner(*words)
        assert result.code == 2 and "runner merge FOLDER..." in result.err, (words, result.err)
    assert not list((tmp_path / "results").glob("runner.db*"))
    assert runner(five, "test_0.py", "--python", python, "--shim", "off").code == 0, "shards do not count as runs without a database"
    assert runner("report").code == 0
    named = runner("report", run)
    assert named.code == 2 and "this run is shard 1/2" in named.err
    assert (tmp_path / "results/latest").resolve().name != run
    assert runner("reparse", "--all").code == 0
    assert [run in line for line in runner("runs").out.splitlines()] == [False, True, False]


def test_shards_read_earlier_durations_and_leave_the_database_as_it_is(runner, run_shard, python, five, tmp_path):
    assert runner(five, "--python", python, "--shim", "off").code == 1
    database = tmp_path / "results/runner.db"
    before = database.read_bytes()
    for i in (1, 2):
        run_shard(five, "%d/2" % i, "results")
    assert database.read_bytes() == before
    assert runner("merge", "results").code == 1
    shutil.copytree(tmp_path / "results/runs", tmp_path / "other/runs")
    (tmp_path / "other/runner.db").write_bytes(b"\xa5" * 4096)
    assert "balanced without earlier durations" in run_shard(five, "1/2", "other").out


def test_repeated_shards_list_what_changed(runner, run_shard, five):
    assert "noise: 0 of " in run_shard(five, "1/2", "results", "--repeat", "2").out


def test_a_killed_merge_stores_the_whole_run_or_nothing(runner, program, python, tmp_path):
    many = "import unittest\n\n\nclass A(unittest.TestCase):\n    pass\n\n\nfor i in range(500):\n    setattr(A, 'test_%d' % i, lambda self: None)\n"
    suite = make_suite(tmp_path / "parts", {"test_%d.py" % i: many for i in range(6)})
    for i in (1, 2):
        assert runner(suite, "--python", python, "--shim", "off", "--shard", "%d/2" % i, "--results", "r%d" % i).code == 0
    merge = ["merge", "r1", "r2", "--results", "merged"]
    assert runner(*merge).code == 0
    database = tmp_path / "merged/runner.db"
    for number in range(12):
        folders = set((tmp_path / "merged/runs").iterdir())
        lock = sqlite3.connect(database, isolation_level=None)
        lock.execute("begin immediate")  # the merge waits before its first write
        process = subprocess.Popen([program, *merge], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len([f for new in set((tmp_path / "merged/runs").iterdir()) - folders for f in new.rglob("1.log")]) < 6:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        lock.execute("rollback")
        lock.close()
        time.sleep(0.02 * number)
        process.kill()
        process.wait()
        listed = runner("runs", "--results", "merged")
        assert listed.code == 0 and "interrupted" not in listed.out, listed.out
        assert all("3000 passed" in line for line in listed.out.splitlines())
        resumed = runner("resume", "--results", "merged")
        assert resumed.code == 2 and "this run is complete" in resumed.err, resumed.err
    assert runner(*merge).code == 0
