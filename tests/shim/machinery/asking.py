"""Code for threads and processes: a request of each shape, on known lines. test_machinery.py holds
each line of ask() that names the device to how often ask() ran."""

import torch


def ask(device):
    x = torch.ones(2)
    return [
        torch.zeros(2, device=device),
        torch.full((2,), 2.0, device=torch.device(device)),
        x.to(device),
        torch.zeros_like(x, device=device),
        x.new_ones(2, device=device),
        torch.sparse_coo_tensor(size=(2, 2), device=device),
        torch.nn.PReLU(2, device=device).weight,
    ]


class Twice(torch.autograd.Function):
    """A function whose backward pass asks, too."""

    @staticmethod
    def forward(ctx, x, device):
        ctx.device = device
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ask(ctx.device)[1], None


def backward(device):
    """One backward pass through Twice and a hook, both of which ask: two asks."""
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad + ask(device)[0])
    Twice.apply(x, device).sum().backward()
    return x.grad
