import numpy as np
import pytest
import torch

from trainer import DEVICE
from trainer.model import Classifier, build, whiten


def test_shape():
    assert build()(torch.randn(2, 8, 16, device=DEVICE)).shape == (2, 4)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_classes(classes):
    assert build(classes=classes)(torch.randn(5, 8, 16, device=DEVICE)).shape == (5, classes)


def test_built_twice_is_equal():
    for a, b in zip(build().parameters(), build().parameters()):
        assert torch.equal(a, b)


def test_gradients_are_finite():
    model = build()
    model(torch.randn(2, 8, 16, device=DEVICE)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_whiten():
    x = torch.randn(200, 6, device=DEVICE)
    np.testing.assert_allclose(np.cov(whiten(x).cpu().numpy().T), np.eye(6), atol=0.05)


def test_is_on_the_device():
    assert {p.device.type for p in build().parameters()} == {DEVICE.type}


def test_on_cuda():
    model = Classifier().cuda()
    assert model(torch.randn(2, 8, 16).cuda()).is_cuda
