"""Tests the gap log of the installed runner with a real torch: scans, runs that open and close gaps,
and `gaps set`. tests/analysis tests how gaps are read from a text or a record."""
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import sys

import pytest

# Code that fails here, and what a fixed library would do instead.
LIBRARY = {
    "broken": "import torch\n\ndef graph():\n    return torch.cuda.CUDAGraph()\n",
    "mended": "import torch\n\ndef graph():\n    return torch.zeros(1, device='cuda')\n",
}

TESTS = """
import unittest
import library, torch

class Graphs(unittest.TestCase):
    def test_one(self):
        library.graph()

    def test_two(self):
        torch.cuda.set_per_process_memory_fraction(0.5)
        library.graph()

    def test_dtype(self):
        raise RuntimeError('"addmm_impl_cpu_" not implemented for \\'Half\\'')

    def test_fine(self):
        torch.zeros(1, device="cuda")
"""


@pytest.fixture
def suite(write_suite):
    return write_suite("gapped", {"library.py": LIBRARY["broken"], "tests/test_graphs.py": TESTS})


def listed(runner, *words):
    out = runner("gaps", "list", "--json", "--status", "all", *words)
    assert out.code == 0, out.err
    return {gap["symbol"]: gap for gap in json.loads(out.out)["gaps"]}


def test_a_run_opens_gaps_and_a_later_run_closes_them(runner, python, suite):
    ran = runner(suite, "--python", python)
    assert ran.code == 1, ran.out + ran.err
    gaps = listed(runner)
    graph = gaps["torch.cuda.CUDAGraph"]
    assert (graph["kind"], graph["device"], graph["simulated"], graph["status"]) == ("missing_symbol", "cpu", False, "open")
    assert (graph["tests"], graph["unblocked_alone"], graph["hits"]) == (2, 2, 2)
    assert graph["sites"][0]["file"] == "library.py" and graph["sites"][0]["line"] == 4
    link = pathlib.Path(ran.folder / "source/library.py")
    assert link.exists() and graph["sites"][0]["url"].endswith("library.py#L4")
    assert gaps["addmm_impl_cpu_"]["kind"] == "dtype_unsupported"
    with contextlib.closing(sqlite3.connect(ran.results / "runner.db")) as db, db:
        db.executescript("delete from gap_hit; delete from gap")
    assert runner("reparse", "latest", "--apply").code == 0 and listed(runner) == gaps, "adds what the log lacks"
    stub = gaps["torch.cuda.set_per_process_memory_fraction"]
    assert (stub["kind"], stub["tests"], stub["hits"]) == ("stubbed", 0, 1)
    # The run's own reports say the same.
    assert {g["symbol"]: g["tests"] for g in ran.report["gaps"]} == {s: g["tests"] for s, g in gaps.items()}
    assert "torch.cuda.CUDAGraph" in (ran.folder / "report.md").read_text()

    # A status that a user set stays. Other gaps close when fixed and reopen when they recur.
    said = runner("gaps", "set", "addmm_impl_cpu_", "status=upstream", "issue=https://example.org/1")
    assert said.code == 0, said.err
    (suite / "library.py").write_text(LIBRARY["mended"])
    assert runner(suite, "--python", python).code == 1
    gaps = listed(runner)
    assert gaps["torch.cuda.CUDAGraph"]["status"] == "fixed" and gaps["torch.cuda.CUDAGraph"]["closed_by"]
    assert (gaps["addmm_impl_cpu_"]["status"], gaps["addmm_impl_cpu_"]["issue"]) == ("upstream", "https://example.org/1")
    (suite / "library.py").write_text(LIBRARY["broken"])
    assert runner(suite, "--python", python).code == 1
    graph = listed(runner)["torch.cuda.CUDAGraph"]
    assert (graph["status"], graph["closed_by"], graph["tests"]) == ("open", None, 2)


def test_a_gap_closes_when_the_last_blocked_test_passes(runner, python, suite):
    """A run of some tests does not change what other tests showed."""
    assert runner(suite, "--python", python).code == 1
    (suite / "library.py").write_text(LIBRARY["mended"])
    cases = [f"tests/test_graphs.py::Graphs::test_{name}" for name in ("fine", "one", "two")]
    for case, tests, status in zip(cases, (2, 1, 0), ("open", "open", "fixed")):
        ran = runner(suite, case, "--python", python)
        assert ran.code == 0, ran.out + ran.err
        gaps = listed(runner)
        assert (gaps["torch.cuda.CUDAGraph"]["tests"], gaps["torch.cuda.CUDAGraph"]["status"]) == (tests, status)
        assert gaps["addmm_impl_cpu_"]["tests"] == 1
    assert gaps["torch.cuda.CUDAGraph"]["closed_by"] == ran.folder.name


def test_gaps_of_different_devices_are_independent(runner, python, suite):
    """The same symbol is missing on the host and on a simulated device: two gaps."""
    for words in ([], ["--simulate", "mps"]):
        assert runner(suite, "--python", python, *words).code == 1
    gaps = json.loads(runner("gaps", "list", "--json").out)["gaps"]
    graphs = {(g["device"], g["simulated"]): (g["tests"], g["unblocked_alone"]) for g in gaps if g["symbol"] == "torch.cuda.CUDAGraph"}
    assert graphs == {("cpu", False): (2, 2), ("mps", True): (2, 2)}


def test_a_failing_gap_log_does_not_fail_the_run(runner, python, suite):
    first = runner(suite, "--python", python)
    folder = first.folder
    with contextlib.closing(sqlite3.connect(first.results / "runner.db")) as database:
        database.execute("DROP TABLE gap_hit")
        database.commit()
    ran = runner(suite, "--python", python)
    assert ran.code == 1, ran.out + ran.err
    assert "note: the gap log: " in ran.err and "gap_hit" in ran.err
    # `latest` is the new run, with its reports and its closing lines.
    assert ran.folder != folder and (ran.folder / "report.md").exists() and ran.report["gaps"] == []
    assert ran.out.splitlines()[-1].endswith(f"{ran.folder.name}/report.html")


def counted_again(python):
    """The same counts by torchgen's parser and by plain Python over the modules."""
    script = """
import importlib, inspect, json, os, sys, yaml
import torch, torchgen, torchgen.model
from torchgen.gen import parse_native_yaml
folder = os.path.join(os.path.dirname(torchgen.__file__), "packaged/ATen/native")
parsed = parse_native_yaml(folder + "/native_functions.yaml", folder + "/tags.yaml")
Key = torchgen.model.DispatchKey
def kernel(key, f):
    # torchgen gives a structured group's kernels to its out variant.
    index = parsed.backend_indices[key].index
    if f.func.name in index:
        return True
    return f.structured_delegate is not None and f.structured_delegate in index
composite = lambda f: (f.has_composite_implicit_autograd_kernel or f.has_composite_explicit_autograd_kernel
                       or f.has_composite_explicit_autograd_non_functional_kernel)
# Variants that torchgen makes itself are not in the file.
written = [str(torchgen.model.FunctionSchema.parse(entry["func"]).name) for entry in yaml.safe_load(open(folder + "/native_functions.yaml"))]
by_name = {str(f.func.name): f for f in parsed.native_functions}
operators = sorted("aten::" + n for n in written if kernel(Key.CUDA, by_name[n]) and not kernel(Key.MPS, by_name[n]) and not composite(by_name[n]))
print("\\n" + json.dumps({"written": len(written), "operators": operators}))
"""
    out = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def test_a_scan_matches_an_independent_count(runner, python):
    scanned = runner("gaps", "scan", "--python", python)
    assert scanned.code == 0, scanned.err
    gaps = listed(runner)
    again = counted_again(python)
    assert f"{again['written']} operators, {len(gaps)} gaps" in scanned.out
    assert sorted(s for s, g in gaps.items() if g["kind"] == "op_unsupported") == again["operators"]

    import torch
    public = {f"torch.cuda.{n}" for n in torch.cuda.__all__}
    missing = {s for s, g in gaps.items() if g["kind"] == "missing_symbol" and s.rpartition(".")[0] == "torch.cuda"}
    assert missing <= public
    same = {f"torch.cuda.{n}" for n in torch.cuda.__all__ if n in torch.mps.__all__ or n in torch.accelerator.__all__}
    assert not missing & same
    for symbol in ("torch.cuda.CUDAGraph", "torch.cuda.memory_snapshot", "torch.cuda.get_arch_list"):
        assert symbol in missing
    assert gaps["torch.cuda.synchronize"]["kind"] == "signature_differs"

    # A second scan changes nothing, and keeps fields that a user set.
    assert runner("gaps", "set", "torch.cuda.CUDAGraph", "severity=blocker").code == 0
    assert runner("gaps", "scan", "--python", python).code == 0
    after = listed(runner)
    assert after.keys() == gaps.keys() and after["torch.cuda.CUDAGraph"]["severity"] == "blocker"
    assert after["torch.cuda.memory_snapshot"] == gaps["torch.cuda.memory_snapshot"]


def test_unknown_fields_and_values_are_errors(runner, python):
    nothing = runner("gaps", "list")
    assert nothing.code == 2 and "no run is stored here" in nothing.err
    assert runner("gaps", "scan", "--python", python).code == 0
    near = runner("gaps", "show", "torch.cuda.CUDAGrap")
    assert near.code == 2 and 'did you mean "torch.cuda.CUDAGraph"' in near.err
    bad = runner("gaps", "set", "torch.cuda.CUDAGraph", "status=done")
    assert bad.code == 2 and "wontfix" in bad.err
    assert runner("gaps", "set", "torch.cuda.CUDAGraph", "status").code == 2
    assert runner("gaps", "scan").code == 2
    no_torch = runner("gaps", "scan", "--python", sys.executable)
    if no_torch.code != 0:
        assert "torch" in no_torch.err
