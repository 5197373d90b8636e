"""Tests what both simulated devices do alike, in child processes: TorchScript, indices and values on
other devices, integer division, memory."""

import pytest

from conftest import ON_DEVICE, SIMULATED, older_than


def test_torchscript_indexes_with_tensors(on_device):
    """The interpreter's lists of indices have refined types, or lack the optional one."""
    ran = on_device(
        """
def masked(x, i, v): return x[x > 2]
def taken(x, i, v): return x[:, i]
def assigned(x, i, v):
    x = x.clone(); x[x > 2] = v; return x
def added(x, i, v): return x.clone().index_put_([i], v, accumulate=True)
def half(x, i, v): return x.half().index_put([i], v.half(), accumulate=True)
def joined(x, i, v): return torch.cat([x, x + 1]).sum()
def einsum(x, i, v): return torch.einsum("ij,kj->ik", [x, x])
arguments = on([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), on([0, 1]), on(7.0)
answers = {}
for function in (masked, taken, assigned, added, half, joined, einsum):
    scripted = torch.jit.script(function)
    for _ in range(3):
        one = scripted(*arguments)
    two = torch.jit.trace(function, arguments)(*arguments)
    expected = function(*arguments)
    answers[function.__name__] = torch.equal(one, expected) and torch.equal(two, expected)
print(json.dumps(answers))
"""
    )
    assert len(ran.answer) == 7 and all(ran.answer.values()), ran.answer


def test_assigned_values_must_be_on_the_device(on_device):
    """One value may be anywhere where it has no dimensions, or where it fills a mask."""
    ran = on_device(
        """
def assign(target, index, values): target[index] = values
x, indices, mask = on([0.0] * 3), torch.tensor([0, 1]), on([True, False, True])
print(json.dumps([
    raised(assign, x, mask, torch.ones(2)), raised(assign, x, indices, torch.ones(2)),
    raised(assign, torch.zeros(3), indices, on([1.0, 1.0])), raised(x.index_put, [indices], torch.ones(2)),
    raised(x.index_put_, [indices], torch.ones(1)),
    raised(x.index_put_, [indices], torch.ones(2), accumulate=True),
    [raised(assign, x, mask, torch.tensor(1.0)), raised(assign, x, mask, torch.ones(1)),
     raised(assign, x, indices, torch.tensor(1.0)), raised(assign, x, slice(2), torch.ones(2)),
     raised(assign, torch.zeros(3), indices, on(1.0)), raised(assign, x, indices, on([1.0, 1.0])),
     raised(x.index_put_, [indices], torch.tensor(1.0), accumulate=True)]]))
"""
    )
    *refused, accepted = ran.answer
    where = f"{on_device.name}:0"
    two = ["RuntimeError", "Expected all tensors to be on the same device, but found at least two "
           f"devices, {where} and cpu!"]  # fmt: skip
    sorts = ["RuntimeError", f"expected device {where} but got device cpu for value tensor"]
    assert refused == [two] * 5 + [sorts if on_device.name == "cuda" else two]
    assert accepted == [None] * 7


def test_an_integer_divided_by_zero_raises_nothing(on_device):
    ran = on_device(
        """
x, zeros = on([7, -7, 8]), on([0, 0, 2])
signed, unsigned = x.to(torch.int32), on([7], torch.uint8)
inplace = x.clone(); inplace //= zeros
out = torch.empty_like(x); torch.remainder(x, zeros, out=out)
print(json.dumps([each.tolist() for each in (
    x // zeros, inplace, torch.div(signed, 0, rounding_mode="trunc"), unsigned // 0,
    x % zeros, out, torch.fmod(signed, zeros.int()), torch.remainder(5, zeros), 7.0 / zeros)]
    + [raised(lambda: torch.tensor([7]) // 0)[1]]))
"""
    )
    *results, divided, on_the_cpu = ran.answer
    if on_device.name == "cuda":
        half = 2**32 - 1  # what CUDA's division of 64 bits leaves for a dividend that is not negative
        expected = [[half, -1, 4]] * 2 + [[-1, -1, -1], [255]]
        expected += [[half, -1, 0]] * 2 + [[-1, -1, 0], [half, half, 1]]
    else:
        expected = [[-1, -1, 4]] * 2 + [[-1, -1, -1], [255]]
        expected += [[7, -7, 0]] * 2 + [[7, -7, 0], [5, 5, 1]]
    assert results == expected and divided[0] == float("inf")
    assert on_the_cpu == "ZeroDivisionError"


def test_errors_about_dtypes_do_not_name_the_cpu(on_device):
    ran = on_device(
        """
short = on([1, 2], torch.uint16)
print(json.dumps([raised(torch.addcmul, short, short, short), raised(torch.sort, on([1j]))]))
"""
    )
    product, sort = ran.answer
    name = on_device.name
    assert product == ["NotImplementedError", f"\"addcmul_{name}\" not implemented for 'UInt16'"]
    sort[1] = sort[1].strip()
    if older_than("2.9"):  # each device's kernel checks it
        kind = ["RuntimeError", "Sort currently does not support complex dtypes on CUDA."]
        assert sort == kind if name == "cuda" else sort[0] == "ValueError"
        return
    # CUDA's kernel is chosen behind the check that the CPU's has, too.
    where = "CPU" if name == "cuda" else "MPS"
    kind = "RuntimeError" if name == "mps" or older_than("2.15") else "TypeError"
    assert sort == [kind, f"Sort does not support complex dtypes on {where}"]


def test_attention_checks_dtypes_as_torch_does(on_device):
    """With the text of torch's own check, which is the same on every device."""
    ran = on_device(
        """
def attend(where, key=None, mask=None):
    q = torch.ones(1, 1, 4, 8, device=where)
    mask = None if mask is None else torch.ones(4, 4, device=where).to(mask)
    return raised(F.scaled_dot_product_attention, q, q.to(key or q.dtype), q, attn_mask=mask)
calls = [dict(key=torch.half), dict(mask=torch.int64), dict(mask=torch.half), dict(mask=torch.bool), {}]
print(json.dumps([[attend(d, **call), attend("cpu", **call)] for call in calls]))
"""
    )
    assert all(device == cpu for device, cpu in ran.answer), ran.answer
    assert [bool(cpu) for _, cpu in ran.answer] == [True, True, True, False, False]


def test_products_with_weights_of_four_bits(on_device):
    ran = on_device(
        """
torch.manual_seed(0)
n, k, group = 32, 64, 32
weights = torch.randint(0, 16, (n, k))
kept = torch.bfloat16 if d == "cuda" else torch.float32  # CUDA has no other
scales = torch.rand(k // group, n, 2).to(kept)
x = torch.rand(3, k).to(kept)
packed = torch.ops.aten._convert_weight_to_int4pack((weights[:, ::2] * 16 + weights[:, 1::2]).to(torch.uint8).to(d), 2)
found = torch.ops.aten._weight_int4pack_mm(x.to(d), packed, group, scales.to(d)).float()
x, scales = x.float(), scales.float()
each = scales.permute(1, 0, 2).repeat_interleave(group, dim=1)
expected = x @ ((weights - 8) * each[..., 0] + each[..., 1]).t()
print(json.dumps([list(packed.shape), str(packed.dtype), torch.allclose(found.cpu(), expected, rtol=1e-2, atol=1e-4 if d == "mps" else 0.1),
    raised(torch.ops.aten._convert_weight_to_int4pack, torch.ones(32, 32, dtype=torch.int32, device=d), 2)]))
"""
    )
    shape, dtype, equal, wrong = ran.answer
    assert (shape, dtype, equal) == ([4, 2, 32, 1], "torch.int32", True)
    own = "Expected in.dtype() == at::kByte to be true, but got false."
    text = own if on_device.name == "cuda" else "_convert_weight_to_int4pack : expect weight to be kByte."
    assert wrong[0] == "RuntimeError" and wrong[1].startswith(text)


def test_memory_is_a_setting_and_is_usable_after_it_ran_out(on_device):
    ran = on_device(
        """
total = 64 << 20
figures = [total]
if hasattr(torch.accelerator, "get_memory_info"): figures += torch.accelerator.get_memory_info()
figures += [torch.mps.recommended_max_memory()] if d == "mps" else [
    *torch.cuda.mem_get_info(), torch.cuda.get_device_properties(0).total_memory]
kept = []
def fill(make):
    while True: kept.append(make())
x = torch.ones(1 << 20, device=d)
errors = []
for make in (lambda: torch.empty(4 << 20, device=d), lambda: x + 1, lambda: x.cpu().to(d)):
    errors.append(raised(fill, make))
    errors[-1].append(len(kept)); kept.clear()
# No memory of the host is filled first: the outer product has 4 TiB.
errors += [raised(torch.empty, 1 << 40, device=d), raised(lambda: x[:, None] * x)]
print(json.dumps([figures, errors, (x + 1).sum().item(), torch.ones(32 << 20).sum().item()]))
""",
        TORCHDEVICE_DEVICE_MEMORY="64M",
    )
    figures, errors, *sums = ran.answer
    assert set(figures) == {64 << 20} and sums == [2 << 20, 32 << 20]
    cuda = on_device.name == "cuda"
    begin = "CUDA out of memory. Tried to allocate " if cuda else "MPS backend out of memory (MPS allocated: "
    full, larger = errors[:3], errors[3:]
    for (kind, text, count), fits in zip(full, (3, 15, 15)):
        assert kind == ("OutOfMemoryError" if cuda else "RuntimeError")
        assert text.startswith(begin) and "4.00 MiB" in text.replace("16.00 MiB", "4.00 MiB")
        assert "64.00 MiB" in text and count == fits
    for kind, text in larger:
        assert text.startswith("CUDA out of memory. Tried to allocate 4096.00 GiB" if cuda else
                               "Invalid buffer size: 4096.00 GiB"), (kind, text)  # fmt: skip


def test_memory_is_by_default_a_share_of_the_hosts(on_device):
    ran = on_device(
        """
import compat_shim.state as state
total = state.library.host_memory()[1]
limit = state.simulator.device_memory(0)[2]
print(json.dumps([total, limit]))
"""
    )
    total, limit = ran.answer
    assert 0 < limit < total


@pytest.mark.parametrize("size", ["8X", "0", "-1G", "G"])
@pytest.mark.parametrize("device", SIMULATED)
def test_a_memory_size_that_is_none_is_refused(device, warm_child, size):
    ran = warm_child("import torch", env={**SIMULATED[device], "TORCHDEVICE_DEVICE_MEMORY": size})
    assert ran.returncode != 0
    assert f"TORCHDEVICE_DEVICE_MEMORY={size}: must be a size" in ran.stderr


@pytest.mark.parametrize("device", SIMULATED)
def test_a_default_dtype_of_float64_leaves_the_end_of_the_process_alone(device, child):
    """The wait for autograd at exit computes on the device by itself."""
    ran = child(
        ON_DEVICE.format(device=device) + """
torch.set_default_dtype(torch.float64)
x = torch.ones(2, 2, device=d, dtype=torch.float32, requires_grad=True)
(x @ x).sum().backward()
print(json.dumps(str(x.grad.dtype)))
""",
        env=SIMULATED[device],
    )
    assert ran.answer == "torch.float32"
    assert "Error" not in ran.stderr and ran.devices(kind="refusal") == []
