"""Functions of torch's Python that are about CUDA, wherever its tensors are, and that ask more than
torch._C: legacy types, profiles, versions, NVML, and what is refused before it is tried."""

import functools
import os
import sys

from .. import importing, patching, refusal, versions
from . import extensions, nvml, tables

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
    _legacy_types(torch, devices)
    _profiler(library, devices)
    # Code for CUDA reads and splits it and tells CUDA from ROCm by it. torch's own code reads it
    # too and then finds what a CUDA build with CPU tensors has.
    torch.version.cuda = tables.CUDA_VERSION
    torch._C._has_gds = False
    _hide_from_torch(torch)
    importing.after("torch.cuda._graph_annotations", _without_annotations)
    _refusals(torch, library)
    nvml.apply(torch, library, devices)
    extensions.apply(library)


def _hide_from_torch(torch):
    """torch's compiler writes kernels for an accelerator that is available, and asks Triton's driver
    for it. Questions that it asks while tracing the user's code are the user's. Device meshes of
    torch 2.10 and older make groups of NCCL."""
    package = os.path.dirname(torch.__file__)
    hidden_from = [
        os.path.join(package, "_dynamo", "device_interface.py"),
        os.path.join(package, "_inductor", ""),
        os.path.join(package, "utils", "_triton.py"),
    ]
    if not versions.at_least((2, 11)):
        hidden_from.append(os.path.join(package, "distributed", "device_mesh.py"))

    def hidden(available):
        def is_available():
            return available() and not sys._getframe(1).f_code.co_filename.startswith(tuple(hidden_from))

        return is_available

    patching.patch("torch.cuda", "is_available", hidden)


def _without_annotations(module):
    """Kernels of CUDA graphs are annotated by the driver, which torch would ask for."""
    patching.patch(module.__name__, "_is_tools_id_unavailable", lambda original: lambda: True)


def _legacy_types(torch, devices):
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
            where = devices.redirect(symbol, str(torch.device(device)))
            on_host = (each.cpu() if isinstance(each, of_a_device) else each for each in args)
            return cls.host(*on_host, **kwargs).to(where)

        # Tensor.type() reads the full name from the type itself.
        members = {"__new__": __new__, "host": host, "dtype": host.dtype}
        return LegacyType(symbol, (), {**members, "__module__": module.__name__})

    for module, hosts in ((torch.cuda, torch), (torch.cuda.sparse, torch.sparse)):
        for name in LEGACY_TYPES:
            if hasattr(module, name):
                setattr(module, name, legacy_type(module, getattr(hosts, name)))

    def with_cuda(set_default):
        def set_default_tensor_type(t):
            name = t if isinstance(t, str) else getattr(t, "__name__", "")
            on_cuda = name.startswith("torch.cuda.")
            if on_cuda:
                devices.redirect("torch.set_default_tensor_type", "cuda")
                t = "torch." + name[len("torch.cuda.") :]
            set_default(t)
            if devices.where != "cpu":
                torch.set_default_device("cuda" if on_cuda else None)

        return set_default_tensor_type

    patching.patch("torch", "set_default_tensor_type", with_cuda)


def _profiler(library, devices):
    """A profile of CUDA times CPU ops: without a CUDA profiler, every op would print an error."""

    def of_the_host(create):
        def __init__(self, enabled=True, *, use_cuda=False, use_device=None, **kwargs):
            if use_cuda or use_device == "cuda":
                devices.redirect("torch.autograd.profiler.profile", "cuda")
                use_device = None
                kwargs["use_cpu"] = True
            create(self, enabled, use_device=use_device, **kwargs)

        return __init__

    def without_ranges(enter):
        def __enter__(self):
            if not self.enabled:
                return None
            if self.entered:
                raise RuntimeError("NVTX annotation context manager is not reentrant")
            self.entered = True
            library.note("stub", "torch.autograd.profiler.emit_nvtx")
            return self

        return __enter__

    def leaving(leave):
        def __exit__(self, exc_type, exc_val, exc_tb):
            return False if self.enabled else None

        return __exit__

    patching.patch("torch.autograd.profiler.profile", "__init__", of_the_host)
    patching.patch("torch.autograd.profiler.emit_nvtx", "__enter__", without_ranges)
    patching.patch("torch.autograd.profiler.emit_nvtx", "__exit__", leaving)


def _refusals(torch, library):
    for refused in tables.REFUSED_IN_PYTHON:
        for (module_name, path), symbol in refused.names.items():
            *owners, name = path.split(".")
            holder = patching.find(".".join([module_name, *owners]))
            original = getattr(holder, name, None)
            if holder is None or original is None:
                continue  # of another version of torch
            refusing = refusal.function(library, name, symbol, refused.why, refused.instead)
            refusing = functools.wraps(original)(refusing)  # dynamo looks inside some
            if not owners and getattr(torch.cuda, name, None) is original:
                setattr(torch.cuda, name, refusing)
            setattr(holder, name, refusing)
