import pytest
import torch

from trainer import DEVICE
from trainer.train import train


def test_loss_falls():
    _, losses = train(epochs=2, amp=True)
    assert sum(losses[-4:]) < sum(losses[:4])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_linear(dtype):
    layer = torch.nn.Linear(8, 8, device=DEVICE)
    with torch.autocast(DEVICE.type, dtype=dtype):
        assert layer(torch.randn(2, 8, device=DEVICE)).dtype == dtype


def test_cuda_autocast():
    layer = torch.nn.Linear(8, 8).cuda()
    with torch.autocast("cuda"):
        assert layer(torch.randn(2, 8, device="cuda")).dtype == torch.float16


def test_scaler_on_cuda():
    scaler = torch.amp.GradScaler("cuda")
    weight = torch.ones(3, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() > 0


def test_sums_in_float():
    x = torch.full((10000,), 0.1, dtype=torch.float16, device=DEVICE)
    assert abs(x.sum(dtype=torch.float32).item() - 1000) < 1
