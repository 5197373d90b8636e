"""Runs one side of the sweep: PyTorch's own samples. Writes the results entry by entry.

    child.py OUT NAME…      each NAME as `entries()` gives them: ops/add, modules/nn.Linear, export/add

Both sides ask for "cuda". With the shim, the shim redirects the requests. Without it, samples are
made under `Reference`, which sends requests for CUDA to the CPU; the tested op then runs plainly.
"""

import contextlib
import copy
import json
import random
import sys
import unittest.mock
import warnings

import numpy
import torch
from torch.overrides import TorchFunctionMode
from torch.testing._internal import common_methods_invocations as ops
from torch.testing._internal import common_modules as modules
from torch.testing._internal import common_optimizers as optims
from torch.utils import _pytree as pytree

import transforms
import values

try:
    import compat_shim

    SHIM = compat_shim.active()
except ImportError:
    SHIM = False

DTYPE = torch.float32
SEED = 1


class Reference(TorchFunctionMode):
    """Answers requests for CUDA on the CPU, in Python. CUDA has its own default generator, as on a
    CUDA machine. Calls for CUDA draw from it, and so do calls that fill or copy such tensors."""

    generator = torch.Generator()

    def __init__(self):
        super().__init__()
        self.made = {}  # by address; kept alive, so that no address is reused

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.device:  # asks for nothing yet; OpInfo chooses samples by it
            return function(*args, **kwargs)
        asks = any(names_cuda(leaf) for leaf in pytree.tree_leaves((args, kwargs)))
        args, kwargs = on_the_cpu((args, kwargs))
        if not asks and not self.follows_what_was_made(function, (args, kwargs)):
            return function(*args, **kwargs)
        cpu_state = torch.get_rng_state()
        torch.set_rng_state(self.generator.get_state())
        try:
            result = function(*args, **kwargs)
        finally:
            self.generator.set_state(torch.get_rng_state())
            torch.set_rng_state(cpu_state)
        if has_an_address(result):
            self.made[result.untyped_storage().data_ptr()] = result
        return result

    def follows_what_was_made(self, function, called):
        name = function.__name__
        if not name.endswith(("_", "_like")) and not name.startswith("new_"):
            return False
        tensors = [leaf for leaf in pytree.tree_leaves(called) if isinstance(leaf, torch.Tensor)]
        return (
            bool(tensors)
            and has_an_address(tensors[0])
            and tensors[0].untyped_storage().data_ptr() in self.made
        )


def has_an_address(value):
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def names_cuda(value):
    return (isinstance(value, torch.device) and value.type == "cuda") or (
        isinstance(value, str) and value.split(":")[0] == "cuda"
    )


def on_the_cpu(tree):
    return pytree.tree_map(lambda leaf: "cpu" if names_cuda(leaf) else leaf, tree)


@contextlib.contextmanager
def samples_made():
    if SHIM:
        yield
        return
    with Reference(), unittest.mock.patch("torch.cuda.is_available", return_value=True):
        yield


def as_asked(tree):
    """A sample's own devices: the shim's work on the one side, the CPU on the other."""
    return tree if SHIM else on_the_cpu(tree)


def seed():
    torch.manual_seed(SEED)
    random.seed(SEED)
    numpy.random.seed(SEED)


def gradients(result, leaves):
    """The gradients of everything differentiable in `result` for the leaves that require them."""
    outputs = [
        t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad
    ]
    inputs = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
    if not outputs or not inputs:
        return None
    weights = [_weights(t) for t in outputs]
    return torch.autograd.grad(outputs, inputs, weights, allow_unused=True)


def _weights(output):
    # Uneven, so that swapped elements are seen; from no generator.
    if output.layout != torch.strided or output.is_nested:
        return torch.ones_like(output)
    steps = torch.arange(output.numel(), dtype=torch.float64).remainder(7).add(0.5)
    return steps.reshape(output.shape).to(output.dtype)


def op_samples(op):
    """(inputs, function) of each sample."""
    iterator = iter(op.sample_inputs("cuda", DTYPE, requires_grad=op.supports_autograd))
    while True:
        seed()
        with samples_made():
            sample = next(iterator, None)
        if sample is None:
            return
        called = as_asked((sample.input, sample.args, sample.kwargs))

        def run(called=called, sample=sample):
            result = op(called[0], *called[1], **called[2])
            grads = None
            if op.supports_autograd:
                grads = gradients(sample.output_process_fn_grad(result), pytree.tree_leaves(called))
            return result, grads

        yield called, run


def module_samples(info):
    for training in (True, False):
        seed()
        with samples_made():
            inputs = info.module_inputs_func(
                info, device="cuda", dtype=DTYPE, requires_grad=True, training=training
            )
        for one in inputs:
            if one.forward_input is None:
                continue
            made = as_asked((one.constructor_input.args, one.constructor_input.kwargs))
            called = as_asked((one.forward_input.args, one.forward_input.kwargs))

            def run(made=made, called=called, training=training):
                module = info.module_cls(*made[0], **made[1])
                module.to(as_asked("cuda")).to(DTYPE).train(training)
                result = module(*called[0], **called[1])
                leaves = pytree.tree_leaves(called) + list(module.parameters())
                return (result, dict(module.state_dict())), gradients(result, leaves)

            yield (made, called), run


def allow_capturable():
    """Allows capturable=True on the CPU, where torch only refuses it."""
    known = sys.modules["torch.optim.optimizer"]._get_capturable_supported_devices
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.optim.") and vars(module).get(known.__name__) is known:
            setattr(module, known.__name__, lambda supports_xla=True: ["cpu"])


def optim_samples(info):
    with samples_made():
        inputs = optims._get_optim_inputs_including_global_cliquey_kwargs(
            "cuda", DTYPE, info, skip=("differentiable",)  # wants no parameters but their copies
        )
    for one in inputs:

        def run(options=one.kwargs):
            where = as_asked("cuda")
            weights = [
                torch.nn.Parameter(torch.randn(5, 4, device=where)),
                torch.nn.Parameter(torch.randn(4, 5, device=where)),
            ]
            data = torch.randn(3, 5, device=where)
            optimizer = info.optim_cls(weights, **copy.deepcopy(as_asked(options)))

            def closure():
                optimizer.zero_grad()
                loss = data.mm(weights[0]).mm(weights[1]).square().mean()
                loss.backward()
                if info.only_supports_sparse_grads:
                    for weight in weights:
                        weight.grad = weight.grad.to_sparse()
                return loss

            losses = [optimizer.step(closure) for _ in range(4)]
            return (losses, [w.detach() for w in weights], optimizer.state_dict()["state"]), None

        yield as_asked(one.kwargs), run


def entries():
    for op in ops.op_db:
        if DTYPE in op.supported_dtypes("cpu"):
            yield f"ops/{transforms.name_of(op)}", op_samples, op
    for info in modules.module_db:
        if DTYPE in info.dtypes:
            yield f"modules/{info.name}", module_samples, info
    for info in optims.optim_db:
        yield f"optims/{info.optim_cls.__name__}", optim_samples, info
    yield from transforms.entries(op_samples, DTYPE)


def error(caught):
    return f"{type(caught).__name__}: {caught}".split("\n")[0][:300]


def run_sample(inputs, run):
    told = {"inputs": values.describe(inputs)}
    seed()
    try:
        result, grads = run()
    except Exception as caught:
        return {**told, "error": error(caught)}
    return {**told, "outputs": values.describe(result), "gradients": values.describe(grads)}


def run_entry(name, samples, info):
    told = {"entry": name, "samples": []}
    if SHIM:
        compat_shim.begin_test(name)
    try:
        for inputs, run in samples(info):
            told["samples"].append(run_sample(inputs, run))
    except Exception as caught:
        told["error"] = error(caught)
    if SHIM:
        told["redirected"] = sum(
            site["count"] for site in compat_shim.sites() if site["kind"] == "redirect"
        )
    return told


def main(out, *wanted):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # Memory that an op leaves as it found it is filled, so that its values compare as well.
    torch.use_deterministic_algorithms(True, warn_only=True)
    if not SHIM:
        torch.cuda.manual_seed_all = Reference.generator.manual_seed  # called by torch.manual_seed
        allow_capturable()
    wanted = set(wanted)
    with open(out, "w") as file:
        for name, samples, info in entries():
            if not wanted or name in wanted:
                file.write(json.dumps(run_entry(name, samples, info)) + "\n")
                file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
