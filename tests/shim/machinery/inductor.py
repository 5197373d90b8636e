"""torch.compile with inductor: the whole way through generated C++ code. Few cases, since each
calls the compiler."""

import torch
from torch import nn

from .harness import data, set_weights


def _compiled(f, **how):
    torch._dynamo.reset()
    return torch.compile(f, backend="inductor", **how)


def fullgraph(device):
    def f(x):
        y = torch.ones(8, device=device) + (x.cuda() if device == "cuda" else x.cpu())
        return (y.sin() * torch.arange(8, device=torch.device(device))).sum()

    return _compiled(f, fullgraph=True)(data(8))


def dynamic_training(device):
    net = set_weights(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))).to(device)
    compiled = _compiled(net, dynamic=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for rows in (4, 5):
        optimizer.zero_grad()
        compiled(data(rows, 3).to(device)).pow(2).mean().backward()
        optimizer.step()
    return list(net.parameters())


def branch_and_autocast(device):
    def f(x):
        where = "cuda" if torch.cuda.is_available() else "cpu"
        with torch.autocast(where, dtype=torch.bfloat16):
            return torch.relu(x.to(device) @ x.to(device)) + 1

    return _compiled(f)(data(4, 4))


def ahead_of_time(device):
    """AOTInductor: exported, compiled, packed, loaded."""
    import os
    import tempfile

    class Model(nn.Module):
        def forward(self, x):
            return (x + torch.ones(4, device=device)).cos()

    x = data(4).to(device)
    with tempfile.TemporaryDirectory() as folder:
        path = torch._inductor.aoti_compile_and_package(
            torch.export.export(Model(), (x,)), package_path=os.path.join(folder, "model.pt2")
        )
        return torch._inductor.aoti_load_package(path)(x)
