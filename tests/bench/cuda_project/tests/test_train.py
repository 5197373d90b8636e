import pytest
import torch

from trainer import DEVICE
from trainer.model import build
from trainer.train import accuracy, train


@pytest.fixture(scope="module")
def trained():
    return train(epochs=3)


def test_loss_falls(trained):
    _, losses = trained
    assert sum(losses[-4:]) < sum(losses[:4])


def test_accuracy(trained):
    model, _ = trained
    assert accuracy(model) > accuracy(build())


def test_weights_change():
    before = build()
    after, _ = train(epochs=1)
    assert any(not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters()))


@pytest.mark.parametrize("lr", [0.001, 0.1])
def test_learning_rates(lr):
    _, losses = train(epochs=1, lr=lr)
    assert all(loss == loss for loss in losses)


def test_running_mean_in_double():
    losses = torch.tensor(train(epochs=1)[1], dtype=torch.float64, device=DEVICE)
    assert losses.mean().item() > 0


def test_weighted_loss():
    weights = torch.tensor([1.0, 2.0, 1.0, 1.0])
    x = torch.randn(4, 4, device=DEVICE)
    torch.nn.functional.cross_entropy(x, torch.zeros(4, dtype=torch.long, device=DEVICE), weight=weights.to(x))
