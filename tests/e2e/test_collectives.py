"""Tests collectives of NCCL on simulated CUDA devices: their bytes a step in the summary of `runner
exec` and in a run's reports."""
import json
import re

import pytest

from conftest import ROOT

TRAIN = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(63, 64).cuda())  # 64 * 64 parameters
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
averaged = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.01)  # takes turns with it
for step in range(5):
    model(torch.ones(2, 63, device="cuda")).sum().backward()
    optimizer.step()
    averaged.step()
    dist.all_reduce(torch.ones(1000, device="cuda"))
    dist.barrier()
dist.destroy_process_group()
optimizer.step()  # of no rank
"""
RANKS = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
# The ranks have torch, and what optimizers import, from the process that they are forked from.
SUITE = """
import os, pathlib, runpy, socket, unittest
import torch._dynamo

def train(**variables):
    os.environ.update(variables)
    runpy.run_path(str(pathlib.Path(__file__).with_name("train.py")))
    os._exit(0)

class Training(unittest.TestCase):
    def test_two_ranks(self):
        with socket.create_server(("localhost", 0)) as free:
            port = str(free.getsockname()[1])
        ranks = []
        for rank in ("0", "1"):
            ranks.append(os.fork())
            if ranks[-1] == 0:
                try: train(RANK=rank, WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT=port)
                finally: os._exit(1)
        self.assertEqual([os.waitpid(rank, 0)[1] for rank in ranks], [0, 0])
"""
ALL_REDUCE = r"2 ranks, 5 steps; (\S+ KiB) a step a rank"
MODEL = r"NCCL ring model at {} GB/s, {} µs a call: (\S+) ms a step \(a model, not a measurement\)"


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def rows(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line.get("kind") in ("collective", "optimizer_step")]


def test_exec_shows_bytes_a_step_and_the_model_of_their_time(runner, python, tmp_path, train):
    record = tmp_path / "record.jsonl"
    ran = runner("exec", "--simulate", "cuda", "--env", "TORCHDEVICE_DEVICES=2", "--record", record, "--nccl-bandwidth", "0.5", "--",
                 python, *RANKS, train)
    assert ran.code == 2 and "use a number of GB/s, at least 1, such as 300" in ran.err

    ran = runner("exec", "--simulate", "cuda", "--env", "TORCHDEVICE_DEVICES=2", "--record", record, "--nccl-bandwidth", "25.5",
                 "--nccl-latency", "0", "--", python, *RANKS, train)
    assert ran.code == 0, ran.err
    found = rows(record)
    steps = [row for row in found if row["kind"] == "optimizer_step"]
    assert [(row["count"], row["ranks"], row["line"]) for row in steps] == [(5, 2, 13)] * 2, "one of each rank; two optimizers, one step"
    calls = [row for row in found if row["kind"] == "collective"]
    (gradients,) = {(row["count"], row["bytes"]) for row in calls if row["op"] == "all_reduce" and row["file"] is None}
    assert gradients == (5, 5 * 64 * 64 * 4)

    each = sum(row["bytes"] for row in calls) / 10
    summary = re.search(r"collectives: " + ALL_REDUCE, ran.err)
    assert summary and summary[1] == f"{each / 1024:.1f} KiB", ran.err
    assert re.search(r"\n +10  all_reduce +39\.1 KiB +group 0 \(2 ranks\)  train\.py:15\n", ran.err), ran.err
    assert re.search(r"\n +10  barrier +0 B +group 0 \(2 ranks\)  train\.py:16\n", ran.err), ran.err
    # With two ranks, a ring carries all of an all_reduce and of a broadcast, and half of an
    # all_gather.
    carried = sum(row["bytes"] * (0.5 if row["op"].startswith("all_gather") else 1) for row in calls) / 10
    modelled = re.search(MODEL.format(25.5, 0), ran.err)
    assert modelled and float(modelled[1]) == pytest.approx(carried / 25.5e9 * 1e3, rel=0.01), ran.err
    assert "0 requests redirected" in ran.err, "collectives are no redirections"


def test_exec_shows_nothing_of_collectives_without_them(runner, python, tmp_path):
    ran = runner("exec", "--simulate", "cuda", "--", python, "-c", "import torch; torch.ones(1).cuda()")
    assert ran.code == 0 and "shim redirects" in ran.err
    assert "collectives" not in ran.err and "model" not in ran.err


def test_reports_of_a_run_show_them(runner, python, write_suite):
    suite = write_suite("ranks", {"tests/test_ranks.py": SUITE, "tests/train.py": TRAIN})
    ran = runner(suite, "--python", python, "--simulate", "cuda", "--env", "TORCHDEVICE_DEVICES=2", "--nccl-latency", "7")
    assert ran.code == 0, ran.out + ran.err
    report = ran.report
    collectives = report["collectives"]
    assert (collectives["ranks"], collectives["steps"], collectives["rank_steps"]) == (2, 5, 10)
    assert collectives["bytes"] == sum(site["bytes"] for site in collectives["sites"]) == pytest.approx(collectives["bytes_each"] * 10)
    (reduced,) = [site for site in collectives["sites"] if (site["op"], site["line"]) == ("all_reduce", 15)]
    assert (reduced["file"], reduced["count"], reduced["bytes"], reduced["group"]) == ("tests/train.py", 10, 40_000, "0")
    assert not any(event["kind"] in ("collective", "optimizer_step") for event in report["redirections"])
    assert report["gaps"] == []
    for file in ("report.md", "report.html"):
        text = (ran.folder / file).read_text()
        assert re.search(ALL_REDUCE, text) and re.search(MODEL.format(300, 7), text), file

    # A stored run's reports for other links.
    again = runner("report", "--format", "json", "--nccl-bandwidth", "30", "--nccl-latency", "7")
    assert again.code == 0, again.err
    models = [of["collectives"]["ring_model"] for of in (report, ran.report)]
    assert [(of["bandwidth_gb_per_s"], of["latency_us"]) for of in models] == [(300, 7), (30, 7)]
    latency = collectives["calls"] / 10 * 7e-6
    assert models[1]["seconds_each"] - latency == pytest.approx(10 * (models[0]["seconds_each"] - latency))


@pytest.mark.parametrize("example, ranks", [("ddp.py", 4), ("fsdp.py", 2)])
def test_the_examples_print_what_the_guide_says(runner, python, example, ranks):
    ran = runner("exec", "-q", "--simulate", "cuda", "--env", "TORCHDEVICE_DEVICES=4", "--",
                 python, *RANKS[:-1], str(ranks), ROOT / "docs" / "examples" / example)
    assert ran.code == 0, ran.err
    assert f"\n    {ran.out}" in (ROOT / "docs" / "guide" / "distributed.md").read_text()
