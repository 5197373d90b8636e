"""Tests torch.distributed in child processes: on simulated devices, and with NCCL where there is none."""

import collections

import pytest

from ranks import HAS_NEWER_NAMES, needs_nccl

CUDA = {"TORCHDEVICE_SIMULATE": "cuda"}
MPS = {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"}
GROUP = """
import json, os, tempfile, torch
import torch.distributed as dist
def join(backend, rank=0, world=1, file=tempfile.mktemp()):
    dist.init_process_group(backend, init_method="file://" + file, rank=rank, world_size=world)
"""
COLLECTIVES = """
join({backend!r})
x = torch.ones(3, device={device!r})
parts = [torch.empty_like(x)]
answers = {{}}
for name, call in {{
    "all_reduce": lambda: dist.all_reduce(x), "broadcast": lambda: dist.broadcast(x, 0),
    "all_gather": lambda: dist.all_gather(parts, x),
    "reduce_scatter": lambda: dist.reduce_scatter(x, [x.clone()]),
    "all_to_all_single": lambda: dist.all_to_all_single(torch.empty_like(x), x)}}.items():
    try: call(); answers[name] = True
    except Exception as error: answers[name] = [type(error).__name__, str(error)]
print(json.dumps([dist.get_backend(), answers, parts[0].tolist(), parts[0].device.type]))
dist.destroy_process_group()
"""


def collectives(warm_child, backend, device, env):
    if not pytest.importorskip("torch").distributed.is_available():
        pytest.skip("no torch.distributed")
    return warm_child(GROUP + COLLECTIVES.format(backend=backend, device=device), env=env)


@pytest.mark.parametrize(
    "backend", ["gloo", *(pytest.param(name, marks=needs_nccl) for name in ("nccl", "cpu:gloo,cuda:nccl", None))]
)
def test_collectives_of_simulated_cuda_run_by_any_backend(warm_child, backend):
    ran = collectives(warm_child, backend, "cuda", CUDA)
    name, answers, gathered, where = ran.answer
    assert set(answers.values()) == {True}, answers
    assert (gathered, where) == ([1.0] * 3, "cuda")
    assert backend not in ("gloo", "nccl") or name == backend
    assert bool(ran.devices(kind="collective", op="all_reduce")) == (backend != "gloo")


@pytest.mark.parametrize("backend", ["nccl", None, *(["nccl2", "nccl-lazy", "nccl-legacy"] if HAS_NEWER_NAMES else [])])
def test_nccl_is_redirected_to_gloo_and_recorded(warm_child, backend):
    ran = collectives(warm_child, backend, "cuda", {})
    name, answers, gathered, where = ran.answer
    assert name == "gloo" and set(answers.values()) == {True} and where == "cpu"
    (noted,) = ran.devices(kind="redirect", op="torch.distributed.ProcessGroupNCCL")
    assert (noted["from"], noted["to"]) == ("cuda", "cpu")


@pytest.mark.parametrize("fallback", ["0", "1"])
def test_a_mac_refuses_collectives_by_name(warm_child, fallback):
    ran = collectives(warm_child, "gloo", "mps", {**MPS, "PYTORCH_ENABLE_MPS_FALLBACK": fallback})
    for kind, text in ran.answer[1].values():
        assert kind == "NotImplementedError"
        assert text.startswith("The operator 'c10d::") and "not currently implemented for the MPS" in text
    assert ran.devices(kind="fallback") == []


def test_data_parallel_processes_train_on_simulated_cuda(warm_child):
    ran = warm_child(
        GROUP
        + """
import sys
def train(rank, file):
    join("nccl", rank, 2, file)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1).to(rank), device_ids=[rank])
    model(torch.full((2, 4), rank + 1.0, device=rank)).sum().backward()
    torch.save(model.module.weight.grad, f"{file}-{rank}")
    dist.destroy_process_group()
if __name__ == "__main__":
    file = tempfile.mktemp()
    torch.multiprocessing.start_processes(train, (file,), nprocs=2, start_method="fork")
    print(json.dumps([[str(g.device), g.tolist()] for g in map(torch.load, [f"{file}-0", f"{file}-1"])]))
""",
        env=CUDA,
    )
    # The mean of the gradients of both: 2 * 1 and 2 * 2.
    assert ran.answer == [[f"cuda:{rank}", [[3.0] * 4]] for rank in (0, 1)]


STEPS = """
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.optim import SGD
import torch.optim.optimizer as optimizers
weights = [torch.ones(2, device="cuda", requires_grad=True) for _ in range(3)]
for weight in weights: weight.grad = torch.ones_like(weight)
SGD(weights).step()  # of no rank
hooks = [len(optimizers._global_optimizer_post_hooks)]
for _ in range(2): join("nccl"); dist.destroy_process_group()
join("nccl")
hooks.append(len(optimizers._global_optimizer_post_hooks))
def each_has_its_own():
    for optimizer in own: optimizer.step()
own = [SGD([weight]) for weight in weights]
sharded, whole = ZeroRedundancyOptimizer(weights, SGD), SGD(weights)
compiled = torch.compile(whole.step, backend="eager")
for _ in range(4): each_has_its_own()
for _ in range(3): sharded.step()
for _ in range(2): whole.step()
for _ in range(2): compiled()
dist.destroy_process_group()
whole.step()
print(json.dumps(hooks))
"""


@needs_nccl
def test_steps_are_counted_of_ranks_and_several_optimizers_share_one(warm_child):
    if not pytest.importorskip("torch").distributed.is_available():
        pytest.skip("no torch.distributed")
    ran = warm_child(GROUP + STEPS, env=CUDA)
    assert ran.answer == [0, 1], "torch has a hook of ours from the first group on, and only one"
    steps = ran.devices(kind="optimizer_step")
    assert {(step["op"], step["ranks"], step["from"]) for step in steps} == {("torch.optim.Optimizer.step", 1, None)}
    counts = collections.Counter()  # a line of the record is also written while the program runs
    for step in steps:
        counts[step["line"]] += step["count"]
    # An optimizer that steps for the first time belongs to the step before it.
    assert [counts[line] for line in sorted(counts)] == [4, 3 - 1, 2 - 1]


def test_groups_of_several_classes_count_steps_once(warm_child):
    ran = warm_child(
        """
import json, torch
from torch.optim import optimizer
from compat_shim.simulate import nccl
class First: pass
class Second(First): pass
nccl._count_steps_with([First, Second], torch, None)
Second(), First(), Second()
print(json.dumps(len(optimizer._global_optimizer_post_hooks)))
""",
        env=CUDA,
    )
    assert ran.answer == 1
