"""Tests the results of simulated MPS that are not the CPU's, in child processes: the order of equal
elements, and rounding inside a graph."""

import pytest

from conftest import older_than


@pytest.fixture
def on_mps(warm_child):
    def run(script):
        return warm_child(
            "import json, torch\n" + script,
            env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"},
        ).answer

    return run


@pytest.mark.skipif(older_than("2.13"), reason="MPSGraph sorts")
def test_sort_leaves_equal_elements_in_the_order_of_the_network(on_mps):
    # Worked out by hand for the four elements of a thread. Where a run ascends, equal elements change
    # places. Runs of 2: (0 1) ascends and (2 3) descends, 1023. Each longer run ascends, and
    # exchanges (0 2)(1 3), then (0 1)(2 3): 3201 for runs of 4, 1023 for 8, and so on to 128.
    answers = on_mps(
        """
ties = torch.zeros(4, dtype=torch.int8, device="mps")
print(json.dumps([
    ties.sort().indices.tolist(), ties.sort(stable=True).indices.tolist(),
    torch.argsort(ties).tolist(), torch.argsort(ties, stable=True).tolist(),
    torch.tensor([3, 1, 2, 0], device="mps").sort().indices.tolist()]))
"""
    )
    unstable = [1, 0, 2, 3]
    assert answers == [unstable, [0, 1, 2, 3], unstable, [0, 1, 2, 3], [3, 1, 2, 0]]


@pytest.mark.skipif(older_than("2.13"), reason="MPSGraph sorts")
def test_sort_is_a_sort_in_each_dtype_dimension_and_size(on_mps):
    answers = on_mps(
        """
torch.manual_seed(0)
wrong, unstable = [], 0
for dtype in (torch.float32, torch.float16, torch.int8, torch.int64, torch.bool):
    for shape, dim in (((5,), 0), ((3, 130), -1), ((140, 2, 3), 0), ((2, 300, 2), 1), ((5000,), 0)):
        for descending in (False, True):
            host = torch.randint(0, 2 if dtype == torch.bool else 9, shape).to(dtype)
            if dtype == torch.float32:
                host.flatten()[::4] = float("nan")
            expected = host.sort(dim=dim, descending=descending, stable=True)
            found = host.to("mps").sort(dim=dim, descending=descending)
            values, indices = found.values.cpu(), found.indices.cpu()
            gathered = host.gather(dim, indices)
            permutes = torch.equal(indices.sort(dim).values, torch.arange(host.shape[dim]).view(
                [-1 if i == dim % host.dim() else 1 for i in range(host.dim())]).expand(host.shape))
            if not (torch.equal(values.nan_to_num(99), expected.values.nan_to_num(99)) and permutes
                    and torch.equal(gathered.nan_to_num(99), values.nan_to_num(99))):
                wrong.append([str(dtype), shape, descending])
            unstable += not torch.equal(indices, expected.indices)
print(json.dumps([wrong, unstable > 20]))
"""
    )
    assert answers == [[], True]


@pytest.mark.skipif(not older_than("2.15"), reason="a Metal kernel, which rounds once")
def test_log_softmax_rounds_each_step_in_half_precision(on_mps):
    answers = on_mps(
        """
x = torch.tensor([0.0, 0.0, -9.0], dtype=torch.bfloat16)
print(json.dumps([
    [torch.log_softmax(x.to(device), 0).tolist() for device in ("cpu", "mps")],
    torch.equal(torch.log_softmax(x.float(), 0), torch.log_softmax(x.float().to("mps"), 0).cpu())]))
"""
    )
    # log(2 + exp(-9)) is 0.69320; bfloat16 has 0.69141 and 0.69531 around it. exp(-9) is lost in the
    # sum, and -9 - 0.69141 is rounded to a multiple of 1/16.
    cpu, mps = answers[0]
    assert mps == [-0.69140625, -0.69140625, -9.6875]
    assert answers[1] and cpu == mps


def test_log_softmax_in_half_precision_has_the_sums_error(on_mps):
    answers = on_mps(
        """
x = torch.linspace(-3, 3, 200).to(torch.bfloat16)
cpu, mps = torch.log_softmax(x, 0), torch.log_softmax(x.to("mps"), 0).cpu()
print(json.dumps([torch.equal(cpu, mps), (cpu - mps).abs().max().item() < 0.1, str(mps.dtype)]))
"""
    )
    assert answers[1:] == [True, "torch.bfloat16"]
    assert answers[0] is not older_than("2.15")
