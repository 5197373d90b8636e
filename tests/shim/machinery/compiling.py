"""torch.compile with the backends that generate no code, and what Dynamo says of a function."""

import torch
from torch import nn

from .harness import data, set_weights


def _function(device):
    def f(x):
        y = torch.ones(3, device=device) + x.to(device)
        return (y * torch.arange(3, device=torch.device(device))).sum()

    return f


def _network(device):
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 1))
    return set_weights(net).to(device)


def _each_backend(run):
    answers = {}
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        answers[backend] = run(backend)
    return answers


def function(device):
    return _each_backend(lambda b: torch.compile(_function(device), backend=b)(data(3)))


def fullgraph(device):
    return _each_backend(
        lambda b: torch.compile(_function(device), backend=b, fullgraph=True)(data(3))
    )


def dynamic_shapes(device):
    def run(backend):
        compiled = torch.compile(
            lambda x: torch.zeros(x.shape, device=device) + x.to(device).cumsum(0),
            backend=backend,
            dynamic=True,
        )
        return [compiled(data(n, 2)) for n in (2, 3, 7)]

    return _each_backend(run)


def gradient(device):
    def run(backend):
        leaf = data(3).requires_grad_()
        torch.compile(_function(device), backend=backend)(leaf).backward()
        return leaf.grad

    return _each_backend(run)


def training(device):
    def run(backend):
        net = _network(device)
        compiled = torch.compile(net, backend=backend)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            compiled(data(4, 3).to(device)).pow(2).mean().backward()
            optimizer.step()
        return [*net.parameters(), *net.buffers()]

    return _each_backend(run)


def cuda_method_inside(device):
    def f(x):
        return (x.cuda() if device == "cuda" else x.cpu()) * 2

    return _each_backend(lambda b: torch.compile(f, backend=b, fullgraph=True)(data(4)))


def autocast_inside(device):
    def f(x):
        with torch.autocast(device, dtype=torch.bfloat16):
            return x @ x

    return _each_backend(
        lambda b: torch.compile(f, backend=b, fullgraph=True)(data(4, 4).to(device))
    )


def availability_branch(device):
    def f(x):
        where = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.full_like(x, 2.0, device=where) * x.to(device)

    return _each_backend(lambda b: torch.compile(f, backend=b, fullgraph=True)(data(4)))


def device_context_inside(device):
    def f(x):
        with torch.device(device):
            return torch.ones(4) + x.to(device)

    return _each_backend(lambda b: torch.compile(f, backend=b)(data(4)))


def explained(device):
    """No graph more, no break more, no guard lost: the same graphs as on the CPU."""
    torch._dynamo.reset()
    answers = []
    for f in (_function(device), _network(device)):
        said = torch._dynamo.explain(f)(data(3) if len(answers) == 0 else data(2, 3).to(device))
        answers.append([said.graph_count, said.graph_break_count, said.op_count])
    return answers


def recompilations(device):
    """How often a function is compiled for four inputs of one kind: once."""
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(_function(device), backend=counter)
    values = [compiled(data(3) * n) for n in range(4)]
    return [counter.frame_count, values]
