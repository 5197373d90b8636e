"""Tests `--diagnose` and attribution with a real torch on simulated devices: which steps are tried, what
they show in every report, and that no verdict or exit code comes of them."""
import json
import re
import signal
import subprocess

import pytest

TESTS = """
import unittest
import torch

MODULES = {"mps": torch.backends.mps, "cuda": torch.cuda}
DEVICE = next((name for name, module in MODULES.items() if module.is_available()), "cpu")

class OnTheDevice(unittest.TestCase):
    def test_good(self):
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def test_mixes_devices(self):
        torch.ones(2, device=DEVICE) + torch.ones(2)

    def test_default_float64(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        torch.ones(2, device=DEVICE)

    def test_named_float64(self):
        torch.ones(2, dtype=torch.float64, device=DEVICE)

    def test_operator(self):
        eigenvalues()

    def test_same_operator(self):
        eigenvalues()

    def test_assertion(self):
        self.assertEqual(torch.ones(2, device=DEVICE).sum().item(), 3)

    def test_dtypes(self):
        torch.ones(2, 2, device=DEVICE) @ torch.ones(2, 2, dtype=torch.float16, device=DEVICE)

def eigenvalues():
    torch.linalg.eig(torch.eye(3, device=DEVICE))
"""
TOLD = """
import os
import unittest
import torch

class NamedDevice(unittest.TestCase):
    def test_mixes_devices(self):
        torch.ones(2, device=os.environ["MYDEV"]) + torch.ones(2)
"""
NO_CLASS = "not tried: no recovery is known for this failure"
# Test: what is tried, the diagnosis in words, and the attribution (cause, rule).
ON_MPS = {
    "test_mixes_devices": (["redirect_all"], "passes with every device redirected", ("device_mismatch", "passes-redirected")),
    "test_default_float64": (["float32"], "passes in float32", ("dtype_limit", "passes-in-float32")),
    "test_named_float64": (["float32", "cpu"], "passes on CPU", ("dtype_limit", "device-only")),
    "test_operator": (["fallback"], "passes with fallback on", ("op_missing", "passes-with-fallback")),
    "test_same_operator": ([], "passes with fallback on (as tests/test_device.py::OnTheDevice::test_operator)", ("op_missing", "passes-with-fallback")),
    "test_assertion": ([], NO_CLASS, None),
    "test_dtypes": (["float32", "cpu"], "fails the same everywhere", ("upstream", "upstream")),
}
ON_CUDA = {
    "test_mixes_devices": (["cpu"], "passes on CPU", ("device_mismatch", "device-only")),
    "test_assertion": ([], NO_CLASS, None),
    "test_dtypes": (["float32", "cpu"], "fails the same everywhere", ("upstream", "upstream")),
}
STRICT_MAC = ("--simulate", "mps", "--fallback", "off")


@pytest.fixture
def suite(write_suite):
    folder = write_suite("device", {"tests/test_device.py": TESTS})
    git = ["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "tests"]):
        subprocess.run([*git, *words], check=True)
    return folder


def cases(report):
    return {t["id"].rsplit("::", 1)[1]: t for module in report["modules"] for t in module["cases"]}


def shown(report):
    found = {}
    for name, test in cases(report).items():
        if test["diagnosis"]:
            why = test["attribution"]
            found[name] = ([a["step"] for a in test["diagnosis"]["attempts"]], test["diagnosis"]["words"],
                           why and (why["cause"], why["rule"]))
    return found


def test_failed_tests_run_again_and_nothing_else_changes(runner, python, suite):
    plain = runner(suite, "--python", python, *STRICT_MAC)
    first = plain.report
    ran = runner(suite, "--python", python, *STRICT_MAC, "--diagnose")
    assert ran.code == plain.code == 1, ran.out + ran.err
    report = ran.report
    assert {n: t["state"] for n, t in cases(report).items()} == {n: t["state"] for n, t in cases(first).items()}
    assert report["totals"] == first["totals"] and report["accounting"]["closed"]
    assert report["modules"][0]["attempts"] == first["modules"][0]["attempts"]
    assert shown(report) == ON_MPS
    assert all(test["diagnosis"] is None for test in cases(first).values()), "only where it is asked for"
    assert report["run"]["diagnose"] and not first["run"]["diagnose"]
    assert "diagnosis: 5 tests for 7 failed tests, one after the other" in ran.out, "one for each signature with a ladder"

    # A run on plain CPU of the same revision and torch shows what no diagnostic attempt does.
    runner(suite, "--python", python, "--shim", "off")
    cpu = max((ran.results / "runs").iterdir()).name
    mac = report["run"]["id"]
    written = runner("report", mac)
    assert written.code == 0
    report = json.loads((ran.results / "runs" / mac / "report.json").read_text())
    assert cases(report)["test_assertion"]["attribution"] == {
        "cause": "upstream", "rule": "upstream", "words": "fails the same on plain CPU, without the shim", "run": cpu, "as": None}
    page = (ran.results / "runs" / mac / "report.md").read_text()
    assert "\nAttribution: `upstream`\n" in page and "\nDiagnosis: `passes with fallback on`\n" in page
    one = runner("show", mac, "tests/test_device.py::OnTheDevice::test_named_float64").out
    assert "    diagnosis: passes on CPU\n    attribution: dtype_limit: " in one
    assert "        float32: errored: TypeError: Cannot convert" in one and "        cpu: passed  modules/" in one
    out = runner("show", mac).out
    assert "diagnosis: passes with fallback on\n" in out and "attribution: op_missing: passes with fallback on" in out
    assert f"(run {cpu})" in out and "1 passes with fallback on, 1 passes with fallback on (inferred)" in out
    assert "attribution: 2 dtype_limit, 2 upstream, 1 device_mismatch, 1 op_missing, 1 op_missing (inferred)" in out
    other = "tests/test_device.py::OnTheDevice::test_operator"
    assert cases(report)["test_same_operator"]["attribution"]["as"] == other
    assert cases(report)["test_operator"]["attribution"]["as"] is None
    assert f"then computes (as {other})\n" in out and f": `op_missing` (as `{other}`)\n" in page

    gaps = {gap["symbol"]: gap for gap in json.loads(runner("gaps", "list", "--json").out)["gaps"]}
    assert gaps["aten::linalg_eig"]["diagnoses"] == {"passes with fallback on": 1, "passes with fallback on (inferred)": 1}
    assert gaps["float64"]["diagnoses"] == {"passes in float32": 1, "passes on CPU": 1}
    assert "passes with fallback on (inferred): 1 test" in runner("gaps", "show", "aten::linalg_eig").out

    # Its folder has all of it.
    before = shown(report)
    for name in ("runner.db", "runner.db-wal", "runner.db-shm"):
        (ran.results / name).unlink(missing_ok=True)
    rebuilt = runner("reparse", "--all")
    assert rebuilt.code == 0, rebuilt.out + rebuilt.err
    assert runner("report", mac).code == 0
    assert shown(json.loads((ran.results / "runs" / mac / "report.json").read_text())) == before
    again = runner("reparse", mac, "--apply")
    assert again.code == 0 and f"in {1 + len(sum((steps for steps, _, _ in before.values()), []))} attempts: 0 differ" in again.out, again.out + again.err
    assert runner("show", mac).out == out


def test_simulated_cuda_has_ladders_of_its_own(runner, python, suite):
    ran = runner(suite, "--python", python, "--simulate", "cuda", "--diagnose")
    assert ran.code == 1 and shown(ran.report) == ON_CUDA, ran.out + ran.err
    named = "tests/test_device.py::OnTheDevice::test_mixes_devices"
    assert "attribution: device_mismatch: passes on plain CPU" in runner("show", "latest", named).out


@pytest.mark.parametrize("device", [[], ["--device", "cuda"]])
def test_the_step_on_the_cpu_tells_the_suite_so(runner, python, write_suite, device):
    definition = {"format": 1, "name": "told", "framework": "unittest", "device": {"env": {"MYDEV": "{device}"}}}
    folder = write_suite("told", {"tests/test_told.py": TOLD, "suite.json": json.dumps(definition)})
    ran = runner(folder, "--python", python, "--simulate", "cuda", "--diagnose", *device)
    assert ran.code == 1 and shown(ran.report)["test_mixes_devices"][:2] == (["cpu"], "passes on CPU"), ran.out + ran.err


def test_the_time_for_it_is_bounded_and_a_changed_suite_is_not_compared(runner, python, suite):
    runner(suite, "--python", python, "--shim", "off")
    (suite / "tests/test_device.py").write_text(TESTS + "\n")
    ran = runner(suite, "--python", python, *STRICT_MAC, "--diagnose", "--diagnose-time", "1ms")
    assert ran.code == 1 and "the time for diagnosis is up; not tried: " in ran.out
    found = shown(ran.report)
    assert sum(len(steps) for steps, _, _ in found.values()) == 1
    assert found["test_operator"][1].startswith("not tried: the time for it was up (--diagnose-time)")
    assert found["test_assertion"][2] is None, "that run was of another revision"
    line = next(line for line in ran.out.splitlines() if line.startswith("attribution: "))
    broken = sum(ran.report["totals"][state] for state in ("failed", "errored"))
    assert sum(map(int, re.findall(r"(?:^attribution: |, )(\d+) ", line))) == broken and line.endswith(" without"), line


def test_a_diagnosis_that_was_finished_in_time_leaves_nothing(runner, python, suite):
    one = "tests/test_device.py::OnTheDevice::test_default_float64"
    ran = runner(suite, one, "--python", python, *STRICT_MAC, "--diagnose", "--diagnose-time", "1ms")
    assert "diagnosis: 1 passes in float32" in ran.out and "not tried" not in ran.out, ran.out


def test_maxfail_is_diagnosed_and_resume_numbers_its_attempts_after_that(runner, python, suite):
    ran = runner(suite, "--python", python, *STRICT_MAC, "--diagnose", "--maxfail", "2", "--order", "as-listed")
    assert ran.code == 1 and "stopped by --maxfail 2" in ran.out, ran.out + ran.err
    first = ["test_assertion", "test_default_float64"]
    assert shown(ran.report) == {name: ON_MPS[name] for name in first}
    resumed = runner("resume", "latest")
    assert resumed.code == 1 and shown(resumed.report) == {name: ON_MPS[name] for name in (*first, "test_dtypes", "test_mixes_devices")}
    module = resumed.report["modules"][0]
    diagnosed = [a["attempt"] for t in module["cases"] if t["diagnosis"] for a in t["diagnosis"]["attempts"]]
    assert module["attempts"] == 2 and sorted(diagnosed) == [2, 4, 5, 6], "3 is the attempt at the tests that were left"
    for name in ("runner.db", "runner.db-wal", "runner.db-shm"):
        (ran.results / name).unlink(missing_ok=True)
    assert runner("reparse", "--all").code == 0
    run = resumed.report["run"]["id"]
    assert runner("report", run).code == 0
    assert shown(json.loads((ran.results / "runs" / run / "report.json").read_text())) == shown(resumed.report)


def test_an_error_of_the_diagnosis_is_a_note(runner, python, suite, tmp_path):
    """A folder lies where the runner writes the ids that the first diagnostic attempt gets."""
    block = "import pathlib, os\nfor log in pathlib.Path(os.environ['RESULTS']).glob('runs/*/modules/**/1.log'):\n    (log.parent / '2.diagnostic.only/x').mkdir(parents=True, exist_ok=True)\n"
    (suite / "tests/test_device.py").write_text(block + TESTS)
    ran = runner(suite, "--python", python, *STRICT_MAC, "--diagnose", "--env", f"RESULTS={tmp_path / 'results'}")
    assert ran.code == 1 and "note: the diagnosis ended early: " in ran.out and "2.diagnostic.only" in ran.out, ran.out + ran.err
    assert ran.report["run"]["complete"] and ran.report["accounting"]["closed"]


def test_an_interruption_ends_it_and_resume_goes_on(program, runner, python, suite):
    two = [f"tests/test_device.py::OnTheDevice::test_{name}_float64" for name in ("default", "named")]
    started = subprocess.Popen([program, suite, *two, "--python", python, *STRICT_MAC, "--diagnose"], cwd=suite.parent,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in started.stdout:
        if " in float32: passed" in line:
            break
    started.send_signal(signal.SIGINT)
    rest = started.stdout.read()
    assert started.wait(60) == 130 and "runner resume" in rest, rest
    interrupted = runner("show", "latest")
    assert "not complete" in interrupted.out and "passes in float32" in interrupted.out
    resumed = runner("resume", "latest")
    assert resumed.code == 1 and "test_default_float64 in float32" not in resumed.out, "it is stored"
    assert shown(resumed.report) == {name: ON_MPS[name] for name in ("test_default_float64", "test_named_float64")}
    assert resumed.report["run"]["complete"]


def test_runs_without_a_verdict_are_not_diagnosed(runner, python, suite):
    for words in (["--keep-going", *STRICT_MAC], ["--seeds", "1", *STRICT_MAC]):
        ran = runner(suite, "--python", python, "--diagnose", *words)
        assert "diagnosis:" not in ran.out and not ran.report["run"]["diagnose"], ran.out
