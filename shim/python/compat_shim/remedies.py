"""What names a device and reaches neither the dispatcher nor the hooks."""

import functools
import sys

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


def apply(torch, library):
    _storages(torch, library)
    _legacy_types(torch, library)
    _autocast(torch, library)
    _data_parallel()
    _profiler(torch, library)
    _checkpoint(torch)
    _load(torch)


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


def _legacy_types(torch, library):
    """torch.cuda.FloatTensor and its like, as types, as constructors and as the default."""

    class LegacyType(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, cls.host)

    def legacy_type(name):
        symbol = "torch.cuda." + name

        def __new__(cls, *args, **kwargs):
            library.redirect(symbol, "cuda")
            return cls.host(*args, **kwargs)

        # Tensor.type() reads the full name from the type itself.
        host = getattr(torch, name)
        members = {"__new__": __new__, "host": host, "dtype": host.dtype}
        return LegacyType(symbol, (), {**members, "__module__": "torch.cuda"})

    for name in LEGACY_TYPES:
        if hasattr(torch.cuda, name):
            setattr(torch.cuda, name, legacy_type(name))

    set_default = torch.set_default_tensor_type

    @functools.wraps(set_default)
    def set_default_tensor_type(t):
        name = t if isinstance(t, str) else getattr(t, "__name__", "")
        if name.startswith("torch.cuda."):
            library.redirect("torch.set_default_tensor_type", "cuda")
            t = "torch." + name[len("torch.cuda.") :]
        return set_default(t)

    torch.set_default_tensor_type = set_default_tensor_type


def _autocast(torch, library):
    """autocast("cuda") stays what it says, and the CPU's autocast goes with it: tensors are there.
    Where code asks whether CUDA autocast is on, torch itself answers."""
    autocast = torch.amp.autocast_mode.autocast
    enter, leave = autocast.__enter__, autocast.__exit__
    scripting = torch._jit_internal.is_scripting
    host_dtypes = (torch.bfloat16, torch.float16)

    @functools.wraps(enter)
    def __enter__(self):
        if self.device == "cuda" and not scripting():
            host = library.redirect("torch.autocast", "cuda")
            self._host_before = (
                host,
                torch.is_autocast_enabled(host),
                torch.get_autocast_dtype(host),
            )
            on = self._enabled and self.fast_dtype in host_dtypes
            torch.set_autocast_enabled(host, on)
            if on:
                torch.set_autocast_dtype(host, self.fast_dtype)
        return enter(self)

    @functools.wraps(leave)
    def __exit__(self, exc_type, exc_val, exc_tb):
        result = leave(self, exc_type, exc_val, exc_tb)
        if self.device == "cuda" and not scripting():
            host, enabled, dtype = self._host_before
            torch.set_autocast_enabled(host, enabled)
            torch.set_autocast_dtype(host, dtype)
        return result

    autocast.__enter__, autocast.__exit__ = __enter__, __exit__


def _data_parallel():
    """torch.nn.DataParallel as on a machine without devices: the module itself is called."""
    module = sys.modules["torch.nn.parallel.data_parallel"]
    module._get_available_device_type = lambda: None


def _profiler(torch, library):
    """A profile of CUDA times CPU ops only: without a CUDA profiler, every op would print an error."""
    profile = torch.autograd.profiler.profile
    create = profile.__init__

    @functools.wraps(create)
    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, **kwargs):
        if use_cuda or use_device == "cuda":
            library.redirect("torch.autograd.profiler.profile", "cuda")
            use_device = None
        create(self, enabled, use_device=use_device, **kwargs)

    profile.__init__ = __init__


def _checkpoint(torch):
    """Checkpointed code runs twice with the same random numbers. torch keeps the state of the
    devices that it finds tensors on, and none is found on CUDA."""
    from torch.utils import checkpoint

    find = checkpoint.get_device_states

    @functools.wraps(find)
    def get_device_states(*args):
        devices, states = find(*args)
        return (devices, states) if devices else ([0], [torch.cuda.get_rng_state(0)])

    checkpoint.get_device_states = get_device_states


def _load(torch):
    """torch.load(map_location="cpu:-1"): a string that is compared, and never parsed."""
    choose = torch.serialization._get_restore_location

    @functools.wraps(choose)
    def _get_restore_location(map_location):
        if map_location == "cpu:-1":
            map_location = torch.device(map_location)
        return choose(map_location)

    torch.serialization._get_restore_location = _get_restore_location
