"""What only a GPU has."""

import pytest
import torch

from traffic.model import Forecaster
from traffic.training import peak_memory

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_memory_is_counted():
    torch.cuda.reset_peak_memory_stats()
    kept = torch.zeros(2**20, device="cuda")
    assert peak_memory() >= kept.nbytes / 2**20


def test_forecast_in_a_graph():
    model = Forecaster(sensors=8).cuda().eval()
    counts = torch.zeros(2, 12, 8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        forecast = model(counts)
    graph.replay()
    assert forecast.shape == (2, 8)
