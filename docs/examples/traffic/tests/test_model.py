import pytest
import torch

from traffic.model import Forecaster, count_parameters, position_code, road_network


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Forecaster(sensors=8).cuda()


def test_rows_of_the_network_sum_to_one():
    assert torch.allclose(road_network(8).to_dense().sum(1), torch.ones(8))


def test_position_codes_are_orthonormal():
    code = position_code(8, 4)
    assert torch.allclose(code.t() @ code, torch.eye(4, device="cuda"), atol=1e-5)


def test_forecast_of_each_sensor(model):
    assert model(torch.zeros(2, 12, 8, device="cuda")).shape == (2, 8)


def test_gradients_reach_every_parameter(model):
    model(torch.rand(2, 12, 8, device="cuda")).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_forecast_spreads_to_neighbours(model):
    alone = torch.zeros(1, 8, device="cuda")
    alone[0, 3] = 3.0
    assert model.spread(alone)[0].tolist() == pytest.approx([0, 0, 1, 1, 1, 0, 0, 0], abs=1e-6)


def test_parameters_are_counted():
    assert count_parameters(torch.nn.Linear(3, 2)) == 8
