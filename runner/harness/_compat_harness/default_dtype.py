"""Keeps torch's default dtype, whatever the suite sets: a diagnostic attempt asks whether a test
passes in float32. Code that names float64, and NumPy's arrays of it, keep float64.

Not here: which tests are run so (runner/analysis/ways/diagnostic_retries.h).
"""

from _compat_harness import own_builtins as __builtins__

from _compat_harness.torch_hook import once_torch_is_imported


def keep_default_dtype(name):
    """`name`: an attribute of torch, as "float32"."""

    def take_effect():
        import torch

        kept = getattr(torch, name)
        set_dtype, set_tensor_type = torch.set_default_dtype, torch.set_default_tensor_type

        def set_type_of_device(t, /):
            set_tensor_type(t)
            set_dtype(kept)

        set_dtype(kept)
        torch.set_default_dtype = lambda d, /: None
        torch.set_default_tensor_type = set_type_of_device

    once_torch_is_imported(take_effect)
