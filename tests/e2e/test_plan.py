"""Many machines: `plan`, `run --plan FILE --shard I`, and `merge --plan FILE` of what they ran."""
import fcntl
import json
import pathlib
import re
import signal
import subprocess
import time

import jsonschema
import pytest

from test_resume import EXPECTED, SLOW, make_suite, states
from test_shards import ASSERTS, reported_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def slow(tmp_path):
    """Eight tests in each of three modules: one fails, one ends its process."""
    quicker = SLOW.replace("sleep(0.1)", "sleep(0.05)")
    return make_suite(tmp_path / "slow", {"test_a.py": quicker % (3, -1), "test_b.py": quicker % (-1, 4), "test_c.py": quicker % (-1, -1)})


@pytest.fixture
def five(tmp_path):
    return make_suite(tmp_path / "five", {"test_%d.py" % i: ASSERTS % i for i in range(5)})


@pytest.fixture
def planned(runner, python, tmp_path):
    """planned(suite, shards, *words): the plan in plan.json."""

    def call(suite, shards, *words):
        made = runner("plan", suite, "--shards", shards, "--out", "plan.json", "--python", python, "--shim", "off", *words)
        assert made.code == 0, made.err
        return json.loads((tmp_path / "plan.json").read_text())

    return call


def run_shard(runner, index, *words):
    result = runner("run", "--plan", "plan.json", "--shard", index, *words)
    assert result.code in (0, 1), result.err
    return result


def shard_of(plan, module):
    (index,) = [i for i, shard in enumerate(plan["shards"], 1) if module in [m["path"] for m in shard["modules"]]]
    return index


def kill_midway(program, tmp_path, plan, index, ended):
    """Kill a shard's runner with SIGKILL once `ended` tests have ended."""
    process = subprocess.Popen([program, "run", "--plan", "plan.json", "--shard", str(index)], cwd=tmp_path, stdout=subprocess.DEVNULL)
    folder = tmp_path / "results/runs" / f"{plan['id']}-{index}"
    deadline = time.monotonic() + 60
    while sum(file.read_text().count('"event": "end"') for file in folder.rglob("*.events.jsonl")) < ended:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return folder


def report_of(tmp_path, results="results"):
    return json.loads((tmp_path / results / "latest/report.json").read_text())


def write_reasons(tmp_path, plan, reasons):
    (tmp_path / "reasons.json").write_text(json.dumps({"format": 1, "plan": plan["id"], "reasons": reasons}))


def test_a_killed_shard_goes_on_and_the_merged_run_equals_a_local_one(runner, program, planned, slow, python, tmp_path):
    assert runner(slow, "--python", python, "--shim", "off", "--results", "local").code == 1
    plan = planned(slow, 2, "-j", 1)
    jsonschema.validate(plan, json.loads((ROOT / "reports/schemas/shard_plan.schema.json").read_text()))
    assert sorted(module["path"] for shard in plan["shards"] for module in shard["modules"]) == [f"tests/test_{name}.py" for name in "abc"]
    double = next(i for i, shard in enumerate(plan["shards"], 1) if len(shard["modules"]) == 2)
    folder = kill_midway(program, tmp_path, plan, double, 10)  # in the second of its two modules
    done = folder / "modules" / plan["shards"][double - 1]["modules"][0]["path"]
    before = {file.name: file.stat().st_mtime_ns for file in done.iterdir()}
    refused = runner("merge", "--plan", "plan.json")
    assert refused.code == 2 and "shards are missing" in refused.err and "--allow-missing" in refused.err
    again = run_shard(runner, double)
    assert "resuming" in again.out
    assert {file.name: file.stat().st_mtime_ns for file in done.iterdir()} == before, "what it had is not run again"
    run_shard(runner, 3 - double)
    complete = run_shard(runner, double)
    assert "is complete" in complete.out and complete.code == again.code
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [".gitignore", "runs"], "no database, no latest"
    assert sorted(path.name for path in (tmp_path / "results/runs").iterdir()) == [f"{plan['id']}-1", f"{plan['id']}-2"]
    merged = runner("merge", "--plan", "plan.json", "--results", "merged", "results")
    assert merged.code == 1, merged.err
    report = report_of(tmp_path, "merged")
    assert states(report) == states(report_of(tmp_path, "local")) == EXPECTED
    assert report["accounting"]["closed"] and report["run"]["complete"]


def test_what_never_ran_says_why_and_can_be_resumed(runner, program, planned, slow, tmp_path):
    plan = planned(slow, 3)
    done, killed, never = (shard_of(plan, f"tests/test_{name}.py") for name in "abc")
    run_shard(runner, done)
    kill_midway(program, tmp_path, plan, killed, 2)
    write_reasons(tmp_path, plan, {str(killed): "OUT_OF_MEMORY", str(never): "NODE_FAIL: n4"})
    merge = ("merge", "--plan", "plan.json", "--allow-missing", "--reasons", "reasons.json")
    merged = runner(*merge)
    assert merged.code == 1, merged.err
    report = report_of(tmp_path)
    modules = {module["path"]: module for module in report["modules"]}
    assert sorted(modules) == [f"tests/test_{name}.py" for name in "abc"] and not report["run"]["complete"]
    assert modules["tests/test_c.py"]["outcome"] == "not_run" and modules["tests/test_c.py"]["reason"] == f"shard {never}/3: NODE_FAIL: n4"
    cases = {case["id"]: case for case in modules["tests/test_b.py"]["cases"]}
    by_state = {state: [case for case in cases.values() if case["state"] == state] for state in ("passed", "not_run")}
    assert len(cases) == 8 and len(by_state["passed"]) >= 2 and len(by_state["passed"]) + len(by_state["not_run"]) == 8
    assert all(f"shard {killed}/3: OUT_OF_MEMORY" in case["reason"] for case in by_state["not_run"])
    assert report["accounting"]["closed"]

    # From the folders alone the reasons are the same.
    (tmp_path / "results/runner.db").unlink()
    assert runner("reparse", "--all").code == 0
    assert runner("report").code == 0
    assert reported_tests(report_of(tmp_path)) == reported_tests(report)
    assert [module["reason"] for module in report_of(tmp_path)["modules"] if module["path"] == "tests/test_c.py"] == [modules["tests/test_c.py"]["reason"]]

    resumed = runner("resume", "-j", "3")
    assert resumed.code == 1, resumed.err
    assert states(report_of(tmp_path)) == EXPECTED

    # The shards are as they were: they go on, and another merge has all.
    for index in (killed, never):
        run_shard(runner, index)
    assert runner("merge", "--plan", "plan.json", "--results", "later", "results").code == 1
    assert states(report_of(tmp_path, "later")) == EXPECTED


def test_a_plan_none_of_whose_shards_ran_is_a_run_of_modules_not_run(runner, planned, five, tmp_path):
    plan = planned(five, 2)
    write_reasons(tmp_path, plan, {"1": "TIMEOUT"})
    assert runner("merge", "--plan", "plan.json", "--allow-missing", "--reasons", "reasons.json").code == 1
    report = report_of(tmp_path)
    first = {module["path"] for module in plan["shards"][0]["modules"]}
    assert len(report["modules"]) == 5
    for module in report["modules"]:
        assert module["outcome"] == "not_run"
        assert module["reason"] == ("shard 1/2: TIMEOUT" if module["path"] in first else "shard 2/2: it wrote no folder")


def test_merged_totals_are_those_that_the_shards_counted(runner, planned, five, tmp_path):
    plan = planned(five, 2)
    for index in (1, 2):
        run_shard(runner, index)
    assert runner("merge", "--plan", "plan.json", "--results", "sound", "results").code == 1
    events = next((tmp_path / "results/runs" / f"{plan['id']}-2").rglob("1.events.jsonl"))
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(line for line in lines if '"event": "end"' not in line))
    damaged = runner("merge", "--plan", "plan.json", "--results", "damaged", "results")
    assert damaged.code == 3, damaged.out + damaged.err
    report = report_of(tmp_path, "damaged")
    assert not report["accounting"]["closed"]
    ours = [mismatch["message"] for mismatch in report["accounting"]["mismatches"] if not mismatch["module"]]
    assert any(message.startswith("the shards counted ") for message in ours) and set(ours) <= set(damaged.out.replace("    ", "").splitlines())


def test_the_plan_is_kept(runner, planned, python, five, tmp_path):
    """Targets, -k, ids and options are those of the plan, whatever the suite has become."""
    plan = planned(five, 2, "tests/test_1.py::A::test_a", "tests/test_3.py", "--maxfail", 5, "-k", "test_a", "--env", "X=1")
    assert {module["path"]: module["only"] for shard in plan["shards"] for module in shard["modules"]} == {
        "tests/test_1.py": ["tests/test_1.py::A::test_a"], "tests/test_3.py": []}
    (five / "tests/test_6.py").write_text(ASSERTS % 6)
    for index in (1, 2):
        run_shard(runner, index)
    folder = tmp_path / "results/runs" / f"{plan['id']}-1"
    written = json.loads((folder / "plan.json").read_text())
    assert written["keyword"] == "test_a" and written["maxfail"] == 5
    start = json.loads((folder / "record.jsonl").read_text().splitlines()[0])
    assert ["X", "1"] in start["env"] and start["shard"] == "1/2" and start["plan"] == plan["id"]
    assert runner("merge", "--plan", "plan.json").code == 1
    assert states(report_of(tmp_path)) == {"tests/test_1.py::A::test_a": "passed", "tests/test_3.py::A::test_a": "failed"}


def test_a_plan_tells_the_modules_of_shards_that_were_cut_without_it(runner, planned, python, five, tmp_path):
    result = runner(five, "--python", python, "--shim", "off", "--shard", "1/2", "--results", "r1")
    assert result.code in (0, 1)
    refused = runner("merge", "r1", "--allow-missing", "--results", "merged")
    assert refused.code == 2 and "--plan" in refused.err
    plan = planned(five, 2)
    assert runner("merge", "r1", "--plan", "plan.json", "--allow-missing", "--results", "merged").code == 1
    outcomes = {module["path"]: module["outcome"] for module in report_of(tmp_path, "merged")["modules"]}
    assert {path for path, outcome in outcomes.items() if outcome == "not_run"} == {module["path"] for module in plan["shards"][1]["modules"]}


def test_shards_are_as_many_as_the_target_needs(runner, python, tmp_path):
    sleeps = "import time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        time.sleep(0.3)\n"
    suite = make_suite(tmp_path / "suite", {"test_%d.py" % i: sleeps for i in range(4)})
    words = ("plan", suite, "--out", "plan.json", "--python", python, "--shim", "off", "-j", 1, "--target-time")
    unknown = runner(*words, "1s")
    assert unknown.code == 2 and "no duration" in unknown.err
    assert runner(suite, "--python", python, "--shim", "off", "-j", 4).code == 0

    def planned(target):
        made = runner(*words, target)
        assert made.code == 0, made.err
        return made.out, json.loads((tmp_path / "plan.json").read_text())["shards"]

    out, shards = planned("1m")
    assert [len(shard["modules"]) for shard in shards] == [4] and shards[0]["expected_s"] >= 1.2 and "alone takes" not in out
    out, shards = planned("1s")
    assert 2 <= len(shards) <= 4 and all(shard["expected_s"] <= 1 or len(shard["modules"]) == 1 for shard in shards)


def test_plans_that_cannot_be_used_are_refused(runner, planned, five, tmp_path):
    plan = planned(five, 2)
    for words, why in (
        (("run", "--plan", "plan.json", "--shard", "3"), "1 to 2"),
        (("run", "--plan", "plan.json", "--shard", "1/2"), "1 to 2"),
        (("run", "--plan", "plan.json"), "--shard"),
        (("run", five, "--plan", "plan.json", "--shard", "1"), "exclude each other"),
        (("run", "--plan", "nowhere.json", "--shard", "1"), "nowhere.json"),
        (("run", "--plan", five / "suite.json", "--shard", "1"), "not a plan of shards"),
        (("plan", five, "--out", "x.json"), "--shards N or --target-time"),
        (("plan", five, "--out", "x.json", "--shards", "2", "--target-time", "1m"), "exclude each other"),
        (("merge", "--plan", "plan.json", "--reasons", "reasons.json"), "--allow-missing"),
        (("merge", "--plan", "plan.json"), "no shards"),
    ):
        result = runner(*words)
        assert result.code == 2 and why in result.err, (words, result.err)
    for reasons, why in (({"format": 1, "plan": "other", "reasons": {}}, "are for the plan"),
                         ({"format": 1, "plan": plan["id"], "reasons": {"3": "x"}}, 'no shard "3"'),
                         ({"format": 2}, "format 2"), ([], "not a file of reasons")):
        (tmp_path / "reasons.json").write_text(json.dumps(reasons))
        result = runner("merge", "--plan", "plan.json", "--allow-missing", "--reasons", "reasons.json")
        assert result.code == 2 and why in result.err, (reasons, result.err)
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "format": 2}))
    assert "format 2" in runner("run", "--plan", "plan.json", "--shard", "1").err
    assert not (tmp_path / "results").exists()


def test_a_shard_that_ran_in_another_way_is_named(runner, planned, five, tmp_path):
    plan = planned(five, 2)
    for index in (1, 2):
        run_shard(runner, index)
    record = tmp_path / "results/runs" / f"{plan['id']}-2/record.jsonl"
    first, *others = record.read_text().splitlines(keepends=True)
    run = json.loads(first)
    assert run["torch"] and run["device"] == "cpu"
    record.write_text("".join([json.dumps({**run, "torch": "1.0", "device": "xpu"}) + "\n", *others]))
    merge = ("merge", "--plan", "plan.json", "--results", "merged", "results")
    assert runner(*merge).code == 2
    allowed = runner(*merge, "--allow-missing")
    assert allowed.code == 1 and re.search(r"note: .*-[12] differs from .*-[12] in: device, torch\n", allowed.out), allowed.out
    assert len(states(report_of(tmp_path, "merged"))) == 5


def test_a_folder_that_a_dead_machine_left_empty_is_begun_again(runner, planned, five, tmp_path):
    plan = planned(five, 1)
    folder = tmp_path / "results/runs" / f"{plan['id']}-1"
    folder.mkdir(parents=True)
    (folder / "record.jsonl").write_bytes(b"\0" * 512)
    allowed = runner("merge", "--plan", "plan.json", "--allow-missing", "--results", "merged", "results")
    assert allowed.code == 1, allowed.err
    for module in report_of(tmp_path, "merged")["modules"]:
        assert module["reason"].startswith("shard 1/1: its record cannot be read: "), module
        assert str(folder) in module["reason"] and "lacks the run's start" in module["reason"]
    run_shard(runner, 1)
    assert runner("merge", "--plan", "plan.json").code == 1
    assert len(states(report_of(tmp_path))) == 5


def test_a_shard_whose_record_is_lost_says_so_whatever_the_scheduler_says(runner, planned, five, tmp_path):
    plan = planned(five, 3)
    for index in (1, 2, 3):
        run_shard(runner, index)
    first, second = (tmp_path / "results/runs" / f"{plan['id']}-{index}/record.jsonl" for index in (1, 2))
    first.write_text("".join(first.read_text().splitlines(keepends=True)[1:]))
    second.unlink()
    write_reasons(tmp_path, plan, {"2": "TIMEOUT"})
    assert runner("merge", "--plan", "plan.json", "--results", "merged", "results").code == 2
    merged = runner("merge", "--plan", "plan.json", "--allow-missing", "--reasons", "reasons.json", "--results", "merged", "results")
    assert merged.code == 1, merged.err
    modules = {module["path"]: module for module in report_of(tmp_path, "merged")["modules"]}
    assert len(modules) == 5
    for shard, start in ((1, "shard 1/3: its record cannot be read: "), (2, "shard 2/3: TIMEOUT; its folder has no record: ")):
        for module in plan["shards"][shard - 1]["modules"]:
            assert modules[module["path"]]["reason"].startswith(start), modules[module["path"]]
    assert all(modules[module["path"]]["outcome"] != "not_run" for module in plan["shards"][2]["modules"])


def test_two_starts_of_a_shard_leave_one_record(runner, program, planned, five, tmp_path):
    """A shard that Slurm starts again may still be at work elsewhere: it has the lock, and its
    record may be empty yet."""
    plan = planned(five, 1)
    folder = tmp_path / "results/runs" / f"{plan['id']}-1"
    folder.mkdir(parents=True)
    record = folder / "record.jsonl"
    record.touch()
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = runner("run", "--plan", "plan.json", "--shard", 1)
        assert second.code == 2 and "another runner is using this run" in second.err
        assert record.exists(), "the record of the first one is gone"
    starts = [subprocess.Popen([program, "run", "--plan", "plan.json", "--shard", "1"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
              for _ in range(2)]
    codes = sorted(start.wait() for start in starts)
    assert codes[0] in (0, 1), codes
    events = [json.loads(line)["event"] for line in record.read_text().splitlines()]
    assert events[0] == "run" and events.count("run") == 1, events
    assert runner("merge", "--plan", "plan.json").code == 1
    assert len(states(report_of(tmp_path))) == 5
