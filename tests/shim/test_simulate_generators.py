"""Tests that a simulated device refuses generators of another device, as the device does, in every op
that takes one."""

import re

import pytest

from conftest import older_than

# Every op with a Generator argument is called as the dispatcher has it, and as Python's functions and
# methods call it, which lets the generator choose the kernel too. Arguments come from the schema.
# Calls that fail without a generator are left out.
WALK = """
import warnings
warnings.simplefilter("ignore")
NUMBERS = {"high": 4, "to": 4, "n": 4, "p": 0.5, "a": 0.0, "from": 0, "low": 0}
def value(argument, place):
    kind = str(argument.type).removeprefix("Optional[").removesuffix("]")
    if kind == "Tensor":
        return torch.full((3,), 0.5, device=place)
    if kind == "Device": return place
    if argument.name in NUMBERS: return NUMBERS[argument.name]
    if argument.name == "training": return True
    if argument.has_default_value(): return argument.default_value
    return {"List[int": [3], "bool": True, "ScalarType": torch.float32}.get(kind, None if "Optional" in str(argument.type) else 1)

def callables(schema):
    space, _, name = schema.name.partition("::")
    yield "op", getattr(getattr(getattr(torch.ops, space), name), schema.overload_name or "default")
    for owner in (torch, torch._C._nn, torch.Tensor):
        if callable(getattr(owner, name, None)): yield owner.__name__, getattr(owner, name)

def outcome(function, schema, place, generator):
    args, kwargs = [], {}
    for each in schema.arguments:
        given = generator if each.name == "generator" else value(each, place)
        if each.kwarg_only: kwargs[each.name] = given
        else: args.append(given)
    try: function(*args, **kwargs)
    except Exception as error: return [type(error).__name__, str(error).splitlines()[0]]

def walk(place, generator):
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        if not any(each.name == "generator" for each in schema.arguments): continue
        if not any("Tensor" in str(each.type) for each in schema.returns): continue
        for owner, function in callables(schema):
            if outcome(function, schema, place, None) is None:
                name = f"{owner} {schema.name}.{schema.overload_name}"
                found[name] = outcome(function, schema, place, generator)
    return found
"""

# Texts of ops with kernels of their own for tensors of the host; all others have `HOST`'s text.
OWN = {
    "cuda": {
        "CUDA_tensor_apply2: Expected tensors to have CUDA DeviceType, but got tensors with type cpu and cpu":
            {"poisson", "_standard_gamma", "_sample_dirichlet"},
        "Tensor for argument #1 'self' is on CPU, Tensor for argument #2 'noise' is on CPU, but expected it"
        " to be on GPU (while checking arguments for rrelu_with_noise_out_cuda)":
            {"rrelu", "rrelu_", "rrelu_with_noise", "rrelu_with_noise_", "rrelu_with_noise_functional"},
    },
    "mps": {
        "Passed CPU tensor to MPS op": {"poisson", "_standard_gamma", "_sample_dirichlet"},
        "Expected a 'cpu' generator device but found 'mps:0'": {"randperm"},
    },
}  # fmt: skip
HOST = {
    "cuda": "Expected a 'cpu' device type for generator but found 'cuda'",
    "mps": "Placeholder storage has not been allocated on MPS device!",
}


def base(name):
    return name.partition("::")[2].partition(".")[0]


def test_tensors_of_the_host_and_a_generator_of_the_device(on_device):
    found = on_device(WALK + "print(json.dumps(walk('cpu', torch.Generator(d))))").answer
    assert len(found) > 80 and {"uniform_", "randperm", "multinomial", "normal"} < set(map(base, found))
    accepted = [name for name, error in found.items() if error is None]
    assert accepted == []
    own = {name: text for text, names in OWN[on_device.name].items() for name in names}
    # The dispatcher chooses without the generator where an op is called by its name.
    by_kernel = {
        f"Expected a 'cpu' device type for generator but found '{on_device.name}'",
        "Expected a 'cpu' generator device but found '" + ("cuda'" if on_device.name == "cuda" else "mps:0'"),
    }
    for name, (kind, text) in found.items():
        assert kind in ("RuntimeError", "NotImplementedError"), (name, kind, text)
        if kind == "RuntimeError" and not (name.startswith("op ") and text in by_kernel):
            assert text == own.get(base(name), HOST[on_device.name]), name


def test_tensors_of_the_device_and_a_generator_of_the_host(on_device):
    found = on_device(WALK + "print(json.dumps(walk(d, torch.Generator())))").answer
    name = on_device.name
    assert len(found) > 60
    wanted = ["RuntimeError", f"Expected a '{name}' device type for generator but found 'cpu'"]
    graph = ["RuntimeError", "Expected a 'mps:0' generator device but found 'cpu'"]
    for op, error in found.items():
        assert error == (graph if name == "mps" and base(op) == "randperm" else wanted), op


EMPTY = """
e().normal_(generator=g); e().uniform_(generator=g); e().random_(generator=g); e().random_(3, generator=g)
e().bernoulli_(0.5, generator=g); e().exponential_(generator=g); e().cauchy_(generator=g); e().geometric_(0.5, generator=g)
e().log_normal_(generator=g); torch.bernoulli(e(), generator=g); torch.normal(e(), 1.0, generator=g)
torch.normal(0.0, e(), generator=g); torch.rand(0, device=d, generator=g); torch.randint(5, (0,), device=d, generator=g)
torch.randperm(0, device=d, generator=g); torch.multinomial(torch.empty(0, 3, device=d), 1, generator=g)
"""


def test_an_empty_tensor_needs_no_generator_of_its_device(on_device):
    """As CUDA builds of torch 2.14.1 answered to these calls, and to those of the four that look at it."""
    calls = [call.strip() for call in EMPTY.replace("\n", ";").split(";") if call.strip()]
    if on_device.name == "mps" and older_than("2.11"):  # without kernels for them
        calls = [call for call in calls if not re.search("cauchy_|geometric_|log_normal_", call)]
    ran = on_device(
        f"""
g, own = torch.Generator(), torch.Generator(d).manual_seed(1)
def e(): return torch.empty(0, device=d)
before = own.get_state()
torch.rand(0, device=d, generator=own)
print(json.dumps([
    [call for call in {calls!r} if raised(eval, call, globals())],
    [raised(torch.poisson, e(), generator=g), raised(torch._standard_gamma, e(), g)],
    raised(torch.empty(1, device=d).normal_, generator=g) is None, torch.equal(before, own.get_state()),
    raised(torch.randperm, 5, generator=g, out=torch.empty(0, dtype=torch.long, device=d)) is None,
    [torch.equal(*[torch.randperm(5, generator=own.manual_seed(3), out=torch.empty(size, dtype=torch.long, device=d))
                   for size in (0, 5)])]]))
"""
    )
    accepted, (poisson, gamma), one, untouched, into_empty, drawn = ran.answer
    assert (into_empty, drawn) == (False, [True]), "what it is written to does not count"
    refused = [] if on_device.name == "cuda" else ["torch.randperm(0, device=d, generator=g)"]  # a check of MPS's own
    assert (accepted, one, untouched) == (refused, False, True)
    if on_device.name == "cuda":
        assert poisson == gamma == ["RuntimeError", "Expected a 'cuda' device type for generator but found 'cpu'"]


def test_a_generator_of_cuda_shares_its_state_with_graphs(warm_child):
    script = """
import json, torch
g = torch.Generator(d).manual_seed(5)
shared, other = g.graphsafe_get_state(), torch.Generator(d)
first = torch.rand(3, device=d, generator=g)
other.graphsafe_set_state(shared)
second = torch.rand(3, device=d, generator=other)
again = torch.Generator(d).manual_seed(5)
print(json.dumps([other.initial_seed(), str(shared.device), *[
    torch.equal(drawn, torch.rand(3, device=d, generator=again)) for drawn in (first, second)],
    torch.equal(g.get_state(), other.get_state()), torch.equal(g.clone_state().get_state(), g.get_state())]))
"""
    ran = warm_child("d = 'cuda'" + script, env={"TORCHDEVICE_SIMULATE": "cuda"})
    assert ran.answer == [5, "cuda", True, True, True, True]
    refused = warm_child("import torch; torch.Generator('mps').graphsafe_get_state()", env={"TORCHDEVICE_SIMULATE": "mps"})
    assert "graphsafe_get_state is not supported in this Generator" in refused.stderr


def test_what_draws_on_the_host_from_the_program(on_device):
    """Cases that programs meet: factories, samplers of a DataLoader, splits, initialisation."""
    ran = on_device(
        """
from torch.utils.data import DataLoader, random_split
g, data = torch.Generator(d), list(range(8))
print(json.dumps([
    raised(torch.rand, 2, generator=g), raised(torch.randperm, 4, generator=g),
    raised(random_split, data, [4, 4], generator=g),
    raised(lambda: next(iter(DataLoader(data, 4, shuffle=True, generator=g)))),
    raised(torch.nn.init.normal_, torch.zeros(3), generator=g),
    raised(torch.multinomial, torch.ones(3), 2, generator=g),
    [torch.rand(2, generator=g, device=d).device.type, str(g.device), str(torch.Generator(f"{d}:0").device),
     raised(torch.rand, 2, generator=torch.Generator()), raised(random_split, data, [4, 4])]]))
"""
    )
    *refused, (kind, own, indexed, *plain) = ran.answer
    name = on_device.name
    host, permuted = HOST[name], next((t for t, n in OWN[name].items() if "randperm" in n), HOST[name])
    # The CPU's own kernel permutes where a call leaves the generator out of the choice.
    assert [text for _, text in refused] == [host, permuted, permuted, refused[3][1], host, host]
    assert refused[3][0] == "RuntimeError" and "generator" in refused[3][1] or "Placeholder" in refused[3][1]
    assert (kind, own, indexed) == (name, "cuda" if name == "cuda" else "mps:0", f"{name}:0")
    assert plain == [None, None]


def test_a_process_that_keeps_going_draws_on_the_host(warm_child):
    ran = warm_child(
        """
import json, torch
first = torch.multinomial(torch.ones(64), 8, generator=torch.Generator("cuda").manual_seed(1))
second = torch.multinomial(torch.ones(64), 8, generator=torch.Generator("cuda").manual_seed(1))
print(json.dumps([first.device.type, torch.equal(first, second)]))
""",
        env={"TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_KEEP_GOING": "on"},
    )
    assert ran.answer == ["cpu", True]


@pytest.mark.skipif(not older_than("2.14"), reason="from torch 2.14 on MPS has a kernel of each op that draws")
def test_a_fallback_draws_on_the_host(warm_child):
    """torch moves the tensors of a call that falls back, not its generator."""
    ran = warm_child(
        """
import json, torch
def raised(call, *args):
    try: call(*args)
    except Exception as error: return str(error)
counts = torch.full((4,), 100.0, device="mps")
def drawn(): return torch.ops.aten.binomial(counts, counts / 200, None)
torch.manual_seed(3); one = drawn(); torch.default_generator.manual_seed(3); two = drawn()
print(json.dumps([str(one.device), torch.equal(one, two),
    raised(torch.ops.aten.binomial, counts, counts / 200, torch.Generator()),
    raised(torch.ops.aten.binomial, counts, counts / 200, torch.Generator("mps"))]))
""",
        env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none", "PYTORCH_ENABLE_MPS_FALLBACK": "1"},
    )
    assert ran.answer == [
        "mps:0", True, None, "Expected a 'cpu' device type for generator but found 'mps'"
    ]  # fmt: skip


@pytest.mark.parametrize("device", ["mps", "mps:0", "cuda"])
def test_a_redirected_generator_draws_on_the_host(warm_child, device):
    ran = warm_child(
        f"""
import json, torch
g = torch.Generator({device!r}).manual_seed(5)
drawn = torch.rand(2, generator=g, device={device!r})
print(json.dumps([str(g.device), torch.equal(drawn, torch.rand(2, generator=torch.Generator().manual_seed(5)))]))
"""
    )
    assert ran.answer == ["cpu", True]
    assert any(line.get("symbol") == "torch.Generator" or "torch.Generator" in str(line) for line in ran.record)
