import pytest
import torch

from trainer import DEVICE

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


@needs_cuda
def test_side_stream():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.ones(100, device="cuda") * 2
    torch.cuda.current_stream().wait_stream(stream)
    assert x.sum().item() == 200


@needs_cuda
def test_events():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.ones(1000, 1000, device="cuda").sum()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0


def test_synchronize():
    x = torch.ones(10, device="cuda")
    torch.cuda.synchronize()
    assert x.sum().item() == 10


@needs_cuda
def test_memory_is_counted():
    before = torch.cuda.memory_allocated()
    x = torch.ones(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() >= before + x.numel() * 4


def test_pinned_memory():
    x = torch.ones(10).pin_memory()
    assert x.to("cuda", non_blocking=True).cpu().sum().item() == 10


@pytest.mark.parametrize("n", [1, 1000])
def test_cumulative_sum(n):
    assert torch.ones(n, device=DEVICE).cumsum(0)[-1].item() == n
