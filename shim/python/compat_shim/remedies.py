"""Patches Python functions that name a device and reach neither the dispatcher nor the hooks."""

import functools
import os
import sys

from . import autocast, collectives, cuda_tables, nvml, refusal

LEGACY_TYPES = (
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
)


def apply(torch, library, devices):
    """For tensors that are asked for on CUDA and are elsewhere."""
    _storages(torch, library)
    _parallel(torch, devices)
    _attention(torch, library)
    _checkpoint(torch)
    _load(torch)
    _module_moves(torch)
    _optimizers()
    _default_device(torch)
    autocast.apply(torch, library)
    for_any(torch, library, devices)


def for_any(torch, library, devices):
    """For CUDA, wherever its tensors are."""
    _legacy_types(torch, library, devices)
    _profiler(torch, library)
    _version(torch)
    _refusals(torch, library)
    nvml.apply(torch, library, devices)


def for_accelerator(torch):
    """For an accelerator shown as CUDA. torch's compiler writes kernels for an available
    accelerator and accepts only one. Questions that it asks while tracing the user's code are the
    user's."""
    available = torch.cuda.is_available
    package = os.path.dirname(torch.__file__)
    compiler = (
        os.path.join(package, "_dynamo", "device_interface.py"),
        os.path.join(package, "_inductor", ""),
    )

    @functools.wraps(available)
    def is_available():
        return available() and not sys._getframe(1).f_code.co_filename.startswith(compiler)

    torch.cuda.is_available = is_available


def for_simulated(torch, library):
    """For tensors that are on a CUDA whose memory is the host's."""
    _array_interface(torch, library)
    # Between devices that NCCL does not connect, as where two tensors are on one device.
    torch.cuda.nccl.is_available = lambda tensors: False


def _array_interface(torch, library):
    """What other libraries' kernels read the address of a CUDA tensor from."""
    name = "__cuda_array_interface__"
    answer = getattr(torch.Tensor, name).fget

    @functools.wraps(answer)
    def interface(self):
        if self.is_cuda:
            why = "the memory of a simulated device is the host's, which no CUDA kernel can read"
            refusal.refuse(library, f"torch.Tensor.{name}", why, "tensor.cpu() has numpy's interface")
        return answer(self)

    setattr(torch.Tensor, name, property(interface))


def _storages(torch, library):
    """torch.UntypedStorage(n, device="cuda"), and with it torch.load and Storage.cuda()."""
    create = torch.UntypedStorage.__new__

    @functools.wraps(create)
    def __new__(cls, *args, device=None, **kwargs):
        if device is None:
            return create(cls, *args, **kwargs)
        where = library.redirect("torch.UntypedStorage", str(torch.device(device)))
        return create(cls, *args, device=torch.device(where), **kwargs)

    torch.UntypedStorage.__new__ = staticmethod(__new__)


def _legacy_types(torch, library, devices):
    """torch.cuda.FloatTensor and its like, as types, as constructors and as the default."""

    of_a_device = (torch.Tensor, torch.TypedStorage, torch.UntypedStorage)

    class LegacyType(type):
        def __instancecheck__(cls, instance):
            return (
                isinstance(instance, torch.Tensor)
                and devices.holds(instance)
                and (instance.dtype, instance.layout) == (cls.host.dtype, cls.host.layout)
            )

    def legacy_type(module, host):
        symbol = f"{module.__name__}.{host.__name__}"

        def __new__(cls, *args, device="cuda", **kwargs):
            where = library.redirect(symbol, str(torch.device(device)))
            on_host = (each.cpu() if isinstance(each, of_a_device) else each for each in args)
            return cls.host(*on_host, **kwargs).to(where)

        # Tensor.type() reads the full name from the type itself.
        members = {"__new__": __new__, "host": host, "dtype": host.dtype}
        return LegacyType(symbol, (), {**members, "__module__": module.__name__})

    for module, hosts in ((torch.cuda, torch), (torch.cuda.sparse, torch.sparse)):
        for name in LEGACY_TYPES:
            if hasattr(module, name):
                setattr(module, name, legacy_type(module, getattr(hosts, name)))

    set_default = torch.set_default_tensor_type

    @functools.wraps(set_default)
    def set_default_tensor_type(t):
        name = t if isinstance(t, str) else getattr(t, "__name__", "")
        on_cuda = name.startswith("torch.cuda.")
        if on_cuda:
            library.redirect("torch.set_default_tensor_type", "cuda")
            t = "torch." + name[len("torch.cuda.") :]
        set_default(t)
        if devices.where != "cpu":
            torch.set_default_device("cuda" if on_cuda else None)

    torch.set_default_tensor_type = set_default_tensor_type


def _parallel(torch, devices):
    """DataParallel over one device. torch's own runs, and finds the module where it is."""
    module = sys.modules["torch.nn.parallel.data_parallel"]
    parallel = module.DataParallel
    create = parallel.__init__

    @functools.wraps(create)
    def __init__(self, *args, **kwargs):
        create(self, *args, **kwargs)
        if self.device_ids:
            self.src_device_obj = torch.device(devices.where)

    parallel.__init__ = __init__

    @functools.wraps(module.data_parallel)
    def data_parallel(
        module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None
    ):
        if not isinstance(inputs, tuple):
            inputs = () if inputs is None else (inputs,)
        return parallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))

    torch.nn.parallel.data_parallel = module.data_parallel = data_parallel

    for name in ("torch.nn.parallel.comm", "torch.cuda.comm"):
        if name in sys.modules:
            sys.modules[name].reduce_add = collectives.reduce_add(devices)


def _attention(torch, library):
    """sdpa_kernel() with none but kernels that CUDA has: the plain one computes the same."""
    from torch.nn import attention

    choose = attention._sdpa_kernel
    on_host = {attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.MATH}

    @functools.wraps(choose)
    def _sdpa_kernel(backends, *args, **kwargs):
        choose(backends, *args, **kwargs)
        if backends and not on_host.intersection(backends):
            library.note("stub", "torch.nn.attention.sdpa_kernel")
            torch._C._set_sdp_use_math(True)

    attention._sdpa_kernel = _sdpa_kernel


def _profiler(torch, library):
    """A profile of CUDA times CPU ops: without a CUDA profiler, every op would print an error."""
    profiler = torch.autograd.profiler
    create = profiler.profile.__init__

    @functools.wraps(create)
    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, **kwargs):
        if use_cuda or use_device == "cuda":
            library.redirect("torch.autograd.profiler.profile", "cuda")
            use_device = None
            kwargs["use_cpu"] = True
        create(self, enabled, use_device=use_device, **kwargs)

    profiler.profile.__init__ = __init__

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        library.note("stub", "torch.autograd.profiler.emit_nvtx")
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        return False if self.enabled else None

    profiler.emit_nvtx.__enter__, profiler.emit_nvtx.__exit__ = __enter__, __exit__


def _default_device(torch):
    """torch finds the index of a default device by making a tensor on it."""
    ask = torch.get_default_device

    @functools.wraps(ask)
    def get_default_device():
        for mode in reversed(torch.overrides._get_current_function_mode_stack()):
            if isinstance(mode, torch.utils._device.DeviceContext):
                wanted = mode.device
                return torch.device("cuda", 0) if wanted == torch.device("cuda") else ask()
        return ask()

    torch.get_default_device = get_default_device


def _version(torch):
    """torch.version.cuda, as torch._C's answers have it. Code for CUDA reads and splits it and
    tells CUDA from ROCm by it. torch's own code reads it too and then finds what a CUDA build with
    CPU tensors has."""
    torch.version.cuda = cuda_tables.CUDA_VERSION


def _refusals(torch, library):
    for refused in cuda_tables.REFUSED_IN_PYTHON:
        for (module_name, path), symbol in refused.names.items():
            *owners, name = path.split(".")
            holder = sys.modules[module_name]
            for owner in owners:
                holder = getattr(holder, owner)
            refusing = refusal.function(library, name, symbol, refused.why, refused.instead)
            if not owners and getattr(torch.cuda, name, None) is getattr(holder, name):
                setattr(torch.cuda, name, refusing)
            setattr(holder, name, refusing)


def _checkpoint(torch):
    """Checkpointed code runs twice with the same random numbers. torch saves generator states of
    the devices that its tensors are on, and finds none on CUDA."""
    from torch.utils import checkpoint

    find = checkpoint.get_device_states

    @functools.wraps(find)
    def get_device_states(*args):
        devices, states = find(*args)
        return (devices, states) if devices else ([0], [torch.cuda.get_rng_state(0)])

    checkpoint.get_device_states = get_device_states


def capturable_devices(supports_xla: bool = True) -> list[str]:
    """Devices on which Adam(capturable=True), meant for CUDA graphs, may take the same steps. No
    closure: TorchScript compiles this with the optimizers of torch.distributed."""
    return ["cpu", "mps", "cuda", "xpu", "hpu", "privateuseone", "xla"]


def _optimizers():
    known = sys.modules["torch.optim.optimizer"]._get_capturable_supported_devices
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.optim.") and hasattr(module, known.__name__):
            setattr(module, known.__name__, capturable_devices)


def _load(torch):
    """torch.load(map_location="cpu:-1"): a string that is compared, and never parsed."""
    choose = torch.serialization._get_restore_location

    @functools.wraps(choose)
    def _get_restore_location(map_location):
        if map_location == "cpu:-1":
            map_location = torch.device(map_location)
        return choose(map_location)

    torch.serialization._get_restore_location = _get_restore_location


def _module_moves(torch):
    """Module.to("cpu:-1"), which asks no kernel where there is nothing to move."""
    parse = torch._C._nn._parse_to

    def built(value):
        return torch.device(value) if isinstance(value, str) and value == "cpu:-1" else value

    @functools.wraps(parse)
    def _parse_to(*args, **kwargs):
        return parse(*map(built, args), **{name: built(each) for name, each in kwargs.items()})

    torch._C._nn._parse_to = _parse_to
