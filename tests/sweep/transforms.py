"""Entries of the sweep beside plain calls: higher-order operators, and PyTorch's ops under what
torch dispatches in Python. An op's first samples are traced, exported and transformed; what came
out, and the graph's code, is compared."""

import itertools

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal import common_methods_invocations as ops
from torch.testing._internal import hop_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

SAMPLES = 2  # of each op: tracing one takes up to a second


class _Every(TorchDispatchMode):
    """Sees every operator, and runs it."""

    supports_higher_order_operators = True

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def _graph(module):
    return [node.format_node() for node in module.graph.nodes if node.op == "call_function"]


def _make_fx(mode, **options):
    def traced(function, tensors):
        module = make_fx(function, tracing_mode=mode, **options)(*tensors)
        return module(*tensors), _graph(module)

    return traced


def _export(function, tensors):
    class Calls(torch.nn.Module):
        def forward(self, *given):
            return function(*given)

    program = torch.export.export(Calls(), tuple(tensors), strict=False)
    decomposed = program.run_decompositions()
    return decomposed.module()(*tensors), _graph(program.graph_module), _graph(decomposed.graph_module)


def _vmap(function, tensors):
    twice = [torch.stack([t.detach(), t.detach()]) for t in tensors]
    return torch.vmap(function, randomness="same")(*twice)


def _sum(result):
    parts = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    return sum(t.sum() for t in parts if t.is_floating_point())


def _grad(function, tensors):
    plain = [t.detach() for t in tensors]
    wanted = tuple(n for n, t in enumerate(plain) if t.is_floating_point())
    return torch.func.grad(lambda *given: _sum(function(*given)), argnums=wanted)(*plain)


def _jvp(function, tensors):
    plain = tuple(t.detach() for t in tensors)
    return torch.func.jvp(function, plain, tuple(torch.ones_like(t) for t in plain))


def _functionalize(function, tensors):
    return torch.func.functionalize(function)(*[t.detach() for t in tensors])


def _under_a_mode(function, tensors):
    with _Every() as mode:
        result = function(*tensors)
    return result, mode.seen


def _compile(function, tensors):
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager")(*tensors)


WAYS = {
    "make_fx_real": _make_fx("real"),
    "make_fx_fake": _make_fx("fake"),
    "make_fx_symbolic": _make_fx("symbolic"),
    "make_fx_before_dispatch": _make_fx("real", pre_dispatch=True),
    "export": _export,
    "vmap": _vmap,
    "grad": _grad,
    "jvp": _jvp,
    "functionalize": _functionalize,
    "mode": _under_a_mode,
    "compile": _compile,
}


def samples_under(way, op_samples):
    """op_samples() of the sweep's child, each run under `way`. Tensors in the arguments become the
    function's own arguments; what else they are stays as it is."""

    def transformed(op):
        for called, _ in itertools.islice(op_samples(op), SAMPLES):
            leaves, spec = pytree.tree_flatten(called)
            places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

            def function(*tensors, leaves=leaves, spec=spec, places=places):
                given = list(leaves)
                for place, tensor in zip(places, tensors):
                    given[place] = tensor
                input, args, kwargs = pytree.tree_unflatten(given, spec)
                return op(input, *args, **kwargs)

            def run(function=function, tensors=[leaves[n] for n in places]):
                return WAYS[way](function, tensors), None

            yield called, run

    return transformed


def name_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def entries(op_samples, dtype):
    """(name, samples, op): hops/scan.simple plain, and WAY/OP for each way, of both databases."""
    both = [*hop_db.hop_db, *ops.op_db]
    supported = [op for op in both if dtype in op.supported_dtypes("cpu")]
    for op in hop_db.hop_db:
        yield f"hops/{name_of(op)}", op_samples, op
    for way in WAYS:
        for op in supported:
            yield f"{way}/{name_of(op)}", samples_under(way, op_samples), op
