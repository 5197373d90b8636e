"""Tests what happens to a group of NCCL on simulated devices when a rank is late, stuck or gone."""

import re

import pytest

from conftest import older_than
from ranks import RANKS, needs_nccl, on_ranks  # noqa: F401, a fixture


DEADLOCKS = {
    "two groups": (2, "dist.all_reduce(full(2, 1.0), group=dist.group.WORLD if rank else pair)", "all_reduce"),
    "a ring": (3, "dist.recv(full(2, 1.0), (rank + 1) % 3)", "recv"),
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_names_each_rank_its_call_and_its_line(on_ranks, name):
    count, call, collective = DEADLOCKS[name]
    script = f"""
def run(rank):
    pair = dist.new_group([0, 1])
    {call}
"""
    line = 1 + next(n for n, text in enumerate((RANKS + script).splitlines()) if call in text)
    for kind, text in on_ranks(script, count).answer:
        assert kind == "DistBackendError" and text.startswith("Deadlock: these ranks wait for each other")
        for rank in range(count):
            assert re.search(rf"rank {rank} waits in {collective}\(.*script.py:{line}", text), text


@pytest.mark.skipif(older_than("2.10"), reason="torch has shrink_group from 2.10 on")
def test_a_deadlock_is_found_in_a_group_that_has_shrunk(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    dist.group.WORLD.bound_device_id = torch.device("cuda", rank)
    dist.all_reduce(full(2, 1.0))
    if rank == 0: os._exit(3)
    dist.shrink_group([0])
    pair = dist.new_group([0, 1])
    dist.all_reduce(full(2, 1.0), group=dist.group.WORLD if dist.get_rank() else pair)
""",
        3,
        timeout=20,
    )
    for kind, text in ran.answer[1:]:
        assert kind == "DistBackendError" and text.startswith("Deadlock: these ranks wait for each other"), text
        for rank in range(2):
            assert re.search(rf"rank {rank} waits in all_reduce", text), text


# With what each rank gives.
NO_DEADLOCKS = {
    # Rank 0 waits for rank 1's message, and has made the call that rank 1 waits for.
    "posted before": ([[3.0]] * 3, """
def run(rank):
    x = full(1, 1.0)
    if rank == 2: time.sleep(5)
    work = dist.all_reduce(x, async_op=True)
    if rank == 0: dist.recv(full(1, 0.0), 1)
    work.wait()
    if rank == 1: dist.send(full(1, 5.0), 0)
    return x.tolist()
"""),
    # Rank 0 has rank 1's message and waits for rank 2's, while rank 1 waits for rank 0's next call.
    "half of a batch": ([[3.0, 3.0], [3.0, 3.0], [0.0, 0.0]], """
def run(rank):
    pair, x = dist.new_group([0, 1]), full(2, 0.0)
    if rank == 0:
        for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, part, 1 + i) for i, part in enumerate(x.split(1))]): work.wait()
    if rank == 2: time.sleep(5)
    if rank > 0: dist.send(full(1, 3.0), 0)
    if rank < 2: dist.all_reduce(x, group=pair)
    return x.tolist()
"""),
    # Rank 0's other thread has made no call when the others wait.
    "a thread that has not called": ([[5.0, 5.0]] * 2, """
import threading
def run(rank):
    first, second, x, y = dist.new_group([0, 1]), dist.new_group([0, 1]), full(1, 2.5), full(1, 2.5)
    def later(): torch.cuda.set_device(0); time.sleep(5); dist.all_reduce(y, group=second)
    if rank == 0: thread = threading.Thread(target=later); thread.start(); dist.all_reduce(x, group=first); thread.join()
    else: dist.all_reduce(y, group=second); dist.all_reduce(x, group=first)
    return [x.item(), y.item()]
"""),
    # Rank 0's other thread comes when it has slept.
    "another thread": ([[5.0, 5.0]] * 2, """
import threading
def run(rank):
    first, second, x, y = dist.new_group([0, 1]), dist.new_group([0, 1]), full(1, 2.5), full(1, 2.5)
    def later():
        torch.cuda.set_device(0)
        dist.all_reduce(full(1, 0.0), group=second); time.sleep(5); dist.all_reduce(y, group=second)
    if rank == 0:
        thread = threading.Thread(target=later); thread.start()
        dist.all_reduce(x, group=first); thread.join()
    else:
        dist.all_reduce(full(1, 0.0), group=second); dist.all_reduce(y, group=second); dist.all_reduce(x, group=first)
    return [x.item(), y.item()]
"""),
}


@pytest.mark.parametrize("name", NO_DEADLOCKS)
def test_a_rank_that_is_slow_is_no_deadlock(on_ranks, name):
    answers, script = NO_DEADLOCKS[name]
    ran = on_ranks(script, len(answers))
    assert ran.answer == answers
    assert "Deadlock" not in ran.stderr


def test_a_rank_that_comes_late_is_no_deadlock(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    if rank == 2: time.sleep(4)
    x = full(1, 1.0); dist.all_reduce(x)
    return x.tolist()
""",
        3,
    )
    assert ran.answer == [[3.0]] * 3


HANG = """
def run(rank):
    if rank == 1: time.sleep(4); return
    dist.all_reduce(full(2, 1.0))
"""


def test_a_time_out_ends_the_process_with_the_watchdogs_text(on_ranks):
    ran = on_ranks(HANG, 2, timeout=2)
    assert ran.answer[0] == ["ended", -6]  # SIGABRT
    assert re.search(
        r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=1, OpType=ALLREDUCE, NumelIn=2, "
        r"NumelOut=2, Timeout\(ms\)=2000\) ran for 2\d\d\d milliseconds before timing out",
        ran.stderr,
    )
    assert "rank 1 waits in no collective" in ran.stderr
    assert "terminate called after throwing an instance of 'c10::DistBackendError'" in ran.stderr


def test_with_blocking_wait_a_time_out_is_raised(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    if rank == 1: time.sleep(4); return
    own = dist.group.WORLD._get_backend(torch.device("cuda"))
    before = str(own.get_error())
    try: dist.all_reduce(full(2, 1.0))
    except dist.DistBackendError as error: return [before, str(own.get_error()), str(error)]
""",
        2,
        timeout=2,
        TORCH_NCCL_BLOCKING_WAIT="1",
    )
    before, after, text = ran.answer[0]
    assert [before, after] == ["ErrorType.SUCCESS", "ErrorType.TIMEOUT"]
    assert "Watchdog caught collective operation timeout" in text


def test_a_time_out_is_longer_until_the_next_call_has_ended(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    x = full(2, 1.0)
    dist.distributed_c10d._add_ephemeral_timeout_for_all_pgs(datetime.timedelta(seconds=10))
    if rank == 1: time.sleep(2.5)
    dist.all_reduce(x)
    if rank == 1: time.sleep(2.5)
    try: dist.all_reduce(x)
    except dist.DistBackendError as error: return [x.tolist(), str(error)]
""",
        2,
        timeout=1,
        TORCH_NCCL_BLOCKING_WAIT="1",
    )
    values, text = ran.answer[0]
    assert values == [2.0, 2.0] and "Timeout(ms)=1000" in text


def test_the_result_of_a_call_says_how_it_ended(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    x = full(2, 1.0)
    first = dist.all_reduce(x, async_op=True); ended = first.get_future_result().wait()
    second = dist.all_reduce(x, async_op=True)
    # A callback may wait for its own call, and for another.
    waited = second.get_future_result().then(lambda _: (second.wait(), dist.all_reduce(x), x.tolist())[2]).wait()
    if rank == 1: time.sleep(4); return
    late = dist.all_reduce(x, async_op=True); after = late.get_future_result().then(lambda future: future.value())
    return [ended, first.get_future_result().value(), waited, late.get_future_result().wait(), after.wait()]
""",
        2,
        timeout=2,
        TORCH_NCCL_BLOCKING_WAIT="1",
    )
    success, time_out = 0, 1  # of c10d::WorkResult
    assert ran.answer[0] == [success, success, [8.0, 8.0], time_out, time_out]


def test_a_group_that_not_all_ranks_make_fails_after_its_time_out(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    if rank == 1: time.sleep(4); return
    try: dist.new_group([0, 1], use_local_synchronization=True, timeout=datetime.timedelta(seconds=2))
    except dist.DistBackendError as error: return str(error)
""",
        2,
    )
    assert re.match(r"Rank 0 made the group \S+ of 2 ranks and waited for the others for 2000 ms: ", ran.answer[0])


def test_no_rank_goes_on_before_all_have_connected(on_ranks):
    """If it ended then, it would break the others' connections."""
    ran = on_ranks(
        """
def run(rank):
    module, store = torch._C._distributed_c10d, dist.PrefixStore("own", dist.distributed_c10d._get_default_store())
    gloo = module.ProcessGroupGloo
    if rank == 1: module.ProcessGroupGloo = lambda *args, **kwargs: (gloo(*args, **kwargs), time.sleep(2))[0]
    begun = time.monotonic(); dist.ProcessGroupNCCL(store, rank, 2)
    return time.monotonic() - begun
""",
        2,
    )
    assert ran.answer[0] > 1.5, ran.answer


def test_after_a_time_out_no_bytes_move(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    x = full(2, 1.0)
    if rank == 1: time.sleep(3); dist.all_reduce(x); return
    try: dist.all_reduce(x)
    except dist.DistBackendError: pass
    time.sleep(3)
    return x.tolist()
""",
        2,
        timeout=2,
        TORCH_NCCL_BLOCKING_WAIT="1",
    )
    assert ran.answer[0] == [1.0, 1.0]


@pytest.mark.parametrize("call", ["dist.all_reduce(x, async_op=True)", "dist.irecv(x, 1)"])
def test_an_abort_frees_the_tensors_of_a_call_under_way(on_ranks, call):
    ran = on_ranks(
        f"""
def run(rank):
    dist.barrier()
    if rank == 1: time.sleep(2); return
    before = torch.cuda.memory_allocated()  # older releases keep a tensor for barriers
    x = full(1 << 20, 1.0); work = {call}
    time.sleep(0.5); dist.group.WORLD._get_backend(torch.device("cuda")).abort()
    try: work.wait()
    except dist.DistBackendError as error: text = str(error)
    del x, work
    return [text, torch.cuda.memory_allocated() - before]
""",
        2,
    )
    assert ran.answer[0] == ["NCCL communicator was aborted on rank 0.", 0]


STEPS = """
def run(rank):
    for step in range(6): x = full(2, 1.0); dist.all_reduce(x)
    return x.tolist()
"""
FAULTS = {
    "exit": (["DistBackendError", "ncclRemoteError"], ["ended", 1]),
    "drop": (["DistBackendError", "ncclRemoteError"], [2.0, 2.0]),
    "slow:200ms": ([2.0, 2.0], [2.0, 2.0]),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_happens_in_its_rank_and_call(on_ranks, kind):
    ran = on_ranks(STEPS, 2, timeout=20, TORCHDEVICE_FAULT=f"rank=1,call=4,kind={kind}")
    for found, wanted in zip(ran.answer, FAULTS[kind]):
        assert found[0] == wanted[0] and str(wanted[1]) in str(found[1])
    assert re.search(r"TORCHDEVICE_FAULT: rank 1 \w+.* in its call 4, all_reduce.* at .*script.py:\d+", ran.stderr)


def test_a_rank_that_hangs_times_the_others_out(on_ranks):
    script = STEPS.replace("def run(rank):", "def run(rank):\n    if rank == 1: signal.alarm(6)")
    ran = on_ranks(script, 2, timeout=2, TORCHDEVICE_FAULT="rank=1,call=4,kind=hang")
    assert ran.answer == [["ended", -6], ["ended", -14]]
    assert "TORCHDEVICE_FAULT: rank 1 hangs in its call 4" in ran.stderr and "SeqNum=4" in ran.stderr


@pytest.mark.parametrize("text", ["rank=1", "rank=1,call=0,kind=exit", "rank=1,call=2,kind=slow", "rank=a,call=2,kind=drop"])
def test_a_fault_that_is_none_is_named(warm_child, text):
    ran = warm_child("import torch", env={"TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_FAULT": text})
    assert ran.returncode != 0 and f"TORCHDEVICE_FAULT={text}: must be rank=1,call=20,kind=KIND" in ran.stderr


@needs_nccl
def test_torchrun_restarts_after_a_fault_and_completes(child):
    ran = child(
        """
import os, torch, torch.distributed as dist
if __name__ == "__main__":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    for step in range(5): dist.all_reduce(x := torch.ones(2, device="cuda"))
    os.write(1, f"complete {os.environ['TORCHELASTIC_RESTART_COUNT']} {x.tolist()}\\n".encode())
    dist.destroy_process_group()
""",
        argv=["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1", "script.py"],
        env={"TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_FAULT": "rank=1,call=3,kind=exit"},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("complete 1 [2.0, 2.0]") == 2


def test_a_group_is_destroyed_when_its_calls_have_ended(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    x = full(2, 1.0)
    if rank == 1: time.sleep(3)
    work = dist.all_reduce(x, async_op=True)
    pair = dist.group.WORLD; dist.destroy_process_group()
    work.wait()
    dist.init_process_group("nccl", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
    return x.tolist()
""",
        2,
    )
    assert ran.answer == [[2.0, 2.0]] * 2
