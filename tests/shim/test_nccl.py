"""Tests groups of NCCL on simulated CUDA devices: values, misuse, records, what is built on them."""

import collections
import re

import pytest

from conftest import SIMULATED, older_than
from ranks import FIRST_CLASS, HAS_NEWER_NAMES, needs_nccl, on_ranks  # noqa: F401, a fixture

VALUES = """
def run(rank):
    n, wrong = dist.get_world_size(), []
    every, total = range(n), n * (n + 1) // 2
    def expect(name, tensor, values):
        if tensor.float().cpu().tolist() != torch.as_tensor(values).float().tolist():
            wrong.append([name, tensor.float().tolist()[:4], values[:4]])
    for dtype in (torch.uint8, torch.int8, torch.int32, torch.int64, torch.half, torch.bfloat16, torch.float, torch.double):
        for size in (0, 3, 20001):  # in one round, and by shares that are not of one size
            for op, mine, answer in (("SUM", rank + 1, total), ("MAX", rank + 1, n), ("MIN", rank + 1, 1), ("PRODUCT", 2, 2**n), ("AVG", 4, 4)):
                x = full(size, mine, dtype); dist.all_reduce(x, getattr(dist.ReduceOp, op))
                expect(f"all_reduce {op} {dtype} {size}", x, [answer] * size)
    x = full(5, rank + 1.0); dist.all_reduce(x, dist._make_nccl_premul_sum(2.0)); expect("premul", x, [2.0 * total] * 5)
    x = full(5, rank + 1.0); dist.all_reduce(x, dist._make_nccl_premul_sum(t(2.0))); expect("premul tensor", x, [2.0 * total] * 5)
    x = t(rank == 0, False); dist.all_reduce(x); expect("bool", x, [True, False])
    x = full(4, 1.0).to(torch.float8_e4m3fn); dist.all_reduce(x); expect("float8", x, [float(n)] * 4)
    x = t(float("nan") if rank else 3.0, float("nan")); dist.all_reduce(x, dist.ReduceOp.MAX)
    if not (x[0] == 3.0 and x[1].isnan()): wrong.append(["max of nan", x.tolist()])
    x = torch.complex(full(2, 1.0), full(2, 2.0)); dist.all_reduce(x); expect("complex", torch.view_as_real(x).flatten(), [n, 2 * n] * 2)
    x = full(4, float(rank)); dist.broadcast(x, 1); expect("broadcast", x, [1.0] * 4)
    x = full(4, rank + 1.0); dist.reduce(x, 1)
    if rank == 1: expect("reduce", x, [total] * 4)
    parts = [full(3, 0.0) for _ in every]; dist.all_gather(parts, full(3, float(rank))); expect("all_gather", torch.cat(parts), [i for i in every for _ in range(3)])
    parts = [full(i + 1, 0.0) for i in every]; dist.all_gather(parts, full(rank + 1, float(rank))); expect("all_gather uneven", torch.cat(parts), [i for i in every for _ in range(i + 1)])
    x = full(2 * n, 0.0); dist.all_gather_into_tensor(x, full(2, float(rank))); expect("all_gather_into_tensor", x, [i // 2 for i in range(2 * n)])
    x = full(2, 0.0); dist.reduce_scatter_tensor(x, torch.arange(2.0 * n, device="cuda")); expect("reduce_scatter_tensor", x, [2 * n * rank, n * (2 * rank + 1)])
    x = full(2, 0.0); dist.reduce_scatter(x, [full(2, float(i)) for i in every]); expect("reduce_scatter", x, [n * rank] * 2)
    x = full(rank + 1, 0.0); dist.reduce_scatter(x, [full(i + 1, float(i)) for i in every]); expect("reduce_scatter uneven", x, [n * rank] * (rank + 1))
    x = full(n, 0.0); dist.all_to_all_single(x, torch.arange(n, device="cuda") + 10.0 * rank); expect("all_to_all_single", x, [10 * i + rank for i in every])
    x = full(n * (rank + 1), 0.0); dist.all_to_all_single(x, full(total, float(rank)), [rank + 1] * n, [i + 1 for i in every])
    expect("all_to_all_single uneven", x, [i for i in every for _ in range(rank + 1)])
    parts = [full(2, 0.0) for _ in every]; dist.all_to_all(parts, [full(2, 10.0 * rank + i) for i in every]); expect("all_to_all", torch.cat(parts), [10 * i + rank for i in every for _ in range(2)])
    parts = [full(2, 0.0) for _ in every] if rank == 0 else None; dist.gather(full(2, float(rank)), parts, 0)
    if rank == 0: expect("gather", torch.cat(parts), [i for i in every for _ in range(2)])
    if hasattr(dist, "gather_single"):  # from torch 2.14 on
        for dtype, gather in ((torch.half, dist.gather_single), (torch.cfloat, dist.gather_into_tensor)):
            x = full(2 * n, 0, dtype) if rank == 1 else None; gather(full(2, rank, dtype), x, 1)
            if rank == 1: expect(f"gather_single {dtype}", x.real, [i for i in every for _ in range(2)])
    x = full(2, 0.0); dist.scatter(x, [full(2, float(i)) for i in every] if rank == 0 else None, 0); expect("scatter", x, [rank] * 2)
    x = full(3, 0.0)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, full(3, float(rank)), (rank + 1) % n), dist.P2POp(dist.irecv, x, (rank - 1) % n)]): work.wait()
    expect("batch_isend_irecv", x, [(rank - 1) % n] * 3)
    if rank == 0: dist.send(full(3, 7.0), 1)
    if rank == 1: x = full(3, 0.0); dist.recv(x, 0); expect("recv", x, [7.0] * 3)
    y = full(4, 1.0); future = dist.all_reduce(y, async_op=True).get_future()
    # As PowerSGD's hook: a callback starts a collective and waits for it.
    again = future.then(lambda f: dist.all_reduce(f.value()[0], async_op=True).get_future().wait()[0]); expect("future", again.wait(), [n * n] * 4)
    a, b = full(2, 1.0), full(3, 1.0)
    with dist._coalescing_manager(device=torch.device("cuda")): dist.all_reduce(a); dist.all_reduce(b)
    expect("coalesced", torch.cat([a, b]), [n] * 5)
    a = torch.ones(2, 3, device="cuda").t(); dist.all_reduce_coalesced([a, b]); expect("coalesced, transposed", a.flatten(), [n] * 6)
    pair = dist.new_group([0, 1]); x = full(2, 1.0)
    if rank < 2: dist.all_reduce(x, group=pair); expect("sub-group", x, [2.0] * 2)
    objects = [None] * n; dist.all_gather_object(objects, {"rank": rank})
    if objects != [{"rank": i} for i in every]: wrong.append(objects)
    x = full(1000, 1.0); dist.all_reduce(x, async_op=True); torch.cuda.synchronize(); expect("synchronize", x, [n] * 1000)
    dist.barrier()
    return [dist.get_backend(), wrong]
"""


@pytest.mark.parametrize("count", [2, 4])
def test_collectives_give_nccls_values(on_ranks, count):
    assert on_ranks(VALUES, count).answer == [["nccl", []]] * count


# By name and TORCH_DIST_USE_NCCL2.
NAMES = {
    ("nccl", None): "ProcessGroupNCCL" if older_than("2.15") else "ProcessGroupNCCL2",
    ("nccl", "0"): "ProcessGroupNCCL",
    ("nccl", "1"): "ProcessGroupNCCL2",
    ("nccl2", None): "ProcessGroupNCCL2",
    ("nccl-lazy", None): "ProcessGroupNCCLLazy",
    ("nccl-legacy", None): "ProcessGroupNCCL",
}


@pytest.mark.skipif(not HAS_NEWER_NAMES, reason="torch 2.14 has these names")
@pytest.mark.parametrize("name, switch", NAMES)
def test_every_name_of_nccl_gives_a_group_of_its_class(on_ranks, name, switch):
    script = VALUES + """
values = run
def run(rank):
    [backend, wrong] = values(rank)
    group = dist.distributed_c10d._get_default_group()
    # Before 2.15 a group splits only with a device.
    if torch.__version__ >= "2.15" or group.bound_device_id is not None:
        half = dist.split_group(split_ranks=[[0, 1], [2, 3]])
    else:
        half = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
    x = full(2, 1.0); dist.all_reduce(x, group=half)
    classes = [type(each._get_backend(torch.device("cuda"))).__name__ for each in (group, half)]
    own = group._get_backend(torch.device("cuda"))
    peers = own._num_active_channels() if "Lazy" in classes[0] else 0
    return [backend, wrong, classes, x.tolist(), own.name(), str(own.get_error()), peers]
"""
    env = {"BACKEND": name, **({"TORCH_DIST_USE_NCCL2": switch} if switch else {})}
    of_class = NAMES[name, switch]
    said = {"ProcessGroupNCCL": "nccl", "ProcessGroupNCCL2": "nccl2", "ProcessGroupNCCLLazy": "nccl-lazy"}[of_class]
    # A lazy group's parts are not lazy.
    of_half = NAMES["nccl2", None] if said == "nccl-lazy" and not older_than("2.15") else of_class
    for rank, answer in enumerate(on_ranks(script, 4, **env).answer):
        peers = 1 if said == "nccl-lazy" and rank < 2 else 0  # that with which it exchanged messages
        assert answer == [name, [], [of_class, of_half], [2.0, 2.0], said, "ErrorType.SUCCESS", peers]


PUBLIC_NAMES = """
import json, torch, torch.distributed as dist
def public(owner):
    for name in dir(owner):
        if not name.startswith("__"):
            yield name
            value = getattr(owner, name)
            if isinstance(value, type):
                yield from (f"{name}.{each}" for each in public(value))
c10d = torch._C._distributed_c10d
names = {each: sorted(public(getattr(c10d, each))) for each in dir(c10d) if each.startswith("ProcessGroupNCCL")}
"""


@needs_nccl
def test_the_classes_have_what_nccls_have(warm_child):
    """By rule, for the next release, too."""
    script = PUBLIC_NAMES + "print(json.dumps(names))"
    theirs = warm_child(script, active=False).answer
    if not theirs:
        pytest.skip("this torch is built without NCCL")
    ours = warm_child(script, env=SIMULATED["cuda"]).answer
    assert ours.keys() == theirs.keys()
    for name, public in theirs.items():
        assert set(public) - set(ours[name]) == set(), name
    ran = warm_child(
        PUBLIC_NAMES
        + """
import copy
config = copy.deepcopy(dist.ProcessGroupNCCL.Options().config)
config.max_p2p_peers = 3
try: dist.ProcessGroupNCCL._comm_ptr(None)
except NotImplementedError as error: print(json.dumps([config.max_p2p_peers, str(error)]))
""",
        env=SIMULATED["cuda"],
    )
    peers, refused = ran.answer
    assert peers == 3 and refused.startswith("torch.distributed.ProcessGroupNCCL._comm_ptr is not simulated: ")


def test_memory_pools_are_registered_as_symmetric_or_not(on_ranks):
    """torch 2.8 alone has no such argument."""
    ran = on_ranks(
        """
def run(rank):
    own = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cuda"))
    return [own.register_mem_pool(None), own.register_mem_pool(None, True), own.register_mem_pool(pool=None, symm=False)]
""",
        2,
    )
    assert ran.answer == [[None] * 3] * 2


# A backend "newer", of one of the classes that newer torch has.
NEWER = """
from compat_shim import library, state
from compat_shim.simulate import nccl
native = library.beside(state.library, "_compat_nccl")
newer = nccl._class(native, os.environ["OF_CLASS"])
assert newer.__name__ == os.environ["OF_CLASS"]
def make(opts, options):
    return newer(opts.store, opts.group_rank, opts.group_size, native.ProcessGroupNCCL.Options(), torch.device("cuda", opts.group_rank))
dist.Backend.register_backend("newer", make, extended_api=True, devices=["cuda"])
"""


@pytest.mark.parametrize("of_class", ["ProcessGroupNCCL2", "ProcessGroupNCCLLazy", "ProcessGroupNCCL9"])
def test_the_newer_classes_need_no_newer_torch(on_ranks, of_class):
    """Which tests them with the torch that all tests have. The last one may come."""
    answer = on_ranks(NEWER + VALUES, 2, BACKEND="newer", OF_CLASS=of_class).answer
    assert answer == [["newer", []]] * 2


LACKING = {
    "ProcessGroupNCCL2": ["recv_anysource", "_register_on_completion_hook", "_wait_for_pending_works"],
    "ProcessGroupNCCLLazy": [
        "recv_anysource", "_register_on_completion_hook", "_wait_for_pending_works",
        "_get_sequence_number_for_group", "_enable_collectives_timing",
    ],
}


@pytest.mark.parametrize("of_class", LACKING)
def test_the_newer_classes_refuse_what_they_lack(on_ranks, of_class):
    script = f"""
def run(rank):
    group = dist.group.WORLD
    own, lacking = group._get_backend(torch.device("cuda")), []
    arguments = {{"recv_anysource": ([full(1, 1.0)], 0), "_register_on_completion_hook": (print,)}}
    for name in {LACKING["ProcessGroupNCCLLazy"]}:
        try: getattr(own if hasattr(own, name) else group, name)(*arguments.get(name, ()))
        except RuntimeError as error: lacking.append([type(error).__name__, name])
    return lacking
"""
    ran = on_ranks(NEWER + script, 2, BACKEND="newer", OF_CLASS=of_class)
    assert ran.answer == [[["RuntimeError", name] for name in LACKING[of_class]]] * 2


MISUSES = {
    "host": ("dist.all_reduce(torch.ones(2))", "RuntimeError", "No backend type associated with device type cpu"),
    "one device": (
        'dist.all_reduce(torch.ones(2, device="cuda:0"))',
        "DistBackendError",
        "ncclInvalidUsage.*Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0",
    ),
    "sizes": (
        "dist.all_reduce(full(2 + rank, 1.0))",
        "DistBackendError",
        r"number of elements: rank 0 calls all_reduce\(SUM, float32, 2 elements\) at .*script.py:\d+; "
        r"rank 1 calls all_reduce\(SUM, float32, 3 elements\) at",
    ),
    "dtypes": (
        "dist.all_reduce(full(2, 1, torch.half if rank else torch.float))",
        "DistBackendError",
        "disagree on the dtype: rank 0 calls .*float32.* rank 1 calls .*float16",
    ),
    "collectives": (
        "dist.all_reduce(full(2, 1.0)) if rank else dist.broadcast(full(2, 1.0), 0)",
        "DistBackendError",
        "ranks call different collectives: rank 0 calls broadcast.* rank 1 calls all_reduce",
    ),
    "splits": (
        "dist.all_to_all_single(full(3, 1.0), full(3, 1.0), [1, 2], [2, 1] if rank else [1, 2])",
        "DistBackendError",
        "rank 0 sends 8 bytes to rank 1, which receives 4",
    ),
    "lists": (
        "dist.all_gather([full(2, 0.0), full(3 - rank, 0.0)], full(2, 1.0))",
        "DistBackendError",
        r"number of elements: rank 0 calls all_gather\(float32, 5 elements\) at .* rank 1 calls all_gather\(float32, 4 elements\) at",
    ),
    "coalesced sizes": (
        "dist.all_reduce_coalesced([full(2 + 2 * rank, 1.0), full(4 - 2 * rank, 1.0)])",
        "DistBackendError",
        "ranks disagree on the tensors of the list: rank 0 calls all_reduce_coalesced.* rank 1 calls all_reduce_coalesced",
    ),
    "coalesced dtypes": (
        "coalesced(full(2, 1.0), full(2, 1, torch.half))",
        "TypeError",
        "Tensors must have identical type",
    ),
    "coalesced gaps": (
        "dist.all_reduce_coalesced([torch.ones(4, 4, device='cuda')[:, 1:]])",
        "ValueError",
        "Tensors must be non-overlapping and dense",
    ),
    "root of a broadcast": (
        "dist.broadcast(full(2, 1.0), 7)",
        "DistBackendError",
        r"ncclInvalidArgument.*Broadcast : invalid root 7 \(root should be in the 0..2 range\)",
    ),
    "root of a reduce": ("dist.reduce(full(2, 1.0), -1)", "DistBackendError", "Reduce : invalid root -1"),
    "dtype": (
        "dist.all_reduce(full(2, 1, torch.short))",
        "TypeError",
        "Input tensor data type is not supported for NCCL process group: Short",
    ),
    "reduction": ("dist.all_reduce(full(2, 1, torch.int), dist.ReduceOp.BAND)", "ValueError", "Cannot use ReduceOp.BAND with NCCL"),
    "gaps": ("dist.all_reduce(torch.ones(4, 4, device='cuda')[:, 1:])", "ValueError", "Tensors must be contiguous"),
    "any source": ("dist.recv(full(1, 1.0))", "NotImplementedError", "ProcessGroupNCCL does not support recvAnysource"),
}
if HAS_NEWER_NAMES:
    MISUSES["size of what is gathered"] = (
        "dist.gather_single(full(2, 1.0), full(3, 0.0), dist.get_rank())",
        "ValueError",
        "output tensor size must be equal to world_size times input tensor size",
    )


# Of the newer classes, in which each rank has its device.
ONE_DEVICE = {
    "another device": (
        "dist.all_reduce(torch.ones(2, device=f'cuda:{1 - rank}'))",
        "RuntimeError",
        r"ProcessGroupNCCL is bound to device cuda:\d but an operation was issued on cuda:\d$",
    ),
    "a message with gaps": (
        "dist.send(torch.ones(4, 4, device='cuda')[:, 1:], 1 - rank)",
        "ValueError",
        "Tensors must be contiguous",
    ),
    "any source": ("dist.recv(full(1, 1.0))", "RuntimeError", "Backend nccl2 does not support recvAnysource"),
}


def test_misuse_fails_as_with_nccl(on_ranks):
    check_misuses(on_ranks, MISUSES, BACKEND=FIRST_CLASS)


def test_misuse_of_a_newer_class_fails_as_with_nccl(on_ranks):
    check_misuses(on_ranks, ONE_DEVICE, NEWER, BACKEND="newer", OF_CLASS="ProcessGroupNCCL2")


def check_misuses(on_ranks, misuses, start="", **env):
    calls = {name: call for name, (call, _, _) in misuses.items()}
    script = start + f"""
def coalesced(*tensors):
    with dist._coalescing_manager():
        for each in tensors: dist.all_reduce(each)
def run(rank):
    answers = {{}}
    for name, call in {calls!r}.items():
        try: answers[name] = eval(compile(call, "script.py", "eval"))
        except Exception as error: answers[name] = [type(error).__name__, str(error)]
    return answers
"""
    for answers in on_ranks(script, 2, **env).answer:
        for name, (_, kind, text) in misuses.items():
            assert answers[name][0] == kind, (name, answers[name])
            assert re.search(text, answers[name][1], re.DOTALL), (name, answers[name])


def test_a_message_of_another_size_is_named_and_the_next_one_arrives(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    if rank == 0: dist.send(full(2, 1.0), 1); dist.send(full(2, 5.0), 1); return
    try: dist.recv(full(3, 0.0), 0)
    except dist.DistBackendError as error: text = str(error)
    x = full(2, 0.0); dist.recv(x, 0)
    return [text, x.tolist()]
""",
        2,
    )
    text, received = ran.answer[1]
    assert "rank 0 calls send(float32, 2 elements, to rank 1) at" in text
    assert "rank 1 calls recv(float32, 3 elements, from rank 0) at" in text
    assert received == [5.0, 5.0]


def test_groups_follow_each_other(on_ranks):
    """The file of a job that has ended is gone, and a second job may take its name."""
    ran = on_ranks(
        """
import pathlib
def run(rank):
    dist.all_reduce(full(2, 1.0)); dist.destroy_process_group()
    file, ended = pathlib.Path(tempfile.gettempdir(), f"job-{os.getppid()}"), []
    for _ in range(2):
        dist.init_process_group("nccl", init_method=f"file://{file}", rank=rank, world_size=2)
        x = full(2, 1.0); dist.all_reduce(x); dist.barrier(); dist.destroy_process_group()
        for _ in range(100):
            if not file.exists(): break
            time.sleep(0.05)
        ended.append([x.tolist(), file.exists()])
        time.sleep(0.5)
    dist.init_process_group("nccl", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
    return ended
""",
        2,
    )
    assert ran.answer == [[[[2.0, 2.0], False]] * 2] * 2


@pytest.mark.skipif(older_than("2.10"), reason="torch has shrink_group from 2.10 on")
@pytest.mark.parametrize("name", ["nccl", *(["nccl2", "nccl-legacy"] if HAS_NEWER_NAMES else [])])
@pytest.mark.parametrize("count", [2, 4])
def test_the_ranks_that_are_left_go_on_in_a_smaller_group(on_ranks, count, name):
    """The one that is gone has ended; the others wait in a collective that needs it."""
    ran = on_ranks(
        """
def run(rank):
    whole = dist.distributed_c10d._get_default_group()
    whole.bound_device_id = torch.device("cuda", rank)
    dist.all_reduce(full(2, 1.0))
    if rank == 1: os._exit(3)
    pending = dist.all_reduce(full(2, 1.0), async_op=True) if dist.get_world_size() == 4 else None
    dist.shrink_group([1], shrink_flags=dist.distributed_c10d.SHRINK_ABORT if pending else 0)
    x = full(2, rank + 1.0); dist.all_reduce(x)
    smaller = [dist.get_rank(), dist.get_world_size(), x.tolist()]
    if pending is None: return [*smaller, ""]
    try: pending.wait()
    except dist.DistBackendError as error: text = str(error)
    # Again, of the smaller group; nothing is under way.
    if dist.get_rank() == 0: return [*smaller, text]
    again = dist.shrink_group([0])
    y = full(2, 1.0); dist.all_reduce(y)
    return [*smaller, text, dist.get_rank(), y.tolist()]
""",
        count,
        BACKEND=name,
    )
    if count == 2:
        assert ran.answer == [[0, 1, [1.0, 1.0], ""], ["ended", 3]]
        return
    first, gone, *others = ran.answer
    assert gone == ["ended", 3]
    assert [first[:3], *(each[:3] for each in others)] == [[rank, 3, [8.0, 8.0]] for rank in range(3)]
    assert [each[4:] for each in others] == [[rank, [2.0, 2.0]] for rank in range(2)]
    assert all("abort" in each[3] for each in (first, *others)), ran.answer


# With what it raises while a call is pending.
UNSHRINKABLE = {
    "ProcessGroupNCCL2": ["RuntimeError", "NCCL communicator cannot shrink while work is pending"],
    "ProcessGroupNCCLLazy": ["TypeError", "Process group backend for '0' does not support shrinking operations."],
}


@pytest.mark.skipif(older_than("2.10"), reason="torch has shrink_group from 2.10 on")
@pytest.mark.parametrize("of_class", UNSHRINKABLE)
def test_the_newer_classes_do_not_wait_to_shrink(on_ranks, of_class):
    ran = on_ranks(
        NEWER
        + """
def run(rank):
    dist.group.WORLD.bound_device_id = torch.device("cuda", rank)
    if rank == 1: time.sleep(1.5)
    pending = dist.all_reduce(full(2, 1.0), async_op=True)
    if rank == 1: pending.wait(); os._exit(3)  # which leaves the store's file alone
    try: dist.shrink_group([1])
    except Exception as error: refused = [type(error).__name__, str(error).partition("\\n")[0]]
    pending.wait()
    if refused[0] == "TypeError": return refused
    dist.shrink_group([1]); x = full(2, 3.0); dist.all_reduce(x)
    return [*refused, dist.get_world_size(), x.tolist()]
""",
        2,
        BACKEND="newer",
        OF_CLASS=of_class,
    )
    assert ran.answer[0][:2] == UNSHRINKABLE[of_class]
    assert ran.answer[0][2:] == ([1, [3.0, 3.0]] if of_class == "ProcessGroupNCCL2" else [])


@pytest.mark.skipif(older_than("2.10"), reason="torch has shrink_group from 2.10 on")
def test_a_part_that_shrinks_is_no_second_part(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    whole, device = dist.group.WORLD, torch.device("cuda", rank)
    whole.bound_device_id = device
    dist.all_reduce(full(1, 1.0))
    pair, count = dist.new_group([0, 1]), whole._get_backend(device).comm_split_count
    dist.all_reduce(full(1, 1.0), group=pair)
    if rank == 1: os._exit(3)
    before = count()
    dist.shrink_group([1], group=pair)
    return [before, count()]
""",
        2,
        BACKEND=FIRST_CLASS,
    )
    assert ran.answer == [[1, 1], ["ended", 3]]


def test_tensors_of_a_call_that_has_ended_are_free(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    used = []
    for _ in range(100):
        x, y = full(1000, 1.0), full(2000, 0.0)
        dist.all_gather_into_tensor(y, x); dist.all_reduce(x, async_op=True).wait()
        del x, y
        used.append(torch.cuda.memory_allocated())
    return used
""",
        2,
    )
    assert ran.answer == [[0] * 100] * 2


def test_bytes_keep_their_order_in_memory(on_ranks):
    """As ncclSend and ncclRecv move them; a rank's own are copied by their places."""
    ran = on_ranks(
        """
def run(rank):
    x = torch.arange(8.0, device="cuda").view(1, 2, 2, 2).to(memory_format=torch.channels_last)
    like = lambda: torch.zeros(1, 2, 2, 2, device="cuda").to(memory_format=torch.channels_last)
    plain = [torch.zeros(1, 2, 2, 2, device="cuda") for _ in range(2)]
    lists = [[like(), like()], [like(), torch.zeros(1, 2, 2, 3, device="cuda").to(memory_format=torch.channels_last)]]
    dist.all_gather(lists[0], x)
    dist.all_gather(lists[1], x if rank == 0 else torch.cat([x, x[..., :1]], 3).contiguous(memory_format=torch.channels_last))
    dist.gather(x, plain if rank == 0 else None, 0)
    return [each.flatten().tolist() for each in (*lists[0], lists[1][0], *plain)]
""",
        2,
    )
    plain = [float(n) for n in range(8)]
    in_memory = [0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0]
    assert ran.answer[0] == [plain, plain, plain, plain, in_memory]
    assert ran.answer[1][:3] == [plain, plain, plain]


def test_a_future_does_not_hold_the_interpreter(on_ranks):
    """A hook of another thread may need it."""
    ran = on_ranks(
        """
import threading
def run(rank):
    seen = []
    if rank == 1: time.sleep(3)
    threading.Thread(target=lambda: (time.sleep(0.2), seen.append(time.monotonic()))).start()
    dist.all_reduce(full(2, 1.0), async_op=True).get_future()
    return time.monotonic() - seen[0] if rank == 0 else None
""",
        2,
    )
    assert ran.answer[0] > 1


def test_a_hook_is_told_of_each_call_that_has_ended(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    seen = []
    dist.group.WORLD._register_on_completion_hook(lambda info: seen.append([str(info.op_type), info.seq]))
    dist.all_reduce(full(2, 1.0)); dist.broadcast(full(2, 1.0), 0)
    dist.group.WORLD._wait_for_pending_works()
    return seen
""",
        2,
        BACKEND=FIRST_CLASS,
    )
    assert ran.answer == [[["OpType.ALLREDUCE", 1], ["OpType.BROADCAST", 2]]] * 2


def test_a_tensor_that_is_shared_meanwhile_gets_its_result(on_ranks):
    ran = on_ranks(
        """
from torch.multiprocessing.reductions import reduce_tensor
def run(rank):
    x = full(2, 1.0 - rank)
    if rank == 0: time.sleep(2); dist.send(x, 1)
    if rank == 1: work = dist.irecv(x, 0); time.sleep(1); reduce_tensor(x); work.wait()
    return x.tolist()
""",
        2,
    )
    assert ran.answer == [[1.0, 1.0]] * 2


def test_texts_name_ranks_of_the_job(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    pair = dist.new_group([1, 2])
    if rank == 0: return None
    try: dist.broadcast(full(1 + rank, 1.0), 2, group=pair)
    except dist.DistBackendError as error: return str(error)
""",
        3,
    )
    for text in ran.answer[1:]:
        assert "rank 1 calls broadcast(float32, 2 elements, root 2)" in text, text
        assert "rank 2 calls broadcast(float32, 3 elements, root 2)" in text, text


def test_the_record_counts_calls_and_bytes_by_line_and_group(on_ranks):
    ran = on_ranks(
        """
def run(rank):
    pair = dist.new_group([0, 1])
    for size in (10, 20): dist.all_reduce(full(size, 1.0))
    dist.all_gather_into_tensor(full(6, 0.0), full(3, 0.0), group=pair)
    with dist._coalescing_manager(): dist.all_reduce(full(30, 1.0))  # called by contextlib
""",
        2,
    )
    assert ran.answer == [None, None]
    pids = {line["pid"] for line in ran.devices(kind="collective")}
    assert len(pids) == 2
    for rank in pids:
        sums = collections.Counter()
        for row in ran.devices(kind="collective", pid=rank):
            if not row["file"].endswith("script.py"):
                continue  # new_group's own
            sums[row["op"], row["group"], row["ranks"], "calls"] += row["count"]
            sums[row["op"], row["group"], row["ranks"], "bytes"] += row["bytes"]
        assert sums == {
            ("all_reduce", "0", 2, "calls"): 2,
            ("all_reduce", "0", 2, "bytes"): 120,
            ("all_gather_into_tensor", "1", 2, "calls"): 1,
            ("all_gather_into_tensor", "1", 2, "bytes"): 24,
            ("all_reduce_coalesced", "0", 2, "calls"): 1,
            ("all_reduce_coalesced", "0", 2, "bytes"): 120,
        }


TRAINING = """
def train(rank, kind):
    torch.manual_seed(0)
    n = dist.get_world_size()
    model = torch.nn.Sequential(
        torch.nn.Embedding(16, 8), torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), torch.nn.Linear(8, 16)
    ).cuda()
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    elif kind == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel
        model = FullyShardedDataParallel(model, device_id=rank, use_orig_params=True)
    else:
        from torch.distributed.fsdp import fully_shard
        fully_shard(model[1]); fully_shard(model)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.1), []
    data = torch.randint(0, 16, (5, 8, 7), generator=torch.Generator().manual_seed(1))
    for batch in data:
        mine = batch.chunk(n)[rank].cuda()
        loss = torch.nn.functional.cross_entropy(model(mine[:, :-1]).flatten(0, 1), mine[:, 1:].flatten())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        mean = loss.detach().clone(); dist.all_reduce(mean, dist.ReduceOp.AVG); losses.append(mean.item())
    return losses
def run(rank): return {kind: train(rank, kind) for kind in ("ddp", "fsdp", "fsdp2")}
"""


def test_losses_are_those_of_one_device(on_ranks):
    (alone,) = on_ranks(TRAINING, 1).answer
    assert len(set(alone["ddp"])) == 5
    for count in (2, 4):
        for losses in on_ranks(TRAINING, count).answer:
            for kind, values in losses.items():
                assert values == pytest.approx(alone["ddp"], abs=1e-5), (count, kind)


PARALLEL = """
import copy
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn import functional as F

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).cuda()

def data(*shape, seed=3): return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).cuda()
def differs(a, b, tolerance=1e-5): return (a.cpu() - b.cpu()).abs().max().item() > tolerance

def tensor_parallel(rank, n):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = parallelize_module(net(), init_device_mesh("cuda", (n,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x = data(4, 8); model(x).sum().backward()
    return differs(model(x), net()(x))

def dtensors(rank, n):
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh, x, y = init_device_mesh("cuda", (n,)), data(4 * n, 6), data(6, 2)
    product = distribute_tensor(x, mesh, [Shard(0)]).redistribute(mesh, [Shard(1)]) @ distribute_tensor(y, mesh, [Shard(0)])
    return differs(product.full_tensor(), x @ y)

def pipeline(rank, n):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    torch.manual_seed(0)
    layers = [nn.Linear(8, 8) for _ in range(n)]
    stage = PipelineStage(copy.deepcopy(layers[rank]).cuda(), rank, n, torch.device("cuda", rank))
    schedule = Schedule1F1B(stage, 4, loss_fn=lambda out, target: (out - target).pow(2).mean())
    x, last = data(8, 8), {"target": torch.zeros(8, 8, device="cuda")} if rank == n - 1 else {}
    out = schedule.step(*([x] if rank == 0 else []), **last)
    return differs(out, nn.Sequential(*layers)(x.cpu())) if last else False

def context_parallel(rank, n):
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import _cp_options
    from torch.nn.attention import SDPBackend, sdpa_kernel
    _cp_options.enable_load_balance = False
    q, k, v = (data(1, 2, 8 * n, 8, seed=seed) for seed in (1, 2, 3))
    whole = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION), context_parallel(init_device_mesh("cuda", (n,)), buffers=[q, k, v], buffer_seq_dims=[2, 2, 2]):
        mine = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return differs(mine, whole.chunk(n, 2)[rank])

def sharded_optimizer(rank, n):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model, plain = nn.parallel.DistributedDataParallel(net(), device_ids=[rank]), net()
    ours, theirs = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1), torch.optim.Adam(plain.parameters(), lr=0.1)
    for each, optimizer in ((model, ours), (plain, theirs)): each(data(4, 8)).sum().backward(); optimizer.step()
    return differs(model.module[0].weight, plain[0].weight)

def synchronized_statistics(rank, n):
    layers = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)).cuda()
    torch.manual_seed(0); layers[0].reset_parameters(); plain = copy.deepcopy(layers)
    model = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(layers), device_ids=[rank])
    x, weights = data(4 * n, 8), data(4 * n, 4, seed=5)
    out = model(x.chunk(n)[rank]); (out * weights.chunk(n)[rank]).sum().backward()
    whole = plain(x); (whole * weights).sum().backward()
    return differs(out, whole.chunk(n)[rank]) or differs(model.module[0].weight.grad * n, plain[0].weight.grad, 1e-4) or differs(model.module[1].running_var, plain[1].running_var)

def mixed_and_offloaded(rank, n):
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
    low = net(); fully_shard(low, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)); low(data(2, 8)).sum().backward()
    away = net().cpu(); fully_shard(away, offload_policy=CPUOffloadPolicy()); away(data(2, 8)).sum().backward()
    torch.nn.utils.clip_grad_norm_(low.parameters(), 1.0)
    return away[0].weight.grad.to_local().device.type != "cpu" or differs(away(data(2, 8)), net()(data(2, 8)))

def checkpoint(rank, n):
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.fsdp import fully_shard
    model = net(); fully_shard(model); folder = [tempfile.mkdtemp()]; dist.broadcast_object_list(folder, 0)
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=folder[0])
    with torch.no_grad(): [p.zero_() for p in model.parameters()]
    state = {"model": model.state_dict()}; checkpoint.load(state, checkpoint_id=folder[0])
    return differs(model(data(2, 8)), net()(data(2, 8)))

def split(rank, n):
    dist.group.WORLD.bound_device_id = torch.device("cuda", rank)
    group = dist.split_group(split_ranks=[[0, 1]] + ([[2, 3]] if n == 4 else [])); x = full(2, 1.0); dist.all_reduce(x, group=group)
    return x.tolist() != [2.0, 2.0]

def hooks(rank, n):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    for hook, state in ((default_hooks.bf16_compress_hook, None), (powerSGD_hook.powerSGD_hook, powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2))):
        model = nn.parallel.DistributedDataParallel(net(), device_ids=[rank]); model.register_comm_hook(state, hook)
        for _ in range(3): model(data(4, 8)).sum().backward()
    with model.no_sync(): model(data(4, 8)).sum().backward()
    model = nn.parallel.DistributedDataParallel(net(), device_ids=[rank])
    with model.join(): [model(data(4, 8)).sum().backward() for _ in range(1 + rank)]
    return False

def run(rank):
    tried = (tensor_parallel, dtensors, pipeline, context_parallel, sharded_optimizer, synchronized_statistics, mixed_and_offloaded, checkpoint, split, hooks)
    return {each.__name__: each(rank, dist.get_world_size()) for each in tried}
"""


@pytest.mark.parametrize("count", [2, 4])
def test_what_is_built_on_collectives_computes_as_one_device_does(on_ranks, count):
    for answers in on_ranks(PARALLEL, count, timeout=120).answer:
        assert isinstance(answers, dict), answers
        assert not any(answers.values()), answers


PROFILED = """
def run(rank):
    group = dist.new_group([1, 0])
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        dist.all_reduce(full(3, 1), async_op=True).wait()
        dist.all_gather_into_tensor(full(4, 0, torch.half), full(2, 1, torch.half), group=group)
        dist.send(full(5, 1), 1) if rank == 0 else dist.recv(full(5, 1), 0)
    file = tempfile.mktemp()
    profile.export_chrome_trace(file)
    with open(file) as trace:
        events = [each["args"] for each in json.load(trace)["traceEvents"] if each["name"] == "record_param_comms"]
    return [[each.get(key) for key in KEYS] for each in events if each["Collective name"] != "wait"]

KEYS = ("Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size", "Process Group Name",
        "Process Group Description", "Global rank start", "Global rank stride")
"""


def test_the_profiler_is_told_of_the_tensors_of_each_call(on_ranks):
    ran = on_ranks(PROFILED, 2)
    for rank, message in enumerate(("send", "recv")):
        calls = {each[0]: each[1:] for each in ran.answer[rank]}
        assert calls["allreduce"] == [3, 3, "Float", 2, "0", "default_pg", 0, 1]
        assert calls["_allgather_base"][:4] == [2, 4, "Half", 2]
        assert calls["_allgather_base"][5:] == ["undefined", 0, 1]
        assert calls[message][:4] == [5, 5, "Float", 2]
