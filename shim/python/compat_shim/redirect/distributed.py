"""Patches distributed wrappers that take a device as an argument, not from a tensor."""

import inspect

from .. import importing
from ..cuda import process_groups
from ..patching import patch


def apply(torch, redirection):
    _data_parallel(redirection)
    if torch.distributed.is_available():
        _meshes(torch, redirection)
        importing.after(
            "torch.distributed.fsdp.fully_sharded_data_parallel",
            lambda module: _sharded(module, redirection),
        )


def groups(torch, redirection):
    """Groups of NCCL, where CUDA is no device of the host's."""
    if torch.distributed.is_available():
        process_groups.apply(torch, lambda symbol: redirection.redirect(symbol, "cuda"))


def _data_parallel(redirection):
    """DistributedDataParallel(device_ids=[rank]) as for a module that is on the CPU, as it is."""

    def on_the_host(create):
        def __init__(self, module, device_ids=None, output_device=None, *args, **kwargs):
            given = list(device_ids or ()) + ([] if output_device is None else [output_device])
            if len(given) > 0 and all(p.device.type == "cpu" for p in module.parameters()):
                redirection.redirect("torch.nn.parallel.DistributedDataParallel", "cuda")
                # More than one is refused by torch itself.
                device_ids = None if len(device_ids or ()) <= 1 else device_ids
                output_device = None
            create(self, module, device_ids, output_device, *args, **kwargs)

        return __init__

    patch("torch.nn.parallel.DistributedDataParallel", "__init__", on_the_host)


def _meshes(torch, redirection):
    """A device mesh has the device on which its tensors are after redirection, because DTensor and
    FSDP compare the two."""

    def redirected(create):
        def __init__(self, device_type, *args, **kwargs):
            where = redirection.redirect("torch.distributed.DeviceMesh", device_type)
            create(self, torch.device(where).type, *args, **kwargs)

        return __init__

    patch("torch.distributed.device_mesh.DeviceMesh", "__init__", redirected)


def _sharded(module, redirection):
    """FullyShardedDataParallel on the device of its parameters."""

    def redirected(create):
        signature = inspect.signature(create)

        def __init__(*args, **kwargs):
            given = signature.bind(*args, **kwargs)
            asked = given.arguments.get("device_id")
            asked = _name("cuda" if asked is None else asked)
            where = redirection.redirect("torch.distributed.FullyShardedDataParallel", asked)
            given.arguments["device_id"] = module.torch.device(where)
            create(*given.args, **given.kwargs)

        return __init__

    patch(f"{module.__name__}.FullyShardedDataParallel", "__init__", redirected)


def _name(device):
    return f"cuda:{device}" if isinstance(device, int) else str(device)
