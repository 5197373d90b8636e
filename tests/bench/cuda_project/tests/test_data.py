import numpy as np
import pytest
import torch

from trainer import DEVICE
from trainer.data import batches, histogram


def test_number_of_batches():
    assert len(list(batches(n=64, batch_size=16))) == 4


@pytest.mark.parametrize("size", [1, 7, 64])
def test_last_batch(size):
    assert sum(len(x) for x, _ in batches(batch_size=size)) == 64


def test_is_on_the_device():
    x, y = next(batches())
    assert x.device.type == y.device.type == DEVICE.type


def test_labels():
    labels = torch.cat([y for _, y in batches()])
    assert set(labels.tolist()) <= {0, 1, 2, 3}


def test_histogram():
    x = torch.randn(1000, device=DEVICE)
    assert np.isclose(histogram(x).sum().item(), (x.abs() <= 4).sum().item())
