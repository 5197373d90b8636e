"""Tests device_safe: each class of errors is provoked by real torch, on simulated devices where it takes
an accelerator, and is recovered and logged; nothing else is touched. test_device_library.py has the
rest of the library."""

import json
import pathlib
import sys

import pytest

from conftest import older_than

# A script's beginning: `tried()` names the recoveries since its last call, `logged()` the classes
# of errors.
BEGIN = """
import json, sys, threading, torch
from torch import nn
import compat_devices
from compat_devices import DeviceLog, DeviceManager, device_safe

log = DeviceLog.instance()
log.enable()

def tried():
    found = [[e.error_class if e.kind == "error" else e.what] for e in log.events() if e.kind in ("error", "recovery")]
    log.clear()
    return sum(found, [])

answer = {}
"""
END = "\nprint(json.dumps(answer))\n"


@pytest.fixture
def on(library, warm_child):
    """on(device, script): `answer` of a script that runs on a simulated device; "": without the shim."""

    def run(device, script, **env):
        if device:
            env["TORCHDEVICE_SIMULATE"] = device
            begin = BEGIN
        else:  # as where the package is installed
            begin = f"import sys; sys.path.insert(0, {str(pathlib.Path(library).parent)!r})\n" + BEGIN
        return warm_child(begin + script + END, active=bool(device), env=env).answer

    return run


def test_tensors_on_two_devices_are_moved_and_gradients_come_back(on):
    answer = on("cuda", """
model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).cuda()
x = torch.ones(4, 3, requires_grad=True)
x.data[0] = 2
before = x.detach().clone()

@device_safe
def step(model, x):
    return model(x)

y = step(model, x)
y.square().sum().backward()
answer["result"] = str(y.device)
answer["input"] = [str(x.device), bool((x == before).all()), x.grad is not None and str(x.grad.device)]
answer["parameters"] = [[str(p.device), str(p.grad.device)] for p in model.parameters()]
answer["tried"] = tried()

# A global model: only the argument can move.
answer["global"] = str(device_safe(lambda x: model(x))(x).device)
answer["global tried"] = tried()

# A factory in the function makes its tensor where the others are.
answer["factory"] = str(device_safe(lambda x: x + torch.ones(3))(torch.ones(3, device="cuda")).device)
answer["factory tried"] = tried()

# A module that is told its device.
class Maker(nn.Module):
    def forward(self, x, device="cpu"):
        return x + torch.ones(3, device=device)

answer["told"] = str(device_safe(Maker())(torch.ones(3, device="cuda")).device)

# The module itself, wrapped. Its input is on the other device.
answer["wrapped"] = str(device_safe(model)(x).device)
""")
    assert answer == {
        "result": "cuda:0", "input": ["cpu", True, "cpu"], "parameters": [["cuda:0", "cuda:0"]] * 4,
        "tried": ["device_mismatch", "move_tensors to cuda:0"],
        "global": "cuda:0", "global tried": ["device_mismatch", "move_tensors to cuda:0"],
        "factory": "cuda:0", "factory tried": ["device_mismatch", "move_tensors to cuda:0"],
        "told": "cuda:0", "wrapped": "cuda:0",
    }


def test_an_operator_that_a_device_lacks_runs_on_the_next_one(on):
    answer = on("mps", """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(2))
        self.register_buffer("calls", torch.zeros(()))

    @device_safe
    def forward(self, x):
        self.calls += 1
        return torch.linalg.eigvals(self.weight @ x).real

model = Model().to("mps")
x = torch.eye(2, device="mps", requires_grad=True)
y = model(x)
y.sum().backward()
answer["device"] = str(y.device)
answer["grads"] = [str(x.grad.device), str(model.weight.grad.device), x.grad.isfinite().all().item()]
answer["module"] = [str(model.weight.device), str(model.calls.device), model.weight.is_leaf, list(dict(model.named_parameters()))]
answer["calls"] = model.calls.item()  # the failed call counted too
answer["tried"] = tried()
""")
    assert answer.pop("calls") == 2
    assert answer.pop("module") == ["mps:0", "mps:0", True, ["weight"]]
    assert answer == {
        "device": "cpu", "grads": ["mps:0", "mps:0", True],
        "tried": ["tensor_operation_failed", "next_device: cpu"],
    }


def test_what_mps_refuses_otherwise_is_recovered(on):
    answer = on("mps", """
@device_safe
def to_mps(x):
    return x.to("mps") * 2

x = torch.ones(2, dtype=torch.float64, requires_grad=True)
y = to_mps(x)
y.sum().backward()
answer["dtype"] = [str(y.device), str(y.dtype), str(x.dtype), str(x.grad.dtype), tried()]

@device_safe
def make(size, dtype=torch.float64, device="mps"):
    return torch.ones(size, dtype=dtype, device=device)

answer["dtype of an argument"] = [str(make(3).dtype), tried()]

a = torch.ones(1, 2, 2, device="mps")
b = torch.ones(1, 2, 2)
answer["placeholder"] = [str(device_safe(torch.bmm)(a, b).device), tried()]

# Metal has no such kernel, and says so when it is asked for it: torch from 2.12 on.
z = torch.ones(2, dtype=torch.complex64, device="mps")
y = device_safe(nn.functional.silu)(z)
answer["runtime"] = [str(y.device), str(y.dtype), tried()]
""")
    assert answer == {
        "dtype": ["mps:0", "torch.float32", "torch.float64", "torch.float64", ["dtype_mismatch", "convert_dtype to fp32"]],
        "dtype of an argument": ["torch.float32", ["dtype_mismatch", "convert_dtype to fp32"]],
        "placeholder": ["mps:0", ["mps_placeholder_storage", "move_tensors to mps:0"]],
        "runtime": ["mps:0", "torch.complex64", []] if older_than("2.12") else
            ["cpu", "torch.complex64", ["cuda_runtime_error", "clear_caches", "cuda_runtime_error", "next_device: cpu"]],
    }


def test_a_device_that_is_full_gets_half_the_batch(on):
    answer = on("cuda", """
MEGABYTE = 1 << 20

@device_safe
def run(batch_size, device="cuda"):
    return [batch_size, str(torch.empty(batch_size * 20 * MEGABYTE, dtype=torch.uint8, device=device).device)]

answer["halved"] = [run(4), tried()]
answer["to the cpu"] = [run(8), tried()]

# A batch that is a tensor: parts of it are run, and their results are joined.
@device_safe(batch="x")
def double(x):
    scratch = torch.empty(len(x) * 20 * MEGABYTE, dtype=torch.uint8, device=x.device)
    return {"y": x * 2, "pair": (x, x + 1)}

x = torch.arange(5., device="cuda", requires_grad=True)
y = double(x)
y["y"].sum().backward()
answer["parts"] = [y["y"].tolist(), y["pair"][1].tolist(), x.grad.tolist(), tried()]

@device_safe(batch="x")
def total(x):
    return scratch(x).sum()

def scratch(x):
    torch.empty(len(x) * 20 * MEGABYTE, dtype=torch.uint8, device=x.device)
    return x

try:
    total(torch.ones(5, device="cuda"))
except torch.OutOfMemoryError as error:
    answer["a sum cannot be joined"] = error.recovery
tried()

# The memory of the failed call is released before the next one.
@device_safe
def hold():
    first = torch.empty(40 * MEGABYTE, dtype=torch.uint8, device="cuda")
    if len(log.events()) == 0:
        torch.empty(40 * MEGABYTE, dtype=torch.uint8, device="cuda")
    return torch.cuda.memory_allocated() // MEGABYTE

answer["released"] = [hold(), tried()]
""", TORCHDEVICE_DEVICE_MEMORY="64M")
    clear, halve = "clear_caches", "halve_batch to "
    assert answer == {
        "halved": [[2, "cuda:0"], ["out_of_memory", clear, "out_of_memory", halve + "2"]],
        "to the cpu": [[4, "cpu"], ["out_of_memory", clear, "out_of_memory", halve + "4", "out_of_memory", "next_device: cpu"]],
        "parts": [[0, 2, 4, 6, 8], [1, 2, 3, 4, 5], [2] * 5, ["out_of_memory", clear, "out_of_memory", halve + "2"]],
        "a sum cannot be joined": [clear, halve + "2"],
        "released": [40, ["out_of_memory", clear]],
    }


def test_a_checkpoint_of_another_machine_is_loaded_on_the_cpu(on, tmp_path):
    on("cuda", f"torch.save({{'w': torch.ones(2, device='cuda')}}, {str(tmp_path / 'cuda.pt')!r})")
    answer = on("", f"""
answer["loaded"] = str(device_safe(torch.load)({str(tmp_path / 'cuda.pt')!r})["w"].device)
answer["tried"] = tried()
""")
    assert answer == {"loaded": "cpu", "tried": ["model_loading", "load_on_cpu"]}


def test_a_broken_checkpoint_is_read_again_and_its_error_kept(on, tmp_path):
    answer = on("", f"""
path = {str(tmp_path / 'model.pt')!r}
torch.save(nn.Linear(2, 2).state_dict(), path)
whole = open(path, "rb").read()
open(path, "wb").write(whole[:len(whole) // 2])
reads = []

@device_safe
def load(path):
    reads.append(1)
    if len(reads) == 2:  # as another process would complete it
        open(path, "wb").write(whole)
    return torch.load(path)

answer["loaded"] = [sorted(load(path)), tried()]
open(path, "wb").write(whole[:len(whole) // 2])
try:
    load(path)
except RuntimeError as error:
    answer["broken"] = ["PytorchStreamReader" in str(error), error.recovery, tried()]
    answer["notes"] = getattr(error, "__notes__", None)
try:
    device_safe(nn.Linear(3, 3).load_state_dict)(torch.load(path) if False else {{"bias": torch.ones(3)}})
except RuntimeError as error:
    answer["keys"] = ["Missing key" in str(error), error.recovery]
""")
    notes = answer.pop("notes")
    assert notes is None or (len(notes) == 1 and notes[0].startswith("load: model_loading (rule ") and "tried: call_again" in notes[0])
    assert (notes is None) == (sys.version_info < (3, 11))
    assert answer == {
        "loaded": [["bias", "weight"], ["model_loading", "call_again"]],
        "broken": [True, ["call_again"], ["model_loading", "call_again", "model_loading"]],
        "keys": [True, ["call_again"]],
    }


def test_blocks_recover_attempt_by_attempt(on):
    answer = on("mps", """
model = nn.Linear(2, 2).to("mps")
x = torch.ones(1, 2, requires_grad=True)
numbers = []
for attempt in device_safe(name="block"):
    with attempt:
        numbers.append(attempt.number)
        y = attempt(model)(attempt(x))
y.sum().backward()
answer["moved"] = [numbers, str(y.device), x.grad is not None, model.weight.grad is not None, tried()]

for attempt in device_safe():
    with attempt:
        made = torch.ones(attempt.batch(4), device=attempt.device("mps"), dtype=attempt.dtype(torch.float64))
answer["made"] = [str(made.dtype), tried()]

try:
    for attempt in device_safe(tries=1):
        with attempt:
            torch.linalg.eigvals(model.weight)
except NotImplementedError as error:
    answer["gave up"] = [attempt.number, error.recovery]
tried()
try:
    for attempt in device_safe():
        with attempt:
            raise KeyError("own")
except KeyError as error:
    answer["own"] = [attempt.number, hasattr(error, "recovery"), tried()]
try:
    with device_safe(name="once"):
        torch.linalg.eigvals(model.weight)
except NotImplementedError as error:
    answer["once"] = [error.recovery, tried()]
""")
    assert answer == {
        "moved": [[1, 2], "mps:0", True, True, ["device_mismatch", "move_tensors to mps:0"]],
        "made": ["torch.float32", ["dtype_mismatch", "convert_dtype to fp32"]],
        "gave up": [2, ["next_device: cpu"]],
        "own": [1, False, []],
        "once": [[], ["tensor_operation_failed"]],
    }


@pytest.mark.parametrize("made_under", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("called_under", ["no_grad", "inference_mode"])
def test_a_module_recovers_without_gradients(package, made_under, called_under):
    import torch
    from torch import nn

    with getattr(torch, made_under)():
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).double()
    for training in (False, True):
        if training and (made_under, called_under) == ("inference_mode", "no_grad"):
            continue  # torch refuses to count batches in an inference tensor there
        model.train(training)
        before = model[1].running_mean.clone()
        with getattr(torch, called_under)():
            assert package.device_safe(model)(torch.ones(4, 3)).dtype == torch.float32
        assert model[1].running_mean.dtype == torch.float64
        assert (model[1].running_mean == before).all() == (not training)


def test_an_error_that_nothing_helps_keeps_its_cause_and_context(package):
    import torch

    @package.device_safe(batch="x")
    def total(x):
        if len(x) > 2:
            try:
                raise KeyError("before it")
            except KeyError:
                raise RuntimeError("CUDA out of memory") from ValueError("its cause")
        return x.sum()

    with pytest.raises(RuntimeError) as raised:
        total(torch.ones(4))
    assert any("batch" in step for step in raised.value.recovery)
    assert isinstance(raised.value.__cause__, ValueError) and isinstance(raised.value.__context__, KeyError)


def test_under_redirection_the_pretended_device_is_one(child):
    ran = child(BEGIN + """
manager = DeviceManager.instance()
answer["best"] = [manager.best().device.device, manager.chain()]
answer["on"] = [torch.cuda.is_available(), str(manager.ensure_device(torch.ones(2)).device)]
answer["made"] = str(device_safe(lambda x: torch.ones(2, device="cuda") + x)(torch.ones(2)).device)
""" + END)
    assert ran.answer == {"best": ["cuda:0", ["cuda:0", "cpu"]], "on": [True, "cpu"], "made": "cpu"}
    # The record names the program's lines, not the library's.
    assert {line["file"] for line in ran.devices(kind="redirect")} == {ran.script}


def test_recovery_can_be_off(on):
    answer = on("cuda", """
calls = []

@device_safe
def add(x):
    calls.append(1)
    return x + torch.ones(3)

try:
    add(torch.ones(3, device="cuda"))
except RuntimeError as error:
    answer["error"] = [len(calls), hasattr(error, "recovery"), tried()]
""", COMPAT_RECOVERY="off")
    assert answer == {"error": [1, False, []]}


def test_other_errors_pass_through_untouched(package):
    error = ValueError("x must be positive")
    calls = []

    @package.device_safe
    def fail():
        calls.append(1)
        raise error

    with pytest.raises(ValueError) as raised:
        fail()
    assert raised.value is error and calls == [1]
    assert not hasattr(error, "recovery") and not hasattr(error, "__notes__")
    assert error.__cause__ is None and error.__context__ is None
    assert [frame.name for frame in raised.traceback][-2:] == ["safe", "fail"]
    with pytest.raises(KeyboardInterrupt):
        package.device_safe(lambda: (_ for _ in ()).throw(KeyboardInterrupt))()


def test_an_error_whose_text_is_odd_passes_through(package):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError("CUDA out of memory")

    with pytest.raises(Odd):
        package.device_safe(lambda: (_ for _ in ()).throw(Odd()))()
    text = "\ud800 \0 Expected all tensors to be on the same device"
    assert package.classify(RuntimeError(text)).error_class == "device_mismatch"
    with pytest.raises(RuntimeError) as raised:
        package.device_safe(lambda: (_ for _ in ()).throw(RuntimeError(text)))()
    assert raised.value.args == (text,) and raised.value.recovery == []


@pytest.mark.unsanitized(reason="AddressSanitizer needs more stack")
def test_a_small_stack_is_enough_to_classify(package):
    import threading

    found = []
    words = "RuntimeError: Input type (MPS" + "x" * 1000 + ") 'device'" + "tensors x " * 300
    before = threading.stack_size(512 << 10)
    try:
        thread = threading.Thread(target=lambda: found.append(package.classify("RuntimeError", words * 3)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [None]


def test_an_error_of_the_program_in_a_later_attempt_is_raised(package):
    import torch

    calls = []

    @package.device_safe
    def fail(x):
        calls.append(x.dtype)
        if len(calls) == 1:
            return x @ torch.ones(2, 2)
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        fail(torch.ones(2, 2, dtype=torch.float64))
    assert calls == [torch.float64, torch.float32]


def test_tries_are_bounded_and_the_first_error_is_raised(package):
    import torch

    errors = []

    def fail(batch_size):
        try:
            torch.empty(1 << 60)
        except RuntimeError as error:
            errors.append(error)
            raise

    for tries, recovery in [(0, []), (1, ["clear_caches"]), (2, ["clear_caches", "halve_batch to 2"]),
                            (9, ["clear_caches", "halve_batch to 2", "halve_batch to 1"])]:
        errors.clear()
        with pytest.raises(RuntimeError) as raised:
            package.device_safe(fail, tries=tries)(4)
        assert raised.value is errors[0] and raised.value.recovery == recovery
        assert len(errors) == 1 + len(recovery)
    with pytest.raises(ValueError, match="tries=-1"):
        package.device_safe(tries=-1)


def test_one_call_recovers_once_where_safe_functions_are_nested(package):
    import torch

    calls = []

    @package.device_safe
    def inner():
        calls.append(1)
        torch.empty(1 << 60)

    with pytest.raises(RuntimeError) as raised:
        package.device_safe(inner)()
    assert len(calls) == 2 and raised.value.recovery == ["clear_caches"]


def test_a_safe_function_looks_like_the_function(package):
    @package.device_safe(tries=1)
    def add(a, *, b=1):
        "Adds."
        return a + b

    assert (add.__name__, add.__doc__, add(1, b=2)) == ("add", "Adds.", 3)

    async def wait():
        pass

    def count():
        yield 1

    for function in (wait, count):
        with pytest.raises(TypeError, match="coroutine or a generator"):
            package.device_safe(function)


def test_the_same_tensor_is_copied_once(package):
    import torch

    seen = []

    @package.device_safe
    def mix(a, pair, weight):
        seen.append(a is pair[0])
        return a @ weight

    x = torch.ones(2, 2, dtype=torch.float64)
    mix(x, (x,), torch.ones(2, 2))
    assert seen == [True, True]


def test_a_bad_setting_is_refused_where_the_function_is_defined(warm_child):
    ran = warm_child("import compat_devices\n@compat_devices.device_safe\ndef f(): pass\n",
                env={"TORCHDEVICE_SIMULATE": "cuda", "COMPAT_RECOVERY": "perhaps"})
    assert ran.returncode == 1
    assert "SettingError: COMPAT_RECOVERY: \"perhaps\" is not allowed; use: on, off" in ran.stderr
