import pytest
import torch

from traffic.data import Windows, synthetic_counts
from traffic.model import Forecaster
from traffic.training import evaluate, load, save, train


@pytest.fixture(scope="module")
def windows():
    return Windows(synthetic_counts(hours=60))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Forecaster(sensors=8)


def test_loss_falls(model, windows):
    losses = train(model, windows, epochs=4)
    assert losses[-1] < 0.8 * losses[0]


def test_error_is_in_vehicles(model, windows):
    train(model, windows, epochs=1)
    assert 0 < evaluate(model, windows) < 500


def test_checkpoint_round_trip(model, windows, tmp_path):
    train(model, windows, epochs=1)
    save(model, tmp_path / "model.pt")
    loaded = load(Forecaster(sensors=8), tmp_path / "model.pt")
    assert evaluate(loaded, windows) == pytest.approx(evaluate(model, windows))


def test_loaded_on_the_gpu(model, tmp_path):
    save(model, tmp_path / "model.pt")
    assert next(load(model, tmp_path / "model.pt").parameters()).is_cuda
