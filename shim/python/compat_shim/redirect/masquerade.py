"""To code outside torch, a tensor on the host's accelerator answers as one on cuda:0, which that
code asked for. To torch's own code it answers its real device, because torch computes by it.

It applies only on an accelerator: a CPU tensor carries no mark of what was asked for. It ends when
the program asks for the device by its own name: such code knows the device, and what it asked for
must not answer as CUDA's. A tensor carries no mark there either, so this holds for the process.
"""

import os
import sys

from ..patching import patch
from . import compiled, remedies

# Files and folders of torch whose code passes on the device which a program gives it.
PASSING_ON = ("__init__.py", "nn/modules/", "utils/_device.py")

_frame = sys._getframe  # bound early: a test may put a mock there


def _caller():
    """The file whose code asked for the attribute; none where C did, with no Python below it."""
    try:
        return _frame(2).f_code.co_filename
    except ValueError:
        return ""


def apply(torch, library, redirection, accelerator, internal_prefixes):
    """`accelerator`: the type of the host's device. `internal_prefixes`: of files whose code is
    torch's or ours."""
    package = os.path.dirname(torch.__file__)
    passing_on = [(os.path.join(package, *path.split("/")), "") for path in PASSING_ON]
    library.set_passing_on([*passing_on, (remedies.__file__, "_parse_to")])
    is_named = redirection.is_host_named
    inside = _Inside(internal_prefixes)
    # Prints a tensor for whoever asked for it, and takes its device for nothing else.
    printer = os.path.join(os.path.dirname(torch.__file__), "_tensor_str.py")
    shown = torch.device("cuda", 0)
    base = torch._C.TensorBase
    ask_device = base.device.__get__

    def device(self):
        found = ask_device(self)
        if getattr(found, "type", None) != accelerator or is_named():
            return found
        asks = _caller()
        return shown if asks == printer or not inside[asks] else found

    torch.Tensor.device = property(device)

    own = f"is_{accelerator}"  # a backend outside torch may not have made it
    ask_is_cuda = base.is_cuda.__get__
    ask_own = (
        getattr(torch.Tensor, own).__get__
        if hasattr(torch.Tensor, own)
        else lambda self: ask_device(self).type == accelerator
    )

    def is_cuda(self):
        return ask_is_cuda(self) or ask_own(self) and not is_named() and not inside[_caller()]

    def is_own(self):
        return ask_own(self) and (is_named() or inside[_caller()])

    torch.Tensor.is_cuda = property(is_cuda)
    setattr(torch.Tensor, own, property(is_own))

    def as_cuda(ask_type):
        def type(self, *args, **kwargs):
            answer = ask_type(self, *args, **kwargs)
            if isinstance(answer, str) and not is_named() and not inside[_caller()]:
                return answer.replace(f"torch.{accelerator}.", "torch.cuda.", 1)
            return answer

        return type

    patch("torch.Tensor", "type", as_cuda)

    compiled.apply(library, redirection, accelerator, inside)


class _Inside(dict):
    """Whether a file's code is torch's or ours, by its name."""

    def __init__(self, prefixes):
        self._prefixes = tuple(prefixes)

    def add(self, prefix):
        self._prefixes += (prefix,)
        self.clear()

    def __missing__(self, name):
        return self.setdefault(name, name.startswith(self._prefixes))
