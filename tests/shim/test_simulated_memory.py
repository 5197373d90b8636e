"""Tests the memory of simulated devices in child processes: pinned memory by version of torch, limits and
their settings, and whose memory an error is about."""

import pytest

from conftest import older_than

DEVICES = {"mps": {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"},
           "cuda": {"TORCHDEVICE_SIMULATE": "cuda"}}  # fmt: skip
SETUP = """
import json, sys, torch, warnings
d = {device!r}
def raised(call, *args, **kwargs):
    try: call(*args, **kwargs)
    except Exception as error: return [type(error).__name__, str(error)]
"""


@pytest.fixture
def ask(warm_child):
    """ask(device, script, …): a process of its own, whose last line of output is JSON."""

    def run(device, script, **env):
        return warm_child(SETUP.format(device=device) + script, env={**DEVICES[device], **env})

    return run


# ---- pinned memory on MPS

PINNED = """
from torch.utils.data import DataLoader, TensorDataset
x = torch.ones(2)
def pinned(call):
    try:
        made = call()
        return [str(made.device), made.is_pinned()]
    except RuntimeError as error: return str(error)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    batches = [[str(batch.device), batch.is_pinned()] for (batch,) in DataLoader(TensorDataset(x), 2, pin_memory=True)]
warned = [str(each.message) for each in warned if "pin_memory" in str(each.message)]
warnings.simplefilter("ignore")  # of arguments that are deprecated
print(json.dumps([
    [pinned(call) for call in (
        x.pin_memory, lambda: x.pin_memory("mps"), lambda: x.untyped_storage().pin_memory("mps"),
        lambda: torch.utils.data._utils.pin_memory.pin_memory(x),
        lambda: torch.nn.utils.rnn.pack_sequence([x]).pin_memory().data)],
    [pinned(call) for call in (
        lambda: torch.empty(2, pin_memory=True), lambda: torch.empty(2, device="cpu", pin_memory=True),
        lambda: torch.empty_like(x, pin_memory=True), lambda: x.new_empty(2, pin_memory=True),
        lambda: torch.empty_strided((2,), (1,), pin_memory=True))],
    [raised(call) for call in (lambda: torch.ones(2, pin_memory=True), lambda: torch.tensor([1.0], pin_memory=True))],
    [x.is_pinned(), x.to("mps").is_pinned(), x.is_pinned("mps")], batches, warned,
    raised(x.to("mps").pin_memory)[1], raised(torch.empty, 2, device="mps", pin_memory=True)[1]]))
"""


def test_pinned_memory_is_what_this_torch_has_on_a_mac(ask):
    """Before 2.14 MPS gives memory of the device: tensors of the CPU that say mps:0."""
    pinned, empty, filled, others, batches, warned, of_device, on_device = ask("mps", PINNED).answer
    if older_than("2.14"):
        text = 'Attempted to set the storage of a tensor on device "cpu" to a storage on different device "mps:0"'
        assert all(answer.startswith(text) for answer in pinned), pinned
        assert empty == [["mps:0", False]] * 5
        assert [error and error[0] for error in filled] == ["RuntimeError"] * 2
    else:
        assert pinned + empty == [["cpu", True]] * 10 and filled == [None, None]
    assert others == [False] * 3
    # The loader goes on without.
    assert batches == [["cpu", False]] and len(warned) == 1 and "not supported on MPS" in warned[0]
    assert of_device == "cannot pin 'MPSFloatType' only dense CPU tensors can be pinned"
    assert on_device == "Only dense CPU tensors can be pinned"


def test_code_for_cuda_meets_the_same_pinned_memory(warm_child):
    ran = warm_child(
        SETUP.format(device="cuda") + "print(json.dumps([raised(torch.ones(2).pin_memory), "
        "str(torch.empty(2, pin_memory=True).device)]))",
        env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "missing", "TORCHDEVICE_MASQUERADE": "off"},
    )
    error, device = ran.answer
    assert (error is not None, device) == ((True, "mps:0") if older_than("2.14") else (False, "cpu"))


# ---- limits

FILL = """
kept = []
def fill(make):
    while True: kept.append(make())
"""


@pytest.mark.parametrize("device", DEVICES)
def test_the_hosts_lack_of_memory_is_called_the_hosts(ask, device):
    ran = ask(
        device,
        """
small = torch.ones(1, dtype=torch.uint8, device=d)
huge = 512 << 30
print(json.dumps([
    [raised(torch.empty, huge, dtype=torch.uint8, device=d), raised(lambda: small.expand(huge).clone()),
     raised(lambda: small.expand(huge) + 1)], (small + 1).item()]))
""",
        TORCHDEVICE_DEVICE_MEMORY="4T",
    )
    errors, after = ran.answer
    assert after == 2
    for kind, text in errors:
        assert kind == "RuntimeError" and "out of memory" not in text
        assert text.startswith(f"The host has no memory for a tensor of the simulated device {device}:0. Tried to allocate 512.00 GiB.")


@pytest.mark.parametrize("device", DEVICES)
def test_a_full_device_leaves_the_end_of_the_process_alone(child, device):
    ran = child(
        SETUP.format(device=device) + FILL + """
x = torch.ones(2, 2, device=d, requires_grad=True)
(x @ x).sum().backward()
print(json.dumps([raised(fill, lambda: torch.empty(1 << 10, device=d))[0],
                  raised(fill, lambda: torch.empty(1, device=d))[0]]))
""",
        env={**DEVICES[device], "TORCHDEVICE_DEVICE_MEMORY": "8M"},
    )
    assert ran.answer == ["OutOfMemoryError" if device == "cuda" else "RuntimeError"] * 2
    assert "Traceback" not in ran.stderr and "rror" not in ran.stderr


WATERMARKS = FILL + """
error = raised(fill, lambda: torch.empty(1 << 20, dtype=torch.uint8, device=d)) if {most} else None
print(json.dumps([len(kept), error and error[1]]))
"""


@pytest.mark.parametrize("ratio, low, blocks", [(None, None, 32), ("0.5", "0.4", 16), ("1.5", None, 48)])
def test_the_high_watermark_is_a_macs(ask, ratio, low, blocks):
    env = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": ratio, "PYTORCH_MPS_LOW_WATERMARK_RATIO": low}
    ran = ask("mps", WATERMARKS.format(most=True), TORCHDEVICE_DEVICE_MEMORY="32M", **env)
    count, text = ran.answer
    assert count == blocks and f"max allowed: {blocks}.00 MiB" in text


def test_the_advice_of_the_error_has_its_effect(ask):
    """No limit but the host's; a block as large as the device is refused all the same."""
    ran = ask(
        "mps",
        """
kept = [torch.empty(1 << 20, dtype=torch.uint8, device=d) for _ in range(100)]
print(json.dumps([torch.mps.current_allocated_memory(), raised(torch.empty, 32 << 20, dtype=torch.uint8, device=d)]))
""",
        TORCHDEVICE_DEVICE_MEMORY="32M",
        PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.0",
    )
    assert ran.answer == [100 << 20, ["RuntimeError", "Invalid buffer size: 32.00 MiB"]]


@pytest.mark.parametrize(
    "env, text",
    [
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "2.5"}, "invalid high watermark ratio 2.5"),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "-1"}, "invalid high watermark ratio -1"),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7"}, "invalid low watermark ratio 1.4"),
        ({"PYTORCH_MPS_LOW_WATERMARK_RATIO": "1.8"}, "invalid low watermark ratio 1.8"),
    ],
)
def test_watermarks_that_a_mac_refuses_are_refused_at_the_first_use(ask, env, text):
    ran = ask("mps", "print(json.dumps([raised(torch.ones, 1, device=d) for _ in range(2)]))", **env)
    assert ran.answer == [["RuntimeError", text]] * 2
    assert "Traceback" not in ran.stderr


def test_the_memory_fraction_is_the_high_watermark(ask):
    ran = ask(
        "mps",
        """
def room():
    kept = []
    try:
        while len(kept) < 70: kept.append(torch.empty(1 << 20, dtype=torch.uint8, device=d))
    except RuntimeError: pass
    return len(kept)
rooms = []
for fraction in (0.5, 1.5, 0.0, 1.0):
    torch.mps.set_per_process_memory_fraction(fraction); rooms.append(room())
print(json.dumps([rooms, raised(torch.mps.set_per_process_memory_fraction, 3.0)[0]]))
""",
        TORCHDEVICE_DEVICE_MEMORY="32M",
    )
    assert ran.answer == [[16, 48, 70, 32], "ValueError"]


# ---- settings of CUDA's allocator

UNKNOWN = "Unrecognized key 'no_such_key' in Accelerator allocator config."
KNOWN = "expandable_segments:True,backend:native,pinned_num_register_threads:4,roundup_power2_divisions:[256:1,>:2]"
needs_names = pytest.mark.skipif(older_than("2.10"), reason="torch tells no names of settings before 2.10")


@needs_names
@pytest.mark.parametrize("variable", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
def test_unknown_settings_of_the_allocator_are_refused(ask, variable):
    script = "print(json.dumps([raised(torch.ones, 1, device=d), raised(torch.ones, 1)]))"
    error, on_cpu = ask("cuda", script, **{variable: "no_such_key:1"}).answer
    assert error == ["ValueError", UNKNOWN] and on_cpu is None
    assert ask("cuda", script, **{variable: KNOWN}).answer == [None, None]
    assert ask("mps", script, **{variable: "no_such_key:1"}).answer == [None, None]  # a Mac reads none
    backend = ["ValueError", "Unknown allocator backend, options are native and cudaMallocAsync"]
    assert ask("cuda", script, **{variable: "backend:other"}).answer == [backend, None]
    assert ask("cuda", script, **{variable: "backend:cudaMallocAsync"}).answer == [None, None]


@needs_names
def test_unknown_settings_are_refused_when_they_are_set(ask):
    ran = ask(
        "cuda",
        f"""
warnings.simplefilter("ignore")
set_them = torch.cuda.memory._set_allocator_settings
print(json.dumps([raised(set_them, "no_such_key:1"), raised(torch._C._accelerator_setAllocatorSettings, "no_such_key:1"),
    raised(set_them, {KNOWN!r}), raised(set_them, "max_split_size_mb:1"), torch.ones(1, device=d).item()]))
""",
    )
    *refused, known, small, one = ran.answer
    assert refused == [["ValueError", UNKNOWN]] * 2 and known is None and one == 1
    assert small == ["ValueError", "CachingAllocator option max_split_size_mb too small, must be >= 20"]


# Each with the devices that have a context after it, in a process of its own.
CONTEXTS = {
    "torch.cuda.init()": [],
    "torch.cuda.manual_seed(0); torch.cuda.get_device_properties(1); torch.cuda.memory_allocated(1)": [],
    "torch.cuda.set_device(0)": [0],
    "torch.cuda.set_device(1)": [1],
    "x = torch.ones(2, device='cuda:1', requires_grad=True); str(x), x.cpu(), x.sum().backward()": [1],
    "x = torch.ones(2, device='cuda:1'); torch.ones(2).pin_memory()": [1],
    "torch.ones(2).pin_memory(); torch.cuda.set_device(1)": [0, 1],
    "with torch.cuda.device(1): pass": [1],
    "torch.cuda.Stream(1)": [1],
    "torch.cuda.synchronize()": [0],
    "torch.cuda.mem_get_info(1)": [1],
}


@pytest.mark.parametrize("used", CONTEXTS)
def test_a_device_has_a_context_once_it_is_used(warm_child, used):
    ran = warm_child(
        f"import json, torch\n{used}\n"
        "print(json.dumps([i for i in range(2) if torch._C._cuda_hasPrimaryContext(i)]))",
        env=DEVICES["cuda"],
    )
    assert ran.answer == CONTEXTS[used]
