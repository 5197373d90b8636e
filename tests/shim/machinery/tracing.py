"""Code that sees an op without running it, or before it runs: fake tensors, tracers, export,
modes."""

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .harness import data, set_weights


def _function(device):
    def f(x):
        return (x.to(device) * torch.full((3,), 2.0, device=device)).sum()

    return f


def _targets(traced):
    """The graph's ops without the copy that `.to` makes where the device is another one."""
    targets = [str(node.target) for node in traced.graph.nodes]
    return [target for target in targets if target != "aten._to_copy.default"]


class _Model(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.where = device
        self.linear = set_weights(nn.Linear(3, 3)).to(device)

    def forward(self, x):
        return self.linear(x.to(self.where)) + torch.ones(3, device=self.where)


def fake_tensors(device):
    with FakeTensorMode() as mode:
        made = torch.empty(2, 3, device=device)
        moved = mode.from_tensor(data(3)).to(device)
        layer = nn.Linear(3, 4, device=device)
        answer = layer(made) + _function(device)(moved)
    return [str(answer.dtype), list(answer.shape), answer.device.type, type(answer).__name__]


def fake_tensors_of_symbolic_shape(device):
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_tensor(data(5, 3))
        y = torch.zeros(x.shape[0], 2, device=device) + x.to(device)[:, :2]
    return [int(y.shape[0]), int(y.shape[1]), y.device.type]


def make_fx_modes(device):
    f, x = _function(device), data(3)
    answers = {}
    for mode in ("real", "fake", "symbolic"):
        traced = make_fx(f, tracing_mode=mode)(x)
        answers[mode] = [_targets(traced), traced(x)]
    traced = make_fx(f, pre_dispatch=True)(x)
    answers["pre_dispatch"] = traced(x)
    return answers


def symbolic_trace(device):
    return torch.fx.symbolic_trace(_Model(device))(data(2, 3))


def jit_trace(device):
    traced = torch.jit.trace(_Model(device), data(2, 3))
    return [traced(data(4, 3)), torch.jit.trace(_function(device), data(3))(data(3))]


def jit_script(device):
    def f(x: torch.Tensor, where: str):
        return torch.ones(3, device=where) + x.to(where) + torch.zeros_like(x, device=where)

    return torch.jit.script(f)(data(3), device)


def jit_freeze_save_load(device):
    import io

    module = torch.jit.freeze(torch.jit.script(set_weights(nn.Linear(3, 2)).to(device).eval()))
    stream = io.BytesIO()
    torch.jit.save(module, stream)
    stream.seek(0)
    return [module(data(2, 3)), torch.jit.load(stream, map_location=device)(data(2, 3))]


def jit_fork(device):
    def f(x: torch.Tensor, where: str):
        one = torch.jit.fork(torch.ones_like, x, device=torch.device(where))
        return torch.jit.wait(one) + x.to(where)

    return torch.jit.script(f)(data(3), device)


def export(device):
    model, x = _Model(device), data(2, 3)
    return [torch.export.export(model, (x,), strict=strict).module()(x) for strict in (0, 1)]


def export_dynamic_and_decomposed(device):
    rows = {"x": {0: torch.export.Dim("rows")}}
    program = torch.export.export(_Model(device), (data(2, 3),), dynamic_shapes=rows)
    return program.run_decompositions().module()(data(5, 3))


def export_save_load(device):
    import io

    stream = io.BytesIO()
    torch.export.save(torch.export.export(_Model(device), (data(2, 3),)), stream)
    stream.seek(0)
    return torch.export.load(stream).module()(data(2, 3))


def aot_export(device):
    from torch._functorch.aot_autograd import aot_export_module

    class Loss(_Model):
        def forward(self, x):
            return (super().forward(x).sum(),)

    traced, signature = aot_export_module(
        Loss(device), (data(2, 3),), trace_joint=True, output_loss_index=0
    )
    return [_targets(traced), len(signature.parameters)]


def dispatch_mode(device):
    """Below the redirection: it sees the same ops, on the device they go to."""
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append([str(func), str((kwargs or {}).get("device"))])
            return func(*args, **(kwargs or {}))

    x = data(3)
    with Mode():
        made = torch.ones(2, device=device)
        torch.zeros_like(x, device=device)
        x.new_empty(2, device=device)
        nn.Linear(2, 2, device=device, bias=False)(made)
    return seen


def function_mode(device):
    """Above the redirection: it sees what was asked for."""
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append([func.__name__, str((kwargs or {}).get("device")) == device])
            return func(*args, **(kwargs or {}))

    with Mode():
        result = torch.ones(2, device=device) + torch.zeros(2, device=device)
    return [seen, result]


def tensor_subclass(device):
    class Mine(torch.Tensor):
        pass

    mine = data(3).as_subclass(Mine)
    moved = mine.to(device) + torch.ones(3, device=device)
    return [type(moved).__name__, moved.as_subclass(torch.Tensor)]


def wrapper_subclass(device):
    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, device=inner.device
            )

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def opened(value):
                return value.inner if isinstance(value, Wrapped) else value

            return Wrapped(func(*map(opened, args), **(kwargs or {})))

    wrapped = Wrapped(data(3)).to(device) + Wrapped(torch.ones(3, device=device))
    return [type(wrapped).__name__, wrapped.inner]
