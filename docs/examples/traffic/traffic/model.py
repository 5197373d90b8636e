"""An LSTM for each sensor's past, attention between sensors, and the road network as a sparse matrix."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def road_network(sensors):
    """Each sensor and its neighbours along a ring road, as a sparse matrix whose rows sum to 1."""
    here = torch.arange(sensors)
    rows = here.repeat(3)
    columns = torch.cat([here, (here + 1) % sensors, (here - 1) % sensors])
    values = torch.full((3 * sensors,), 1 / 3)
    return torch.sparse_coo_tensor(torch.stack([rows, columns]), values, (sensors, sensors),
                                   check_invariants=True).coalesce()


def position_code(sensors, width):
    """The eigenvectors of the network's Laplacian: sensors that are close get codes that are close."""
    laplacian = torch.eye(sensors) - road_network(sensors).to_dense()
    return torch.linalg.eigh(laplacian.cuda()).eigenvectors[:, :width]


class Forecaster(nn.Module):
    def __init__(self, sensors, width=16):
        super().__init__()
        self.network = road_network(sensors).cuda()
        self.past = nn.LSTM(1, width, batch_first=True)
        self.place = nn.Linear(4, width)
        self.code = position_code(sensors, 4)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, 1)

    def forward(self, counts):
        """counts[batch, hour, sensor] -> the next hour's [batch, sensor]."""
        batch, hours, sensors = counts.shape
        past, _ = self.past(counts.transpose(1, 2).reshape(batch * sensors, hours, 1))
        state = past[:, -1].reshape(batch, sensors, -1) + self.place(self.code)
        query, key, value = self.qkv(state).chunk(3, dim=-1)
        state = state + F.scaled_dot_product_attention(query, key, value)
        return self.spread(self.out(state).squeeze(-1))

    def spread(self, forecast):
        """Mix each sensor's forecast with its neighbours'."""
        with torch.autocast("cuda", enabled=False):
            return torch.sparse.mm(self.network, forecast.float().t()).t()


def count_parameters(model):
    return sum(math.prod(p.shape) for p in model.parameters())
