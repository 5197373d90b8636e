"""Ranks of a group of NCCL on simulated CUDA devices: processes that a script forks."""

import pytest

from conftest import older_than, run_child

# From torch 2.14 on there are "nccl2", "nccl-lazy" and "nccl-legacy". From 2.15 on "nccl" is the
# first of these.
HAS_NEWER_NAMES = not older_than("2.14")
# The class that all releases have.
FIRST_CLASS = "nccl-legacy" if HAS_NEWER_NAMES else "nccl"
# Before 2.9 torch's interface of backends lacks what ours overrides, and gloo takes NCCL's place.
needs_nccl = pytest.mark.skipif(older_than("2.9"), reason="torch 2.9 can have a simulated NCCL")

RANKS = """
import datetime, functools, json, os, signal, tempfile, time, warnings, torch
import torch.distributed as dist
warnings.simplefilter("ignore")

def ranks(count, run, timeout=60):
    \"\"\"Runs run(rank) in one process for each rank. Gives what they return, [type, text] of what they raise,
    or ["ended", signal].\"\"\"
    file, pipes = tempfile.mktemp(), []
    for rank in range(count):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            answer = in_rank(rank, count, run, file, timeout)
            with os.fdopen(write, "w") as out:
                json.dump(answer, out)
            os._exit(0)
        os.close(write)
        pipes.append((pid, os.fdopen(read)))
    answers = []
    for pid, pipe in pipes:
        text = pipe.read()
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        answers.append(json.loads(text) if text else ["ended", ended])
    return answers

def in_rank(rank, count, run, file, timeout):
    try:
        torch.cuda.set_device(rank)
        dist.init_process_group(
            os.environ.get("BACKEND", "nccl"), init_method="file://" + file, rank=rank, world_size=count,
            timeout=datetime.timedelta(seconds=timeout),
        )
        answer = run(rank)
        dist.destroy_process_group()
        return answer
    except Exception as error:
        return [type(error).__name__, str(error)]

def t(*values, **options): return torch.tensor(values, device="cuda", **options)
def full(size, value, dtype=torch.float): return torch.full((size,), value, dtype=dtype, device="cuda")
"""


@pytest.fixture
def on_ranks(library, tmp_path):
    """on_ranks(script, count, **environment): what `run(rank)` of the script gave on each rank."""
    if older_than("2.9"):
        pytest.skip(needs_nccl.kwargs["reason"])

    def run(script, count, *, timeout=60, **env):
        return run_child(
            library,
            tmp_path,
            RANKS + script + f"\nprint(json.dumps(ranks({count}, run, {timeout})))",
            env={"TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_DEVICES": "4", **env},
            warm=True,
        )

    return run
