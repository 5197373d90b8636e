"""Process groups of NCCL where CUDA is pretended: gloo runs their collectives. A build with CUDA has
NCCL as well, and no device for it."""

import inspect

from .. import patching

SYMBOL = "torch.distributed.ProcessGroupNCCL"


def apply(torch, note):
    """`note(symbol)` writes a group down that was asked for with NCCL."""
    module = torch.distributed.distributed_c10d

    def default():
        """Of the first group, where none is named; other groups have the first one's."""
        accelerator = torch.accelerator.current_accelerator()
        return "nccl" if accelerator is not None and accelerator.type == "cuda" else None

    for name, otherwise in (("init_process_group", default), ("new_group", lambda: None)):
        patching.patch(module.__name__, name, lambda create: _by_gloo(create, otherwise, note))
        setattr(torch.distributed, name, getattr(module, name))


def _by_gloo(create, otherwise, note):
    signature = inspect.signature(create)

    def with_gloo(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        backend = _renamed(given.arguments.get("backend") or otherwise(), note)
        if backend is not None:
            given.arguments["backend"] = backend
        return create(*given.args, **given.kwargs)

    return with_gloo


def _renamed(backend, note):
    """"nccl", or "cpu:gloo,cuda:nccl"."""
    if not isinstance(backend, str) or "nccl" not in backend.lower():
        return backend
    note(SYMBOL)
    return backend.lower().replace("nccl", "gloo")
