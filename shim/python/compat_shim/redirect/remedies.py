"""Patches Python functions that name a device and reach neither the dispatcher nor the hooks."""

import numbers
import sys

from ..cuda import collectives, python_side
from ..patching import find, patch
from . import autocast


def for_any(torch, redirection):
    """For requests that name a device which is missing, whichever it is."""
    _storages(torch, redirection)
    _load(torch)
    _module_moves(torch)
    autocast.apply(torch, redirection)


def for_cuda(torch, library, redirection, devices):
    """For tensors that are asked for on CUDA and are elsewhere."""
    _parallel(torch, devices)
    _attention(torch, library)
    _checkpoint(torch)
    _optimizers()
    _default_device(torch)
    if devices.where != "cpu":
        _integers(torch, devices)
    python_side.apply(torch, library, devices)


def _storages(torch, redirection):
    """torch.UntypedStorage(n, device="cuda"), and with it torch.load and Storage.cuda()."""

    def redirected(create):
        def __new__(cls, *args, device=None, **kwargs):
            if device is None:
                return create(cls, *args, **kwargs)
            where = redirection.redirect("torch.UntypedStorage", str(torch.device(device)))
            return create(cls, *args, device=torch.device(where), **kwargs)

        return __new__

    patch("torch.UntypedStorage", "__new__", redirected)


def _parallel(torch, devices):
    """DataParallel over one device. torch's own runs, and finds the module where it is."""
    parallel = torch.nn.DataParallel

    def on_the_device(create):
        def __init__(self, *args, **kwargs):
            create(self, *args, **kwargs)
            if self.device_ids:
                self.src_device_obj = torch.device(devices.where)

        return __init__

    def by_the_class(original):
        def data_parallel(
            module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None
        ):
            if not isinstance(inputs, tuple):
                inputs = () if inputs is None else (inputs,)
            return parallel(module, device_ids, output_device, dim)(
                *inputs, **(module_kwargs or {})
            )

        return data_parallel

    patch("torch.nn.parallel.data_parallel.DataParallel", "__init__", on_the_device)
    for owner in ("torch.nn.parallel", "torch.nn.parallel.data_parallel"):
        patch(owner, "data_parallel", by_the_class)
    for owner in filter(find, ("torch.nn.parallel.comm", "torch.cuda.comm")):
        patch(owner, "reduce_add", lambda original: collectives.reduce_add(devices))


def _attention(torch, library):
    """sdpa_kernel() with none but kernels that CUDA has: the plain one computes the same."""
    backend = torch.nn.attention.SDPBackend
    on_host = {backend.FLASH_ATTENTION, backend.MATH}

    def with_math(choose):
        def _sdpa_kernel(backends, *args, **kwargs):
            choose(backends, *args, **kwargs)
            if backends and not on_host.intersection(backends):
                library.note("stub", "torch.nn.attention.sdpa_kernel")
                torch._C._set_sdp_use_math(True)

        return _sdpa_kernel

    patch("torch.nn.attention", "_sdpa_kernel", with_math)


def _default_device(torch):
    """torch finds the index of a default device by making a tensor on it."""

    def with_index(ask):
        def get_default_device():
            for mode in reversed(torch.overrides._get_current_function_mode_stack()):
                if isinstance(mode, torch.utils._device.DeviceContext):
                    wanted = mode.device
                    return torch.device("cuda", 0) if wanted == torch.device("cuda") else ask()
            return ask()

        return get_default_device

    patch("torch", "get_default_device", with_index)


def _integers(torch, devices):
    """Tensor.cuda(0): torch takes an integer for the accelerator that it has, and refuses it here."""
    accelerator = torch.device(devices.where).type

    def on_cuda(move):
        def cuda(self, device=None, *args, **kwargs):
            if isinstance(device, numbers.Integral) and not isinstance(device, bool):
                device = f"cuda:{int(device)}"
            elif isinstance(device, torch.device) and device.type == accelerator:
                device = torch.device("cuda", device.index or 0)
            return move(self, device, *args, **kwargs)

        return cuda

    patch("torch.Tensor", "cuda", on_cuda)


def _checkpoint(torch):
    """Checkpointed code runs twice with the same random numbers. torch saves generator states of
    the devices that its tensors are on, and finds none on CUDA."""

    def with_cuda(find):
        def get_device_states(*args):
            devices, states = find(*args)
            return (devices, states) if devices else ([0], [torch.cuda.get_rng_state(0)])

        return get_device_states

    patch("torch.utils.checkpoint", "get_device_states", with_cuda)


def capturable_devices(supports_xla: bool = True) -> list[str]:
    """Devices on which Adam(capturable=True), meant for CUDA graphs, may take the same steps. No
    closure: TorchScript compiles this with the optimizers of torch.distributed."""
    return ["cpu", "mps", "cuda", "xpu", "hpu", "privateuseone", "xla"]


def _optimizers():
    known = "_get_capturable_supported_devices"
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.optim.") and hasattr(module, known):
            setattr(module, known, capturable_devices)


def _load(torch):
    """torch.load(map_location="cpu:-1"): a string that is compared, and never parsed."""

    def parsed(choose):
        def _get_restore_location(map_location):
            if map_location == "cpu:-1":
                map_location = torch.device(map_location)
            return choose(map_location)

        return _get_restore_location

    patch("torch.serialization", "_get_restore_location", parsed)


def _module_moves(torch):
    """Module.to("cpu:-1"), which asks no kernel where there is nothing to move."""

    def built(value):
        return torch.device(value) if isinstance(value, str) and value == "cpu:-1" else value

    def with_devices(parse):
        def _parse_to(*args, **kwargs):
            return parse(*map(built, args), **{name: built(each) for name, each in kwargs.items()})

        return _parse_to

    patch("torch._C._nn", "_parse_to", with_devices)
