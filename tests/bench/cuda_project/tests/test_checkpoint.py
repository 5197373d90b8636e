import pytest
import torch

from trainer import DEVICE
from trainer.model import build
from trainer.train import load, save


def test_saved_and_loaded(tmp_path):
    model = build()
    save(model, tmp_path / "model.pt")
    for a, b in zip(model.parameters(), load(tmp_path / "model.pt").parameters()):
        assert torch.equal(a, b)


def test_loaded_is_on_the_device(tmp_path):
    save(build(), tmp_path / "model.pt")
    assert next(load(tmp_path / "model.pt").parameters()).device.type == DEVICE.type


def test_loaded_from_cuda(tmp_path):
    torch.save(torch.ones(3, device="cuda"), tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", map_location="cpu").device.type == "cpu"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
def test_dtypes(tmp_path, dtype):
    torch.save(torch.ones(3, dtype=dtype, device=DEVICE), tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", map_location=DEVICE).dtype == dtype


def test_seed():
    torch.cuda.manual_seed_all(3)
    torch.manual_seed(3)
    a = torch.rand(4, device=DEVICE)
    torch.manual_seed(3)
    assert torch.equal(a, torch.rand(4, device=DEVICE))
