"""Tests the mark `generated` and its causes with a real torch: tests that say themselves what they used of
a hub, on simulated MPS and plain CPU, in every report, in a comparison and in `porting`."""
import json
import pathlib
import re
import subprocess

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A test writes what the hub's hook would, beside the record of the shim: without one, beside the events.
TESTS = """
import json
import os
import pathlib
import unittest
import torch

DEVICE = "mps" if torch.backends.mps.is_available() else "cpu"

def beside():
    record = os.environ.get("TORCHDEVICE_RECORD")
    if record:
        return pathlib.Path(record.replace(".devices.jsonl", ".hub.jsonl"))
    words = pathlib.Path("/proc/self/cmdline").read_bytes().decode().split("\\0")
    return pathlib.Path(words[words.index("--events") + 1].replace(".events.jsonl", ".hub.jsonl"))

def write(**line):
    with beside().open("a") as file:
        file.write(json.dumps(line) + "\\n")

class Hub(unittest.TestCase):
    def use(self, name, generated=True):
        key = "address" if "://" in name else "repository"
        write(test="tests/test_hub.py::Hub::" + self._testMethodName, generated=generated, **{key: name})

    def test_passes(self):
        for n in range(25):
            self.use(f"models/org/m{n:02}")
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def test_numbers(self):
        self.use("models/org/tiny")
        torch.testing.assert_close(torch.ones(2, device=DEVICE).cpu(), torch.zeros(2))

    def test_values(self):
        self.use("models/org/tiny")
        self.use("https://images.example.org/cats.png")
        self.assertEqual("a the of" + " " * len(DEVICE), "My name is John")

    def test_data(self):
        self.use("datasets/org/rows")
        self.assertEqual(int(torch.ones(2, device=DEVICE).sum().item()), 7)

    def test_on_the_device(self):
        self.use("models/org/tiny")
        self.assertEqual(1.0 if DEVICE == "cpu" else 2.0, 1.0)

    def test_double(self):
        self.use("models/org/tiny")
        torch.ones(2, dtype=torch.float64, device=DEVICE)

    def test_missing_word(self):
        self.use("models/org/tiny")
        {"a": 1}["[MASK]"]

    def test_recorded(self):
        self.use("models/org/real", generated=False)
        self.assertEqual(1, 2)
"""
TINY = "needs the real weights of org/tiny"
# Test: state, marks on MPS, cause, rule and need.
EXPECTED = {
    "test_passes": ("passed", ["device", "generated"], None, None, None),
    "test_numbers": ("failed", ["device", "generated"], "hub", "generated-numbers", TINY),
    "test_values": ("failed", ["untouched", "generated"], "hub", "generated-values", TINY + " and the real data of https://images.example.org/cats.png"),
    "test_data": ("failed", ["device", "generated"], "hub", "generated-values", "needs the real data of org/rows"),
    "test_on_the_device": ("failed", ["untouched", "generated"], "hub", "generated-values", TINY),
    "test_double": ("errored", ["generated"], "dtype_limit", "mps-no-float64", None),
    "test_missing_word": ("errored", ["generated"], "suite_error", "python-error", None),
    "test_recorded": ("failed", ["untouched"], "suite_assertion", "assertion", None),
}
MAC = ("--simulate", "mps", "--fallback", "off", "--no-warm")
SCHEMA = json.loads((ROOT / "reports/schemas/report.schema.json").read_text())


@pytest.fixture
def suite(write_suite):
    folder = write_suite("hub", {"tests/test_hub.py": TESTS})
    git = ["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "tests"]):
        subprocess.run([*git, *words], check=True)
    return folder


def cases(report):
    return {t["id"].rsplit("::", 1)[1]: t for module in report["modules"] for t in module["cases"]}


def shown(report):
    jsonschema.validate(report, SCHEMA)
    found = {}
    for name, test in cases(report).items():
        failure = test["failure"] or {"cause": None, "rule": None, "needs": None}
        found[name] = (test["state"], test["marks"], failure["cause"], failure["rule"], failure["needs"])
    return found


def reread(runner, ran, run):
    assert runner("report", run).code == 0
    return json.loads((ran.results / "runs" / run / "report.json").read_text())


def test_every_report_shows_what_was_generated(runner, python, suite, tmp_path):
    junit, ctrf = tmp_path / "junit.xml", tmp_path / "ctrf.json"
    ran = runner(suite, "--python", python, *MAC, "--diagnose", "--junit", junit, "--ctrf", ctrf)
    assert ran.code == 1, ran.out + ran.err
    report = ran.report
    assert shown(report) == EXPECTED
    generated = sum("generated" in marks for _, marks, *_ in EXPECTED.values())
    assert report["totals"]["generated"] == generated
    spots = {spot["name"]: spot["tests"] for spot in report["blind_spots"]}
    assert (spots["generated"], spots["real_weights"]) == (generated, 4) and "network" not in spots
    used = cases(report)["test_passes"]["generated"]
    assert used == {"count": 25, "names": [f"models/org/m{n:02}" for n in range(20)]}
    assert "generated" not in cases(report)["test_recorded"]

    # Nothing is tried for want of real weights; the gap log knows only what the device refused.
    tried = {name: test["diagnosis"]["words"] for name, test in cases(report).items() if test["diagnosis"]}
    assert tried["test_numbers"] == tried["test_values"] == "not tried: needs the real weights or data"
    assert tried["test_double"] == "passes on CPU"
    assert [gap["symbol"] for gap in report["gaps"]] == ["float64"]

    run = report["run"]["id"]
    assert f"{generated} used generated models or data" in ran.out and "4 needed real weights or data" in ran.out
    one = runner("show", run, "tests/test_hub.py::Hub::test_numbers").out
    assert f"    cause: hub: {TINY}\n" in one and "    generated: org/tiny\n" in one
    assert "    generated: org/m00, org/m01, " in runner("show", run, "tests/test_hub.py::Hub::test_passes").out
    page = (ran.folder / "report.md").read_text()
    assert f"`hub`: `{TINY}`" in page and f"| generated | {generated} |" in page
    assert "used generated models or data: a pass says" in page
    assert "marks=device,generated" in junit.read_text()
    tags = {test["name"].rsplit("::", 1)[-1]: test.get("tags", []) for test in json.loads(ctrf.read_text())["results"]["tests"]}
    assert any("generated" in words for words in tags.values())

    # Its folder has all of it.
    for name in ("runner.db", "runner.db-wal", "runner.db-shm"):
        (ran.results / name).unlink(missing_ok=True)
    rebuilt = runner("reparse", "--all")
    assert rebuilt.code == 0, rebuilt.out + rebuilt.err
    assert shown(reread(runner, ran, run)) == EXPECTED
    again = runner("reparse", run)
    assert again.code == 0 and ": 0 differ" in again.out, again.out + again.err

    failing = runner(suite, "tests/test_hub.py::Hub::test_passes", "--python", python, *MAC, "--fail-on", "generated")
    assert failing.code == 1 and failing.report["totals"]["passed"] == 1


def test_plain_cpu_proves_whose_fault_it_is(runner, python, suite):
    ran = runner(suite, "--python", python, *MAC)
    mac = ran.report["run"]["id"]
    cpu = runner(suite, "--python", python, "--shim", "off", "--no-warm")
    assert cases(cpu.report)["test_passes"]["marks"] == ["generated"], "without a shim, too"
    why = {name: test["attribution"] and (test["attribution"]["cause"], test["attribution"]["rule"])
           for name, test in cases(reread(runner, ran, mac)).items()}
    assert why == {
        "test_passes": None,
        "test_numbers": ("hub", "needs-real-weights"),
        "test_values": ("hub", "needs-real-weights"),
        "test_data": ("hub", "needs-real-weights"),
        "test_on_the_device": ("suite_assertion", "device-only"),
        "test_double": ("dtype_limit", "device-only"),
        "test_missing_word": ("suite_error", "alike-with-generated"),
        "test_recorded": ("upstream", "upstream"),
    }
    compared = runner("compare", cpu.report["run"]["id"], mac, "--format", "json")
    document = json.loads(compared.out)
    assert "used generated models or data" in json.dumps(document)
    bad = {test["id"].rsplit("::", 1)[1]: test["class"] for one in document["comparisons"] for test in one["tests"]}
    assert bad["test_on_the_device"] == "regressed", "plain CPU passes with the same model"


def test_shards_keep_it(runner, python, write_suite, tmp_path):
    suite = write_suite("hub", {"tests/test_hub.py": TESTS, "tests/test_other.py": TESTS.replace("test_hub.py", "test_other.py")})
    for shard in ("1/2", "2/2"):
        ran = runner(suite, "--python", python, "--shim", "off", "--no-warm", "--shard", shard, "--results", tmp_path / f"r{shard[0]}")
        assert ran.code in (0, 1), ran.out + ran.err
    merged = runner("merge", "r1", "r2", "--results", tmp_path / "results")
    assert merged.code == 1, merged.out + merged.err
    assert merged.report["totals"]["generated"] == 14
    assert cases(merged.report)["test_numbers"]["failure"]["needs"] == TINY


def test_porting_blames_the_device_for_what_plain_cpu_passes(runner, python, suite):
    # A second attempt of what breaks the same would take half of the time, and shows nothing here.
    ran = runner("porting", suite, "--python", python, "--no-warm", "--retries", "0", "-j2")
    assert ran.code in (0, 1), ran.out + ran.err
    html = pathlib.Path(re.search(r"^page: (.+)$", ran.out, re.M)[1])
    written = json.loads(html.with_name("porting.json").read_text())
    jsonschema.validate(written, json.loads((ROOT / "reports/schemas/porting.schema.json").read_text()))
    assert "7 tests used generated models or data: a pass says" in html.with_name("porting.md").read_text()
    assert "7 tests used generated models or data" in " ".join(ran.out.split())
    by_name = {test["id"].rsplit("::", 1)[1]: test for test in written["tests"]}
    assert set(by_name) == {"test_on_the_device", "test_double"}, "the others break alike"
    device = by_name["test_on_the_device"]
    assert device["generated"] and {d["attribution"]["rule"] for d in device["differences"]} == {"device-only"}
    cause = written["causes"][device["differences"][0]["cause"]]
    assert cause["group"] == "loss" and cause["judgement"] == "unexplained" and cause["cause"] == "suite_assertion"
    upstream = {test["id"].rsplit("::", 1)[1] for test in written["upstream"]}
    assert upstream == {"test_recorded"}, "no project is at fault for missing weights, or for what was generated"
