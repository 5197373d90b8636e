"""Tests warm start with modules that start process groups, on simulated CUDA: the results are those of
fresh processes, and no process stays."""
import json
import os
import pathlib

import pytest

GROUP = """
import os, tempfile
import torch
import torch.distributed as dist

def join(backend, rank=0, world=1, file=None):
    dist.init_process_group(backend, init_method="file://" + (file or tempfile.mktemp()), rank=rank, world_size=world)

def summed(value):
    x = torch.full((2,), float(value), device="cuda")
    dist.all_reduce(x)
    return x.tolist()
"""

AT_IMPORT = """
import torch
import group

group.join("nccl")

def test_at_import():
    assert group.summed(3) == [3.0, 3.0]

def test_fails():
    assert group.summed(3) == [4.0, 4.0]
"""

IN_A_TEST = """
import torch
import group

def test_in_a_test():
    group.join("cpu:gloo,cuda:nccl")
    assert group.summed(2) == [2.0, 2.0]

def test_the_same_group():
    assert group.summed(1) == [1.0, 1.0]
"""

SPAWNS = """
import tempfile
import torch
import group

def rank_of(rank, backends, wrong):
    torch.cuda.set_device(rank)
    for backend, file in backends.items():
        group.join(backend, rank, 2, file)
        assert group.summed(rank + 1) == [3.0 + wrong] * 2
        group.dist.destroy_process_group()

def files(*backends):
    return {backend: tempfile.mktemp() for backend in backends}

def test_two_ranks():
    torch.multiprocessing.spawn(rank_of, (files("nccl", "gloo"), 0), nprocs=2)

def test_a_rank_fails():
    torch.multiprocessing.start_processes(rank_of, (files("nccl"), 1), nprocs=2, start_method="fork")
"""

HANGS = """
import tempfile
import torch
import group

def waits_for_nobody(rank, file):
    group.join("gloo", rank, 2, file)
    if rank == 0:
        group.summed(1)
    import time; time.sleep(600)

def test_hangs():
    torch.multiprocessing.spawn(waits_for_nobody, (tempfile.mktemp(),), nprocs=2)
"""


@pytest.fixture
def suite(tmp_path):
    """suite(preload, **modules): a suite's folder."""

    def make(preload, **modules):
        folder = tmp_path / "suite"
        (folder / "tests").mkdir(parents=True)
        definition = {"format": 1, "name": "groups", "framework": "pytest", "layout": {"pythonpath": ["."]},
                      "preload": preload}
        (folder / "suite.json").write_text(json.dumps(definition))
        (folder / "group.py").write_text(GROUP)
        for name, text in modules.items():
            (folder / "tests" / f"test_{name}.py").write_text(text)
        return folder

    return make


def states(ran):
    return {case["id"]: case["state"] for module in ran.report["modules"] for case in module["cases"]}


def left(folder):
    """Live processes whose working directory or command line is of the suite."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = os.readlink(process / "cwd")
        except OSError:  # the process ended
            continue
        if str(folder) in words or where.startswith(str(folder)):
            found.append(words)
    return found


def test_forked_modules_have_groups_as_fresh_ones_have(runner, python, suite):
    folder = suite(["torch"], at_import=AT_IMPORT, in_a_test=IN_A_TEST, spawns=SPAWNS)
    found = {}
    for warm in ("on", "off"):
        ran = runner(folder, "--python", python, "--simulate", "cuda", "--warm", warm)
        assert ran.code == 1 and ran.report["accounting"]["closed"], ran.out + ran.err
        assert "warm start disabled" not in ran.out
        found[warm] = states(ran)
        assert left(folder) == []
    assert found["on"] == found["off"]
    assert sorted(found["on"].values()) == ["failed"] * 2 + ["passed"] * 4, found["on"]


def test_a_module_that_waits_for_a_rank_leaves_no_process(runner, python, suite):
    folder = suite(["torch"], hangs=HANGS, in_a_test=IN_A_TEST)
    ran = runner(folder, "--python", python, "--simulate", "cuda", "--test-timeout", "15s")
    assert sorted(states(ran).values()) == ["passed", "passed", "timed_out"], ran.out + ran.err
    assert left(folder) == []


def test_a_group_among_the_imports_disables_warm_start(runner, python, suite):
    """The suite runs as without warm start, and its verdicts are the same."""
    folder = suite(["started"], at_import=IN_A_TEST.replace('    group.join("cpu:gloo,cuda:nccl")\n', "    import started\n"), other=IN_A_TEST)
    (folder / "started.py").write_text('import group\n\ngroup.join("nccl")\n')
    found = {}
    for warm in ("on", "off"):
        ran = runner(folder, "--python", python, "--simulate", "cuda", "--warm", warm)
        note = "note: warm start disabled: the imports initialise a process group, which a forked process cannot use"
        assert (note in ran.out) == (warm == "on"), ran.out + ran.err
        assert ran.code == 0 and left(folder) == []
        found[warm] = states(ran)
    assert found["on"] == found["off"] and set(found["on"].values()) == {"passed"}
