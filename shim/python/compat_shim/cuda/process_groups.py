"""Process groups of NCCL where CUDA is pretended: gloo runs their collectives. A build with CUDA has
NCCL as well, and no device for it."""

import functools
import inspect

from .. import patching

SYMBOL = "torch.distributed.ProcessGroupNCCL"
_GROUP = "torch.distributed.backends"  # of entry points, from torch 2.14 on


@functools.lru_cache(maxsize=None)
def _names():
    """NCCL's names in this torch: those that torch itself registers."""
    from importlib import metadata

    found = [
        each.name.lower()
        for torch in metadata.distributions(name="torch")
        for each in torch.entry_points
        if each.group == _GROUP and each.name.lower().startswith("nccl")
    ]
    return ("nccl", *found)


def apply(torch, note):
    """`note(symbol)` writes a group down that was asked for with NCCL."""
    module = torch.distributed.distributed_c10d

    def default():
        """The first group's backend, if none is named; other groups use the first one's."""
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
    """`backend`, "nccl" or "cpu:gloo,cuda:nccl", with gloo in the place of NCCL."""
    if not isinstance(backend, str):
        return backend
    parts = [part.rpartition(":") for part in backend.lower().split(",")]
    if not any(name in _names() for _, _, name in parts):
        return backend
    note(SYMBOL)
    return ",".join(
        device + colon + ("gloo" if name in _names() else name) for device, colon, name in parts
    )
