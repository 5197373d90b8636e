"""NCCL between simulated CUDA devices: torch.distributed's ProcessGroupNCCL, in the library
_compat_nccl (simulate/nccl/), and what Python asks about it."""

import datetime
import functools
import hashlib
import importlib
import os
import re
import weakref

from .. import library as libraries
from .. import refusal

# The functions of torch.distributed.distributed_c10d that make a group of NCCL.
_MAKER = re.compile(r"_create_nccl\w*_process_group")
_GROUP = "ProcessGroupNCCL"


def install(torch, library, settings):
    """Whether there is one: not in builds of torch without torch.distributed, or with one whose
    backends are others."""
    if not torch.distributed.is_available():
        return False
    # Object collectives ask for it, also those of gloo.
    torch._C._distributed_c10d._hash_tensors = functools.partial(_hash_tensors, torch)
    try:
        native = libraries.beside(library, "_compat_nccl")
    except ModuleNotFoundError:
        return False
    _set_faults(native, settings.faults)
    timeout = datetime.timedelta(minutes=10)  # ProcessGroupNCCL.hpp
    c10d = torch.distributed.distributed_c10d
    native.ProcessGroupNCCL2.Options = native.ProcessGroupNCCL.Options
    groups = {name: _class(native, name) for name in _classes(c10d)}
    _count_steps_with(list(groups.values()), torch, library)
    for name, group in groups.items():
        _complete(group, getattr(c10d, name, None))
        group.__module__ = "torch.distributed.distributed_c10d"
        for module in (torch._C._distributed_c10d, c10d, torch.distributed):
            setattr(module, name, group)
    c10d._NCCL_AVAILABLE = True
    torch._C._distributed_c10d._DEFAULT_PG_NCCL_TIMEOUT = timeout
    for module in (c10d, torch.distributed.constants):
        module.default_pg_nccl_timeout = timeout
    major, minor, patch = native.nccl_version
    torch._C._nccl_version = lambda: major << 32 | minor << 16 | patch
    torch._C._nccl_version_suffix = lambda: b""
    # Waits for all enqueued work, also for collectives whose handles nobody waited for.
    torch._C._cuda_synchronize = native.wait_for_all
    return True


def _classes(c10d):
    """The names of the groups' classes in this torch."""
    makers = [value for name, value in vars(c10d).items() if _MAKER.fullmatch(name)]
    named = {word for maker in makers for word in maker.__code__.co_names if word.startswith(_GROUP)}
    return sorted({_GROUP, *named})


def _class(native, name):
    """Newer ones are like the second: made with options and a device."""
    second = native.ProcessGroupNCCL2
    return getattr(native, name, None) or type(name, (second,), {})


def _complete(ours, theirs):
    """Adds members of a build with NCCL that we lack: a number stays, an option can be set and has
    no effect, and a function is refused."""
    for name, value in vars(theirs or object).items():
        if hasattr(ours, name):
            own = getattr(ours, name)
            if isinstance(value, type) and own is not value:
                _complete(own, value)
        elif isinstance(value, property):
            setattr(ours, name, None)
        elif callable(value):
            setattr(ours, name, _refused(f"torch.distributed.{ours.__name__}.{name}"))
        else:
            setattr(ours, name, value)


def _refused(symbol):
    def refusing(*args, **kwargs):
        refusal.not_simulated(symbol, "NCCL's own library does it", "leave it out")

    return refusing


def _hash_tensors(torch, tensors):
    """For the log of object collectives, with TORCH_DISTRIBUTED_DEBUG. Equal for equal bytes."""
    digest = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        digest.update(bytes(tensor.detach().cpu().flatten().view(torch.uint8).tolist()))
    return int.from_bytes(digest.digest(), "little")


def _set_faults(native, faults):
    """Those of this start: torchrun restarts its processes after a fault, with the same variables."""
    restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)
    native.set_faults([fault[:4] for fault in faults if fault.restart == restart])


def _count_steps_with(groups, torch, library):
    """From a process's first group on, of whichever class, count its optimizers' steps. Without a
    group, torch has no hook of ours."""
    inits = {group: group.__init__ for group in groups}

    def counting(init):
        @functools.wraps(init)
        def first_init(self, *args, **kwargs):
            for group, own in inits.items():
                group.__init__ = own
            optimizers = importlib.import_module("torch.optim.optimizer")
            optimizers.register_optimizer_step_post_hook(_step_counter(torch, library))
            init(self, *args, **kwargs)

        return first_init

    for group, init in inits.items():
        group.__init__ = counting(init)


def _step_counter(torch, library):
    """A hook of optimizers. Several optimizers that take turns make one step together: a step is
    over when one of them steps a second time."""
    stepped = weakref.WeakSet()  # in the step that runs

    def count(optimizer, _args, _kwargs):
        # The step itself may be compiled.
        if torch.compiler.is_compiling() or not torch.distributed.is_initialized():
            return
        if not stepped or optimizer in stepped:
            stepped.clear()
            library.note_optimizer_step(torch.distributed.get_world_size())
        stepped.add(optimizer)

    return count
