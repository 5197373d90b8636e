"""Patches distributed wrappers that take a device as an argument, not from a tensor."""

import functools
import inspect
import sys

from .hook import SHARDING


def apply(torch, library):
    _data_parallel(torch, library)
    _meshes(torch, library)
    if SHARDING in sys.modules:
        sharded(sys.modules[SHARDING], library)


def _data_parallel(torch, library):
    """DistributedDataParallel(device_ids=[rank]) as for a module that is on the CPU, as it is."""
    wrapper = torch.nn.parallel.DistributedDataParallel
    create = wrapper.__init__

    @functools.wraps(create)
    def __init__(self, module, device_ids=None, output_device=None, *args, **kwargs):
        given = list(device_ids or ()) + ([] if output_device is None else [output_device])
        if len(given) > 0 and all(p.device.type == "cpu" for p in module.parameters()):
            library.redirect("torch.nn.parallel.DistributedDataParallel", "cuda")
            # More than one is refused by torch itself.
            device_ids = None if len(device_ids or ()) <= 1 else device_ids
            output_device = None
        create(self, module, device_ids, output_device, *args, **kwargs)

    wrapper.__init__ = __init__


def _meshes(torch, library):
    """A device mesh has the device on which its tensors are after redirection, because DTensor and
    FSDP compare the two."""
    if not torch.distributed.is_available():
        return
    mesh = torch.distributed.device_mesh.DeviceMesh
    create = mesh.__init__

    @functools.wraps(create)
    def __init__(self, device_type, *args, **kwargs):
        where = torch.device(library.redirect("torch.distributed.DeviceMesh", device_type))
        create(self, where.type, *args, **kwargs)

    mesh.__init__ = __init__


def sharded(module, library):
    """FullyShardedDataParallel on the device of its parameters. hook.py calls this if its module is
    imported after us."""
    wrapper = module.FullyShardedDataParallel
    create = wrapper.__init__

    signature = inspect.signature(create)

    @functools.wraps(create)
    def __init__(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        asked = given.arguments.get("device_id")
        asked = _name("cuda" if asked is None else asked)
        where = library.redirect("torch.distributed.FullyShardedDataParallel", asked)
        given.arguments["device_id"] = module.torch.device(where)
        create(*given.args, **given.kwargs)

    wrapper.__init__ = __init__


def _name(device):
    return f"cuda:{device}" if isinstance(device, int) else str(device)
