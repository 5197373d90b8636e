import torch
from torch import nn

from trainer import DEVICE


class Classifier(nn.Module):
    def __init__(self, features=16, classes=4):
        super().__init__()
        self.recurrent = nn.LSTM(features, 32, batch_first=True)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x, _ = self.recurrent(x)
        x, _ = self.attention(x, x, x, need_weights=False)
        return self.head(x.mean(dim=1))


def build(**sizes):
    torch.manual_seed(0)
    return Classifier(**sizes).to(DEVICE)


def whiten(x):
    """Decorrelates the columns of x, in double precision."""
    x = x.double()
    x = x - x.mean(dim=0)
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    return (x @ vectors / values.clamp_min(1e-6).sqrt()).float()
