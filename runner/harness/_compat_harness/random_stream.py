"""Gives this process another stream of torch's random numbers, as a device has another one.

Each seed that torch is given is changed by a constant of the stream. So equal seeds still repeat
their numbers, different seeds stay different, and a saved state continues where it was. Each test
begins with a seed of the stream. `random` and NumPy are left alone: they have the same numbers
whatever the device.

Not here: which streams a test runs with (runner/plan/retry_policy.h).
"""

from _compat_harness import own_builtins as __builtins__

import gc

from _compat_harness.torch_hook import once_torch_is_imported

# Odd, so that no two streams have one constant. torch's generator uses 32 bits of a seed.
_SPREAD = 0x9E3779B1
_SEED = 0  # of each test, before it is changed


class RandomStream:
    """Stream `number`, from 1. Takes effect once torch is imported."""

    def __init__(self, number):
        self._change = number * _SPREAD & 0xFFFFFFFF
        self._default = None  # torch's default generator, once it is imported
        once_torch_is_imported(self._take_effect)

    def begin_test(self):
        if self._default is not None:
            self._default.manual_seed(_SEED)

    def _take_effect(self):
        import ctypes  # with torch alone: not each Python has it

        import torch

        generator, change = torch.Generator, self._change
        original = generator.manual_seed

        def manual_seed(self, seed):
            return original(self, seed ^ change if isinstance(seed, int) else seed)

        # A type of C takes no attribute; its dictionary does.
        gc.get_referents(generator.__dict__)[0]["manual_seed"] = manual_seed
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(generator))
        self._default = torch.default_generator
        self.begin_test()
