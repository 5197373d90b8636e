"""`--on slurm` with a stand-in for Slurm's commands. tests/slurm/on_slurm.py does it with Slurm itself."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

STANDIN = pathlib.Path(__file__).resolve().parent / "standins/slurm.py"
QUICK = "import unittest\n\n\nclass %s(unittest.TestCase):\n    def test_one(self):\n        pass\n\n    def test_two(self):\n        self.assertEqual(%d, 3)\n"


@pytest.fixture
def cluster(tmp_path):
    """Environment with the stand-in's commands."""
    commands, home = tmp_path / "commands", tmp_path / "cluster"
    commands.mkdir()
    home.mkdir()
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        (commands / name).symlink_to(STANDIN)
    return {"PATH": f"{commands}:{os.environ['PATH']}", "FAKE_SLURM": str(home)}


@pytest.fixture
def suite(write_suite):
    return write_suite("small", {f"tests/test_{name}.py": QUICK % (name.upper(), 3) for name in "abcd"})


@pytest.fixture
def on_slurm(runner, cluster, suite, python):
    def call(*words, env=()):
        return runner(suite, "--python", python, "--shim", "off", "--warm", "off", "--on", "slurm", *words, env={**cluster, **dict(env)}, timeout=60)

    return call


def states(result):
    return {case["id"]: case["state"] for module in result.report["modules"] for case in module["cases"]}


def test_the_run_is_that_of_one_machine_and_all_settings_reach_sbatch(on_slurm, runner, suite, python, tmp_path):
    there = on_slurm("--slurm-shards", 2, "--slurm-time", "90s", "--slurm-mem", "2G", "--slurm-gres", "gpu:1", env={"COMPAT_SLURM_IN_FLIGHT": "1"})
    assert there.code == 0, there.out + there.err
    assert "submitted the Slurm job 42" in there.out and "shard 2: [2/2] ok" in there.out and "4 of 4 modules" in there.out
    argv = json.loads((tmp_path / "cluster/argv.json").read_text())
    assert {"--array=1-2%1", "--time=1:30", "--mem=2G", "--gres=gpu:1", "--requeue"} <= set(argv)
    assert states(there) and set(states(there).values()) == {"passed"} and len(states(there)) == 8
    assert [path.name for path in (tmp_path / "results/runs").iterdir()] == [there.folder.name], "shards went into the run"
    assert json.loads((there.folder / "slurm/reasons.json").read_text())["reasons"] == {}
    assert not list((tmp_path / "results/slurm").iterdir())
    here = runner(suite, "--python", python, "--shim", "off", "--warm", "off", "--results", "here", "-q")
    assert here.code == 0
    assert states(there) == {case["id"]: case["state"] for module in json.loads((tmp_path / "here/latest/report.json").read_text())["modules"]
                             for case in module["cases"]}


def test_what_a_shard_left_is_not_run_with_slurms_reason(on_slurm, suite, tmp_path):
    # The second module of shard 2 waits for the end of its process.
    hold = (f"        import os, time\n        if os.environ['SLURM_ARRAY_TASK_ID'] == '2':\n            try: os.mkdir({str(tmp_path / 'first')!r})\n"
            "            except FileExistsError: time.sleep(60)\n")
    for file in (suite / "tests").glob("test_*.py"):
        file.write_text(file.read_text().replace("        pass\n", hold))
    there = on_slurm("--slurm-shards", 2, env={"FAKE_SLURM_END": '{"2": "TIMEOUT"}'})
    assert there.code == 1, there.out + there.err
    assert "shard 2: TIMEOUT on n2 (Slurm job 42_2)" in there.out
    modules = {module["path"]: module for module in there.report["modules"]}
    assert len(modules) == 4
    left = [module for module in modules.values() if module["outcome"] != "completed"]
    assert left and all("TIMEOUT on n2" in json.dumps(module) for module in left)
    assert json.loads((there.folder / "slurm/reasons.json").read_text())["reasons"] == {"2": "TIMEOUT on n2 (Slurm job 42_2)"}


@pytest.mark.parametrize("words, expected", [(["--slurm-partition", "nosuch"], "Invalid partition name specified"),
                                             (["--slurm-shards", "9"], "MaxArraySize"), (["--shard", "1/2"], "--shard does not go with --on slurm")])
def test_what_cannot_be_submitted_is_said_and_leaves_nothing(on_slurm, tmp_path, words, expected):
    refused = on_slurm(*words)
    assert refused.code == 2 and expected in refused.err, refused.err
    assert not list(tmp_path.glob("results/slurm/*"))


def test_a_termination_cancels_the_job_and_stores_the_run(program, cluster, write_suite, python, tmp_path):
    suite = write_suite("long", {"tests/test_a.py": "import time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_one(self):\n        pass\n\n"
                                                    "    def test_two(self):\n        time.sleep(60)\n", "tests/test_b.py": QUICK % ("B", 3)})
    with open(tmp_path / "out", "w") as out:
        process = subprocess.Popen([program, suite, "--python", python, "--shim", "off", "--warm", "off", "--on", "slurm", "--slurm-shards", "2"], cwd=tmp_path,
                                   env={**os.environ, **cluster}, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not any("test_two" in file.read_text() for file in tmp_path.rglob("test_a.py/*/*.events.jsonl")):
        assert time.monotonic() < deadline and process.poll() is None, (tmp_path / "out").read_text()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 130, (tmp_path / "out").read_text()
    report = json.loads((tmp_path / "results/latest/report.json").read_text())
    cases = {case["id"]: case for module in report["modules"] for case in module["cases"]}
    assert "CANCELLED" in json.dumps(report) and [case["state"] for name, case in cases.items() if "test_a" in name and "test_one" in name] == ["passed"], cases


def test_slurm_that_is_not_installed_is_named(runner, suite, python):
    if any((pathlib.Path(folder) / "scontrol").exists() for folder in os.environ["PATH"].split(":")):
        pytest.skip("Slurm is installed here")
    refused = runner(suite, "--python", python, "--on", "slurm")
    assert refused.code == 2 and "scontrol is not installed" in refused.err and "slurm-client" in refused.err
