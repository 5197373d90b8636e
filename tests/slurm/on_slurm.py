"""`runner SUITE --on slurm` on real Slurm: what goes well, and everything that goes wrong on a cluster.

    .venv/bin/python tests/slurm/on_slurm.py [SCENARIO…]

Needs root. start.sh starts a Slurm of four nodes on this machine, and stop.sh ends it. A scenario takes half a minute to four.
Nodes are killed as a crash kills them: slurmd, its slurmstepd and every process of their jobs at once, by SIGKILL.
"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNNER = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner"))
PYTHON = ROOT / ".venv/bin/python"
CONFORMANCE = ROOT / "suites/conformance"
NODES = 4

PROJECT = {"source": {"path": "."}, "framework": "pytest", "layout": {"tests": "tests", "modules": ["test_*.py"]}, "limits": {"module_timeout": "10m", "test_timeout": "10m"}}
MODULES = {
    "test_a.py": "import time\n\ndef test_first():\n    time.sleep(1)\n\ndef test_second():\n    assert 1 == 1\n",
    "test_b.py": "import os, time\n\ndef test_before():\n    pass\n\ndef test_long():\n    time.sleep(float(os.environ.get('LONG', '1')))\n\ndef test_after():\n    pass\n",
    "test_c.py": "import os\n\ndef test_before():\n    pass\n\ndef test_large():\n    assert len(bytearray(int(os.environ.get('LARGE', '1000'))))\n\ndef test_after():\n    pass\n",
    "test_d.py": "def test_fails():\n    assert 1 == 2\n\ndef test_passes():\n    pass\n",
}


class Cluster:
    def __init__(self, folder, accounting=False):
        self.folder, self.accounting = folder, accounting

    def __enter__(self):
        command = [HERE / "start.sh", self.folder, str(NODES)] + ["--accounting"] * self.accounting
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        os.environ["SLURM_CONF"] = re.search(r"SLURM_CONF=(.*)", out)[1]
        return self

    def __exit__(self, *_):
        subprocess.run([HERE / "stop.sh", self.folder], check=True)

    def kill_node(self, node):
        """As a machine that loses its power."""
        mine = []
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (proc / "environ").read_bytes()
                if f"SLURMD_NODENAME={node}\0".encode() in environment and f"SLURM_CONF={os.environ['SLURM_CONF']}\0".encode() in environment:
                    mine.append(int(proc.name))
            except (OSError, ValueError):
                continue
        parents = {int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) for pid in mine}
        daemons = [pid for pid in parents if pid > 1 and "slurmstepd" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]
        assert daemons, f"no job on {node}"
        for pid in [int((self.folder / f"{node}.pid").read_text()), *daemons, *mine]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_daemon(self, node):
        """As a node that loses its network: its processes go on."""
        os.kill(int((self.folder / f"{node}.pid").read_text()), signal.SIGKILL)

    def revive(self, node):
        subprocess.run(["slurmd", "-N", node], check=True)
        wait_for(lambda: words("sinfo", "-h", "-n", node, "-p", "p", "-o", "%T") == "idle", 60, f"{node} is back")


def words(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def wait_for(condition, seconds, what):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.2)


class Run:
    """A runner that works while a scenario acts."""

    def __init__(self, results, suite, *options, terminal=False, **environment):
        self.results, self.log = results, results.with_suffix(".out")
        command = [RUNNER, suite, "--python", PYTHON, "--results", results, *options]
        self.master = None
        streams = {"stdin": subprocess.DEVNULL, "stdout": open(self.log, "w"), "stderr": subprocess.STDOUT}
        if terminal:
            self.master, slave = pty.openpty()
            streams["stdin"] = slave
        self.process = subprocess.Popen([str(word) for word in command], env={**os.environ, "CI": "1", **environment}, start_new_session=True, **streams)

    @property
    def text(self):
        return self.log.read_text()

    def says(self, pattern, seconds=120):
        wait_for(lambda: re.search(pattern, self.text) or self.process.poll() is not None, seconds, f"{pattern!r} in {self.log}")
        found = re.search(pattern, self.text)
        assert found, f"it ended without {pattern!r}:\n{self.text}"
        return found

    @property
    def job(self):
        return self.says(r"submitted the Slurm job (\d+)")[1]

    def node_of(self, shard):
        wait_for(lambda: words("squeue", "-h", "-r", "-j", self.job, "-t", "R", "-o", "%K %N").find(f"{shard} n") >= 0, 120, f"shard {shard} runs")
        return re.search(rf"^{shard} (\S+)", words("squeue", "-h", "-r", "-j", self.job, "-o", "%K %N"), re.M)[1]

    def ends(self, code, seconds=400):
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end in {seconds} s:\n{self.text}")
        assert got == code, f"exit code {got}, not {code}:\n{self.text}"
        return self

    def tests(self):
        """State of each test of the stored run, and why it is so."""
        report = json.loads((self.results / "latest/report.json").read_text())
        found = {test["id"]: (test["state"], test.get("reason") or "") for module in report["modules"] for test in module["cases"]}
        return found | {module["path"]: (module["outcome"], module["reason"]) for module in report["modules"] if not module["cases"]}

    def modules(self):
        report = json.loads((self.results / "latest/report.json").read_text())
        return {module["path"]: module for module in report["modules"]}


def states(run):
    return {test: state for test, (state, _) in run.tests().items()}


def slurm(work, name, suite, *options, **more):
    return Run(work / name, suite, "--on", "slurm", *options, **more)


def project(work):
    folder = work / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "suite.json").write_text(json.dumps({"format": 1, "name": "small", **PROJECT}))
    for name, text in MODULES.items():
        (folder / "tests" / name).write_text(text)
    return folder


def local(work, suite, **environment):
    run = Run(work / "local", suite, "-j1", **environment)
    run.process.wait(400)
    return run


PLAIN = ("--shim", "off")


def equal(work, cluster):
    """Four shards on four nodes give the run of one machine, test by test."""
    here = local(work, CONFORMANCE).ends(0)
    there = slurm(work, "there", CONFORMANCE, "--slurm-shards", 4, "--slurm-mem", "1500M").ends(0)
    assert states(there) == states(here) and len(states(here)) > 300
    assert not list((there.results / "runs").glob("*-[1-4]")), "the shards' folders went into the run"
    return f"{len(states(here))} tests, equal"


def node_killed(work, cluster):
    """A node dies in the midst: its shard goes on elsewhere, and nothing is lost."""
    here = local(work, CONFORMANCE).ends(0)
    there = slurm(work, "there", CONFORMANCE, "--slurm-shards", 2, "--slurm-mem", "1500M")
    there.says(r"shard 1: \[2/")
    node = there.node_of(1)
    cluster.kill_node(node)
    there.says("shard 1: Slurm requeued it")
    there.ends(0)
    assert "resuming" in (there.results / "latest/slurm/shard-1.log").read_text()
    assert states(there) == states(here)
    cluster.revive(node)
    return f"{node} killed; {len(states(here))} tests, equal"


def node_killed_twice(work, cluster):
    """A shard whose nodes die twice does not go on: NODE_FAIL."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "500M", "-j1", LONG="300")
    there.says("running", 60)
    shard = shard_of(there, "test_b.py")
    killed = []
    for _ in range(2):
        node = there.node_of(shard)
        wait_for(lambda: list(there.results.rglob(f"*-{shard}/modules/**/*.events.jsonl")), 30, "it runs tests")
        time.sleep(2)
        cluster.kill_node(node)
        killed.append(node)
        wait_for(lambda: words("squeue", "-h", "-r", "-j", there.job, "-t", "PD", "-o", "%K") == str(shard), 120, "it is requeued")
    there.ends(1)
    tests = there.tests()
    assert tests["tests/test_b.py::test_after"][0] == "not_run" and "NODE_FAIL" in tests["tests/test_b.py::test_after"][1], tests
    assert tests["tests/test_b.py::test_before"][0] == "passed", tests
    assert len(tests) == 10, tests
    for node in set(killed):
        cluster.revive(node)
    return f"{', '.join(killed)} killed; {tests['tests/test_b.py::test_after'][1]}"


def network_lost(work, cluster):
    """Slurm takes a node for dead whose processes go on: the shard never runs twice at once."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "500M", "-j1", LONG="75")
    there.says("running", 60)
    shard = shard_of(there, "test_b.py")
    node = there.node_of(shard)
    cluster.kill_daemon(node)
    there.says(f"shard {shard}: Slurm requeued it")
    there.ends(1)
    tests = there.tests()
    assert tests["tests/test_b.py::test_after"][0] == "passed" and len(tests) == 10, tests
    assert there.modules()["tests/test_b.py"]["attempts"] == 1
    log = (there.results / f"latest/slurm/shard-{shard}.log").read_text()
    assert "is complete" in log, log
    cluster.revive(node)
    return "the second start found the shard complete"


def over_time(work, cluster):
    """A shard over its time limit: TIMEOUT, and the tests before it count."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-time", "1m", "--slurm-mem", "500M", LONG="300").ends(1)
    return reason_of(there, "tests/test_b.py", "test_long", "TIMEOUT")


def over_memory(work, cluster):
    """A shard over its memory: OUT_OF_MEMORY; the kernel kills the test, and the rest runs."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "300M", LARGE="800000000").ends(1)
    said = there.says(r"shard \d: (OUT_OF_MEMORY on n\d \(Slurm job \d+_\d\)).*")[0]
    tests = there.tests()
    assert tests["tests/test_c.py::test_large"][0] == "crashed", tests
    assert tests["tests/test_c.py::test_after"][0] == "passed", "after the test that was killed the module goes on"
    assert len(tests) == 10
    return said


def cancelled_outside(work, cluster):
    """scancel of one element: CANCELLED, the others are whole."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "500M", LONG="300")
    there.says("running", 60)
    shard = shard_of(there, "test_b.py")
    wait_for(lambda: list(there.results.rglob(f"*-{shard}/modules/**/*.events.jsonl")), 30, "it runs tests")
    time.sleep(2)
    words("scancel", f"{there.job}_{shard}")
    there.ends(1)
    return reason_of(there, "tests/test_b.py", "test_long", "CANCELLED")


def full_partition(work, cluster):
    """No node is free, then only one shard may run at once: it waits, says why, and all run."""
    words("sbatch", "--parsable", f"--array=1-{NODES}", "--mem=2000", "-o", "/dev/null", "--wrap", "sleep 12")
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, COMPAT_SLURM_IN_FLIGHT="1", COMPAT_SLURM_MEM="500M")
    there.says(r"4 waiting \((Resources|Priority)\)", 60)
    there.says(r"1 running, \d waiting \(JobArrayTaskLimit\)", 120)
    there.ends(1)
    assert "2 running" not in there.text
    tests = there.tests()
    assert len(tests) == 10 and not [test for test, (state, _) in tests.items() if state == "not_run"], tests
    return "waited for resources, then one at a time"


def preempted(work, cluster):
    """A job of higher priority takes the nodes: PREEMPTED where the partition cancels."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-partition", "brief", LONG="300")
    there.says("running", 60)
    shard = shard_of(there, "test_b.py")
    node = there.node_of(shard)
    wait_for(lambda: list(there.results.rglob(f"*-{shard}/modules/**/*.events.jsonl")), 30, "it runs tests")
    words("sbatch", "--parsable", "-p", "urgent", "-w", node, "--mem=2000", "-o", "/dev/null", "--wrap", "sleep 5")
    there.ends(1)
    return reason_of(there, "tests/test_b.py", "test_long", "PREEMPTED")


def requeued(work, cluster):
    """The same in a partition that requeues: twice preempted, still whole."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-partition", "spare", LONG="25")
    for _ in range(2):
        there.says("running", 60)
        shard = shard_of(there, "test_b.py")
        node = there.node_of(shard)
        wait_for(lambda: list(there.results.rglob(f"*-{shard}/modules/**/*.events.jsonl")), 30, "it runs tests")
        time.sleep(3)
        words("sbatch", "--parsable", "-p", "urgent", "-w", node, "--mem=2000", "-o", "/dev/null", "--wrap", "sleep 5")
        wait_for(lambda: words("squeue", "-h", "-r", "-j", there.job, "-t", "PD", "-o", "%K") == str(shard), 60, "it is requeued")
    there.ends(1)
    tests = there.tests()
    assert tests["tests/test_b.py::test_long"][0] == "passed" and len(tests) == 10, tests
    return "preempted twice, all tests ran"


def interrupted(work, cluster):
    """Ctrl-C on a terminal asks once; the second one cancels, and the run is stored."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "500M", LONG="300", terminal=True)
    there.says(r"1 running.*\d of 4 modules", 60)
    there.process.send_signal(signal.SIGINT)
    there.says(r"Ctrl-C again within 10 s cancels")
    time.sleep(3)
    assert words("squeue", "-h", "-j", there.job), "the first one cancels nothing"
    there.process.send_signal(signal.SIGINT)
    there.ends(130)
    assert not words("squeue", "-h", "-j", there.job)
    return reason_of(there, "tests/test_b.py", "test_long", "CANCELLED")


def terminated(work, cluster):
    """SIGTERM, as cron or systemd send it, cancels at once."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "500M", LONG="300")
    there.says(r"1 running.*\d of 4 modules", 60)
    there.process.send_signal(signal.SIGTERM)
    there.ends(130)
    assert not words("squeue", "-h", "-j", there.job)
    return reason_of(there, "tests/test_b.py", "test_long", "CANCELLED")


def forgotten(work, cluster):
    """The runner sleeps until Slurm has forgotten the job: sacct knows, else the reason says so."""
    there = slurm(work, "there", project(work), *PLAIN, "--slurm-shards", 4, "--slurm-mem", "500M", LONG="300")
    there.says("running", 60)
    shard = shard_of(there, "test_b.py")
    wait_for(lambda: list(there.results.rglob(f"*-{shard}/modules/**/*.events.jsonl")), 30, "it runs tests")
    time.sleep(2)
    there.process.send_signal(signal.SIGSTOP)
    words("scancel", f"{there.job}_{shard}")
    wait_for(lambda: not words("squeue", "-h", "-t", "all", "-o", "%i"), 150, "Slurm forgets")
    there.process.send_signal(signal.SIGCONT)
    there.ends(1)
    return reason_of(there, "tests/test_b.py", "test_long", "CANCELLED" if cluster.accounting else "Slurm forgot it")


def bad_settings(work, cluster):
    """A refusal of sbatch is reported before anything runs."""
    suite = project(work)
    for option, value, expected in (("--slurm-partition", "nosuch", "invalid partition"), ("--slurm-gres", "gpu:9", "Invalid generic resource|gres"),):
        there = slurm(work, "bad" + option, suite, *PLAIN, "--slurm-shards", 2, option, value)
        there.ends(2)
        assert re.search(expected, there.text, re.I), there.text
        assert not list((there.results / "slurm").iterdir())
    broken = work / "setup.sh"
    broken.write_text("return 3\n")
    there = slurm(work, "setup", suite, *PLAIN, "--slurm-shards", 2, COMPAT_SLURM_SETUP=str(broken), COMPAT_SLURM_MEM="500M").ends(1)
    reasons = {module["path"]: module for module in json.loads((there.results / "latest/report.json").read_text())["modules"]}
    assert "the setup script failed" in json.dumps(reasons), reasons
    return "sbatch's words; a setup script that fails"


def shard_of(run, module):
    plan = json.loads(next(run.results.glob("slurm/*/plan.json")).read_text())
    return next(i for i, shard in enumerate(plan["shards"], 1) if [m for m in shard["modules"] if m["path"].endswith(module)])


def reason_of(run, module, test, reason):
    """All ten tests are there; those from `test` on did not run to their end, with the reason."""
    tests = run.tests()
    assert len([t for t in tests if t.startswith("tests/")]) == 10, tests
    cut = [test, "test_after"]
    for name in cut:
        state, why = tests[f"{module}::{name}"]
        assert state in ("not_run", "crashed") and reason in why, (name, state, why, run.text)
    assert tests[f"{module}::test_before"][0] == "passed", tests
    others = {t: state for t, (state, _) in tests.items() if not t.startswith(module)}
    assert "not_run" not in others.values(), tests
    return tests[f"{module}::test_after"][1]


SCENARIOS = [equal, node_killed, node_killed_twice, network_lost, over_time, over_memory, cancelled_outside, full_partition, preempted, requeued, interrupted,
             terminated, forgotten, bad_settings]
# Also with sacct: what it alone can tell.
ACCOUNTED = [over_memory, node_killed, forgotten]


def cluster_in(folder, accounting):
    os.chmod(folder, 0o755)  # the database has a user of its own
    return Cluster(pathlib.Path(folder) / "cluster", accounting)


def main(names):
    known = {scenario.__name__: scenario for scenario in SCENARIOS}
    chosen = [known[name] for name in names] or SCENARIOS
    failed = 0
    for accounting, scenarios in ((False, chosen), (True, [s for s in chosen if s in ACCOUNTED])):
        if not scenarios:
            continue
        with tempfile.TemporaryDirectory(prefix="runner-slurm-") as folder, cluster_in(folder, accounting) as cluster:
            for scenario in scenarios:
                work = pathlib.Path(folder) / scenario.__name__
                work.mkdir()
                begin = time.monotonic()
                try:
                    result, word = scenario(work, cluster), "ok    "
                except Exception as error:  # the next scenario may still tell something
                    result, word = f"{type(error).__name__}: {error}", "FAILED"
                    failed += 1
                    for record in sorted(work.rglob("record.jsonl")):
                        print(record.relative_to(work), record.read_text().splitlines()[0])
                    for log in sorted(work.rglob("*.log")) + sorted(work.rglob("*.out")):
                        if "slurm" in str(log.parent) or log.suffix == ".out":
                            print(f"--- {log.relative_to(work)}\n{log.read_text()}")
                    subprocess.run(["scancel", "--user=root"])
                print(f"{word} {scenario.__name__}{' (accounting)' if accounting else ''}, {time.monotonic() - begin:.0f} s: {result}", flush=True)
                shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
