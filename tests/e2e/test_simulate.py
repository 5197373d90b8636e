"""Tests `--simulate` with a real torch: a suite and a program on a simulated MPS device, the report
and the gap log. tests/shim/test_simulate_*.py test the device itself."""
import json
import os
import re
import sys

import pytest

TESTS = """
import unittest
import torch

DEVICE = "mps" if torch.backends.mps.is_available() else "cpu"

class OnTheDevice(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def test_eigenvalues(self):
        torch.linalg.eig(torch.eye(3, device=DEVICE))

    def test_double(self):
        torch.ones(2, dtype=torch.float64, device=DEVICE)

    def test_host(self):
        self.assertEqual(torch.ones(3).sum().item(), 3)
"""


@pytest.fixture
def suite(write_suite):
    return write_suite("mac", {"tests/test_device.py": TESTS})


def run(runner, suite, python, *words):
    ran = runner(suite, "--python", python, *words)
    tests = {t["id"].rsplit("::", 1)[1]: t for module in ran.report["modules"] for t in module["cases"]}
    return ran, {name: test["state"] for name, test in tests.items()}, tests


def test_a_suite_runs_on_a_simulated_mac(runner, python, suite):
    plain, states, _ = run(runner, suite, python)
    assert plain.code == 0 and set(states.values()) == {"passed"}

    ran, states, tests = run(runner, suite, python, "--simulate", "mps", "--fallback", "off")
    assert ran.code == 1, ran.out + ran.err
    assert "device mps (simulated)" in ran.out
    assert states == {"test_sum": "passed", "test_eigenvalues": "errored", "test_double": "errored", "test_host": "passed"}
    assert "devices: 1 test used an accelerator (mps, simulated)" in ran.out
    assert (ran.report["run"]["simulated"], "mps (simulated)" in (ran.folder / "report.md").read_text()) == ("mps", True)
    assert tests["test_eigenvalues"]["failure"]["cause"] == "op_missing"
    gaps = json.loads(runner("gaps", "list", "--json", "--status", "all").out)["gaps"]
    (missing,) = [gap for gap in gaps if gap["symbol"].startswith("aten::linalg_eig")]
    assert (missing["device"], missing["simulated"], missing["tests"]) == ("mps", True, 1)

    # With fallback the operator runs on the CPU, and the report names the tests that need it.
    ran, states, tests = run(runner, suite, python, "--simulate", "mps")
    assert states == {"test_sum": "passed", "test_eigenvalues": "passed", "test_double": "errored", "test_host": "passed"}
    assert "fallback" in tests["test_eigenvalues"]["marks"]


FOR_CUDA = """
import unittest
import torch

@unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")
class OnCuda(unittest.TestCase):
    def test_asserts_the_device(self):
        self.assertEqual(str(torch.ones(3).cuda().device), "cuda:0")

    def test_double(self):
        torch.ones(2, dtype=torch.float64, device="cuda")
"""


def test_cuda_code_runs_on_a_simulated_mac(runner, python, suite):
    (suite / "tests/test_device.py").write_text(FOR_CUDA)
    redirected = ("--simulate", "mps"), {"test_asserts_the_device": "passed", "test_double": "errored"}, "missing", True
    unmasked = ("--simulate", "mps", "--masquerade", "off"), {"test_asserts_the_device": "failed", "test_double": "errored"}, "missing", False
    alone = ("--simulate", "mps", "--policy", "none"), dict.fromkeys(redirected[1], "skipped"), "none", False
    on_cuda = ("--simulate", "cuda"), dict.fromkeys(redirected[1], "passed"), "none", False
    for words, expected, policy, masquerade in (redirected, unmasked, alone, on_cuda):
        ran, states, tests = run(runner, suite, python, *words)
        assert states == expected, words
        assert (ran.report["run"]["policy"], ran.report["run"]["masquerade"]) == (policy, masquerade)
        assert {"missing": "shim on (redirects missing devices)", "none": "shim on (redirects nothing)"}[policy] in ran.out
        if words == redirected[0]:
            assert {"redirected", "device"} <= set(tests["test_asserts_the_device"]["marks"])


@pytest.mark.parametrize("words, asked, device", [
    ([], "cuda", "cuda:0"), (["--masquerade", "off"], "cuda", "mps:0"), (["--policy", "none"], "mps", "mps:0")])
def test_a_program_runs_on_a_simulated_mac(runner, python, tmp_path, words, asked, device):
    (tmp_path / "program.py").write_text(f"import torch\nprint(torch.eye(2, device='{asked}').sum())\n")
    ran = runner("exec", "--simulate", "mps", *words, "--", python, "program.py")
    assert ran.code == 0 and f"tensor(2., device='{device}')" in ran.out
    assert "mps (simulated)" in ran.err


def test_a_program_keeps_going_and_all_refusals_are_listed(runner, python, tmp_path):
    (tmp_path / "program.py").write_text(
        "import torch\nx = torch.eye(2, device='mps')\nx.to(torch.float64)\nx + torch.ones(2)\nprint('done')\n")
    ran = runner("exec", "--simulate", "mps", "--keep-going", "--", python, "program.py")
    assert ran.code == 0 and "done" in ran.out
    assert "2 calls refused, and computed on the CPU (--keep-going) at 2 places" in ran.err
    assert re.search(r"1  program\.py:3  TypeError: Cannot convert a MPS Tensor to float64", ran.err)
    assert re.search(r"1  program\.py:4  RuntimeError: Expected all tensors to be on the same device", ran.err)
    ran = runner("exec", "--keep-going", "--", python, "program.py")
    assert ran.code == 2 and "add --simulate mps or --simulate cuda" in ran.err


STREAMS = """
import unittest
import torch

class Streams(unittest.TestCase):
    def add_on_a_side_stream(self, waits):
        x, stream = torch.ones(4, device="cuda"), torch.cuda.Stream()
        if waits:
            stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            x.add_(1)

    def test_waits(self):
        self.add_on_a_side_stream(True)

    def test_does_not_wait(self):
        self.add_on_a_side_stream(False)
"""


def test_races_between_streams_are_found(runner, python, write_suite, tmp_path):
    suite = write_suite("streams", {"tests/test_streams.py": STREAMS})
    ran, states, tests = run(runner, suite, python, "--simulate", "cuda", "--sanitize")
    assert states == {"test_waits": "passed", "test_does_not_wait": "errored"}, ran.out + ran.err
    race = tests["test_does_not_wait"]
    assert (race["marks"], race["failure"]["cause"], tests["test_waits"]["marks"]) == (["race"], "race", ["device"])
    assert [f"test_streams.py:{line}: aten::" in race["failure"]["message"] for line in (11, 7)] == [True, True]
    assert "; 1 test with a race" in ran.out

    (tmp_path / "program.py").write_text(STREAMS + "unittest.main()")
    ran = runner("exec", "--simulate", "cuda", "--sanitize", "--", python, "program.py")
    assert "runner: 1 race between CUDA streams (--sanitize) at 1 place" in ran.err
    assert "program.py:11  aten::add_.Tensor writes self on stream " in ran.err
    for words in ((), ("--simulate", "mps")):
        ran = runner("exec", *words, "--sanitize", "--", python, "program.py")
        assert ran.code == 2 and "only a simulated GPU has this setting" in ran.err and "--simulate cuda" in ran.err


def test_a_run_that_keeps_going_is_a_series_of_its_own_and_no_verdict(runner, python, suite, tmp_path):
    ran = runner("run", suite, "--python", python, "--simulate", "mps", "--keep-going")
    assert "no verdict: " in ran.out and "-keep-going_" in ran.out, ran.out + ran.err
    report = json.loads((ran.folder / "report.json").read_text())
    assert report["run"]["keep_going"] and report["run"]["series"].endswith("-keep-going")
    assert any(r["message"] for r in report["redirections"])
    text = (ran.folder / "report.md").read_text()
    assert "**Not a verdict.**" in text and "## What the device refused" in text
    assert report["gaps"] == [] and "no gaps match" in runner("gaps", "list").out


def test_refusals_and_fallbacks_of_a_program_are_listed(runner, python, tmp_path):
    """Refusals and fallbacks have separate lists."""
    (tmp_path / "program.py").write_text(
        "import torch\nx = torch.eye(2, device='mps')\ntorch.linalg.eig(x)\n"
        "try:\n    torch.linalg.inv(x.to(torch.complex64))\nexcept RuntimeError:\n    pass\n"
        "for _ in range(2):\n    try:\n        x.to(torch.float64)\n    except TypeError:\n        pass\n")
    lines = runner("exec", "--simulate", "mps", "--policy", "none", "--", python, "program.py").err.splitlines()
    assert "runner: 0 requests redirected" in lines
    (fell,) = [i for i, line in enumerate(lines) if "fell back to the CPU" in line]
    assert lines[fell] == "runner: 1 call fell back to the CPU at 1 place"
    assert lines[fell + 1].split() == ["1", "aten::linalg_eig", "program.py:3"]
    refused = lines.index("runner: 3 calls refused at 2 places")
    assert [line.split() for line in lines[refused + 1:refused + 3]] == [
        ["2", "float64", "program.py:10"], ["1", "aten::linalg_inv_ex", "program.py:5"]]


@pytest.mark.parametrize("words, message", [
    (["--simulate", "tpu"], "use one of off|mps|cuda"),
    (["--simulate", "mps", "--shim", "off"], "simulated devices need the shim, and it is off"),
    (["--simulate", "cuda", "--policy", "full"], "--policy: nothing is redirected where CUDA is simulated"),
    (["--policy", "none"], "use --shim off to run without it"),
    (["--macos", "14"], "--macos: only a simulated Mac has this setting: add --simulate mps"),
    (["--simulate", "cuda", "--macos", "14"], "add --simulate mps"),
])
def test_unsupported_simulations_are_refused(runner, python, suite, words, message):
    ran = runner(suite, "--python", python, *words)
    assert ran.code == 2 and message in ran.err


WORKERS = """
import multiprocessing, os, platform, torch
from torch.utils.data import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return os.getpid()

if __name__ == "__main__":
    print(multiprocessing.get_start_method(), platform.machine())
    for batch in DataLoader(Data(), num_workers=1, collate_fn=lambda pids: sum(pids)):
        print("batch", batch != os.getpid())
"""


def test_a_simulated_mac_spawns_workers_and_may_say_that_it_is_one(runner, python, tmp_path):
    (tmp_path / "program.py").write_text(WORKERS)
    words = ("exec", "--simulate", "mps", "--policy", "none")
    spawned = runner(*words, "--", python, "program.py")
    assert spawned.code == 1 and spawned.out.startswith(f"spawn {os.uname().machine}\n"), spawned.out + spawned.err
    assert "Can't pickle" in spawned.err and "runner: 1 question asked which system this is at 1 place" in spawned.err
    assert re.search(r"1  platform\.machine  program\.py:13", spawned.err)
    forked = runner(*words, "--start-method", "fork", "--mac-like", "--", python, "program.py")
    assert forked.code == 0 and forked.out.startswith("fork arm64\nbatch True\n"), forked.out + forked.err
    ran = runner("exec", "--mac-like", "--", python, "program.py")
    assert ran.code == 2 and "--mac-like: only a simulated Mac has this setting" in ran.err


PROCESSES = """
import multiprocessing, unittest

class T(unittest.TestCase):
    def test_workers(self):
        parent, child = multiprocessing.Pipe()
        process = multiprocessing.Process(target=lambda: child.send(1))
        process.start()
        self.assertEqual(parent.recv(), 1)

    def test_pool(self):
        with multiprocessing.Pool(1) as pool:
            self.assertEqual(pool.map(abs, [-1]), [1])
"""


def test_a_suite_says_that_it_forks(runner, python, write_suite):
    """Test modules are no scripts: a spawned process imports them by their names."""
    words = ("--simulate", "mps", "--policy", "none")
    files = {"tests/test_processes.py": PROCESSES}
    _, states, _ = run(runner, write_suite("spawning", files), python, *words)
    assert states == {"test_workers": "errored", "test_pool": "passed"}
    forking = write_suite("forking", files, device={"start_method": "fork"})
    _, states, _ = run(runner, forking, python, *words)
    assert states == {"test_workers": "passed", "test_pool": "passed"}
