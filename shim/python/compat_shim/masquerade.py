"""To code outside torch, a tensor on the host's accelerator answers as one on cuda:0, which that
code asked for. To torch's own code it answers its real device, because torch computes by it.

It applies only on an accelerator: a CPU tensor carries no mark of what was asked for. It also hides
the device from code that knows it by name, hence the switch (TORCHDEVICE_MASQUERADE).
"""

import functools
import os
import sys

_frame = sys._getframe  # bound early: a test may put a mock there


def _caller():
    """The file whose code asked for the attribute; none where C did, with no Python below it."""
    try:
        return _frame(2).f_code.co_filename
    except ValueError:
        return ""


def apply(torch, internal_prefixes):
    """`internal_prefixes`: of files whose code is torch's or ours."""
    inside = _Inside(internal_prefixes)
    # Prints a tensor for whoever asked for it, and takes its device for nothing else.
    printer = os.path.join(os.path.dirname(torch.__file__), "_tensor_str.py")
    shown = torch.device("cuda", 0)
    tensor, base = torch.Tensor, torch._C.TensorBase
    ask_device, ask_is_cuda, ask_is_mps = (
        getattr(base, name).__get__ for name in ("device", "is_cuda", "is_mps")
    )
    ask_type = tensor.type

    def device(self):
        found = ask_device(self)
        if getattr(found, "type", None) != "mps":
            return found
        asks = _caller()
        return shown if asks == printer or not inside[asks] else found

    def is_cuda(self):
        return ask_is_cuda(self) or ask_is_mps(self) and not inside[_caller()]

    def is_mps(self):
        return ask_is_mps(self) and inside[_caller()]

    @functools.wraps(ask_type)
    def type(self, *args, **kwargs):
        answer = ask_type(self, *args, **kwargs)
        if isinstance(answer, str) and not inside[_caller()]:
            return answer.replace("torch.mps.", "torch.cuda.", 1)
        return answer

    tensor.device, tensor.is_cuda, tensor.is_mps = map(property, (device, is_cuda, is_mps))
    tensor.type = type


class _Inside(dict):
    """Whether a file's code is torch's or ours, by its name."""

    def __init__(self, prefixes):
        self._prefixes = tuple(prefixes)

    def __missing__(self, name):
        return self.setdefault(name, name.startswith(self._prefixes))
