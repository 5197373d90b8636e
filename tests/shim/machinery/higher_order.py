"""Higher-order operators: torch dispatches them in Python, by the keys of the thread's tensors."""

import torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.out_dtype import out_dtype
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.wrap import wrap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils._python_dispatch import TorchDispatchMode

from .harness import data


def _cond(device):
    def f(x):
        x = x.to(device)
        return torch.cond(
            x.sum() > 0, lambda a: a.sin() + torch.ones(3, device=device), lambda a: a.cos(), (x,)
        )

    return f


def _both(device):
    return [_cond(device)(data(3)), _cond(device)(-data(3))]


def cond(device):
    return _both(device)


def cond_without_gradients(device):
    with torch.inference_mode():
        inference = _both(device)
    with torch.no_grad():
        return [inference, _both(device)]


def cond_on_the_cpu(device):
    """Code that names no device is as it was."""
    return [_both("cpu"), torch.ones(1, device=device)]


def cond_gradient(device):
    leaf = data(3).requires_grad_()
    _cond(device)(leaf).sum().backward()
    return leaf.grad


def cond_compiled(device):
    answers = []
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        answers.append(torch.compile(_cond(device), backend=backend, fullgraph=True)(data(3)))
    return answers


def cond_exported(device):
    class Choice(torch.nn.Module):
        def forward(self, x):
            return _cond(device)(x)

    program = torch.export.export(Choice(), (data(3),))
    return [program.module()(data(3)), program.run_decompositions().module()(-data(3))]


def cond_traced(device):
    return [
        make_fx(_cond(device), tracing_mode=mode)(data(3))(-data(3))
        for mode in ("real", "fake", "symbolic")
    ]


def cond_mapped(device):
    """vmap and functionalize each have a rule for it."""

    def f(x, chosen):
        y = x.to(device)
        return torch.cond(chosen.to(device), torch.sin, torch.cos, (y,))

    chosen = torch.tensor([True, False])
    return [
        torch.vmap(f)(data(2, 3), chosen),
        torch.func.functionalize(_cond(device))(data(3)),
    ]


def cond_under_a_mode(device):
    """Modes and subclasses see the operator, or torch's refusal."""

    class Sees(TorchDispatchMode):
        supports_higher_order_operators = True
        seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    class Refuses(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = data(3).to(device)
    with Sees():
        result = torch.ops.higher_order.cond(torch.tensor(True), torch.sin, torch.cos, (x,))
    try:
        with Refuses():
            torch.ops.higher_order.cond(torch.tensor(True), torch.sin, torch.cos, (x,))
        refused = ""
    except NotImplementedError as error:
        refused = str(error).split(" at 0x")[0]
    return [result, "cond" in Sees.seen, refused]


def loops(device):
    x = data(4, 3).to(device)
    return [
        while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + x[0]), (torch.tensor(0), x[1])),
        scan(lambda c, y: (c + y, c * y), data(3).to(device), x),
        associative_scan(torch.add, x, 0, combine_mode="generic"),
        map_(lambda row, y: row * y, x, data(3).to(device)),
        wrap(lambda y: y + 1, x),
    ]


def loop_gradients(device):
    leaf = data(4, 3).requires_grad_()
    x = leaf.to(device)
    total = scan(lambda c, y: (c + y, c * y), data(3).to(device), x)[1].sum()
    total = total + map_(lambda row, y: row * y, x, data(3).to(device)).sum()
    total.backward()
    return leaf.grad


def out_of_another_dtype(device):
    a = torch.arange(6, dtype=torch.int8, device=device).reshape(2, 3)
    return out_dtype(torch.ops.aten.mm.default, torch.int32, a, a.t())


def attention(device):
    q, k, v = (data(1, 2, 128, 16).mul(scale).to(device) for scale in (1, 2, 3))

    def relative(score, b, h, q_index, kv_index):
        return score + (q_index - kv_index)

    causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 128, 128, device=device)
    return [
        flex_attention(q, k, v, score_mod=relative),
        flex_attention(q, k, v, block_mask=causal),
    ]


def defined_later(device):
    """An operator of the program's own, with rules for the CPU, autograd and tracing."""
    from torch._higher_order_ops.utils import autograd_not_implemented
    from torch._ops import HigherOrderOperator

    class Twice(HigherOrderOperator):
        def __init__(self):
            super().__init__("compat_twice")

        def __call__(self, f, x):
            return super().__call__(f, x)

    twice = Twice()
    twice.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)(lambda f, x: f(f(x)))
    twice.py_impl(torch._C.DispatchKey.Autograd)(
        autograd_not_implemented(twice, deferred_error=True)
    )
    return twice(torch.sin, data(3).to(device))


def keys_of_this_thread(device):
    """The keys that a dispatcher in Python would see: none that a run without the shim lacks."""
    torch.ones(1, device=device)
    keys = torch._ops._compute_keyset((data(3),), {}, torch._C._dispatch_keyset_full())
    return [str(keys), str(keys.highestPriorityTypeId())]
