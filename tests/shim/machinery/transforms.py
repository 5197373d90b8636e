"""torch.func: transforms of functions that ask for a device inside."""

import torch
from torch import nn

from .harness import data, set_weights


def _function(device):
    def f(x):
        return (x.to(device).sin() * torch.arange(1.0, 4.0, device=device)).pow(2).sum()

    return f


def vmap(device):
    nested = torch.vmap(torch.vmap(_function(device)))
    return [torch.vmap(_function(device))(data(2, 3)), nested(data(2, 2, 3))]


def vmap_chunked_and_out_dims(device):
    def f(x):
        return x.to(device).outer(torch.ones(2, device=device))

    return torch.vmap(f, in_dims=1, out_dims=2, chunk_size=2)(data(3, 5))


def vmap_randomness(device):
    """Different: no two rows alike. Same: all alike. Error: the same refusal."""

    def f(x):
        return x.to(device) * 0 + torch.rand(64, device=device)

    rows = torch.zeros(3, 64)
    different = torch.vmap(f, randomness="different")(rows)
    same = torch.vmap(f, randomness="same")(rows)
    try:
        refused = torch.vmap(f)(rows)
    except RuntimeError as error:
        refused = str(error)
    return [len({tuple(row.tolist()) for row in x}) for x in (different, same)] + [refused]


def grad(device):
    f = _function(device)
    return [torch.func.grad(f)(data(3)), torch.vmap(torch.func.grad(f))(data(4, 3))]


def jacobians(device):
    def f(x):
        return x.to(device).cumsum(0) * torch.full((3,), 2.0, device=device)

    return [torch.func.jacrev(f)(data(3)), torch.func.jacfwd(f)(data(3))]


def hessian(device):
    return torch.func.hessian(_function(device))(data(3))


def jvp_and_vjp(device):
    f, x = _function(device), data(3)
    value, pull = torch.func.vjp(f, x)
    return [torch.func.jvp(f, (x,), (torch.ones(3),)), value, pull(torch.tensor(1.0))]


def forward_ad(device):
    import torch.autograd.forward_ad as forward

    with forward.dual_level():
        dual = forward.make_dual(data(3), torch.ones(3))
        return list(forward.unpack_dual(_function(device)(dual)))


def functionalize(device):
    def f(x):
        y = torch.zeros(3, device=device)
        y.add_(x.to(device))
        y[0].mul_(3)
        return y

    return torch.func.functionalize(f)(data(3))


def functional_call(device):
    layer = set_weights(nn.Linear(3, 2)).to(device)
    stacked = {name: torch.stack([p, p * 2]) for name, p in layer.named_parameters()}

    def call(parameters, x):
        return torch.func.functional_call(layer, parameters, (x.to(device),))

    return torch.vmap(call, in_dims=(0, None))(stacked, data(4, 3))


def double_backward(device):
    x = data(3).requires_grad_()
    (first,) = torch.autograd.grad(_function(device)(x), x, create_graph=True)
    return [first, *torch.autograd.grad(first.pow(2).sum(), x)]


def gradcheck(device):
    x = data(3).double().requires_grad_()
    return torch.autograd.gradcheck(lambda x: x.to(device).pow(3), x)


def autograd_functional(device):
    return list(torch.autograd.functional.vhp(_function(device), data(3), torch.ones(3)))


def saved_tensor_hooks(device):
    packed = []

    def pack(x):
        packed.append(list(x.shape))
        return x.to(device)

    x = data(3).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x.to(device)):
        y = (x * x.exp()).sum()
    y.backward()
    return [packed, x.grad]


def save_on_cpu(device):
    x = data(3).to(device).requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    return x.grad


def checkpointed(device):
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    answers = []
    for reentrant in (True, False):
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.0), nn.Linear(3, 3))
        net = set_weights(net).to(device)
        x = data(2, 3).requires_grad_()
        with torch.autocast(device, dtype=torch.bfloat16):
            y = checkpoint(net, x.to(device), use_reentrant=reentrant)
            y = checkpoint_sequential(net, 2, y.float(), use_reentrant=reentrant)
        y.sum().backward()
        answers.append([y, x.grad, *(p.grad for p in net.parameters())])
    return answers
