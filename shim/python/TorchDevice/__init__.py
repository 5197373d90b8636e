"""`import TorchDevice`: the shim under the name that programs know. With ACTIVATE_TORCH_DEVICE=1
the import redirects torch, before or after `import torch`; otherwise it does nothing."""

from compat_shim import __version__, hook, state

__all__ = ["__version__", "apply_patches", "get_default_device"]

hook.install()


def get_default_device():
    """The device that redirected requests end on, as torch.device."""
    import torch

    if state.redirection is not None:
        return torch.device(state.redirection.host())
    simulated = state.simulator and state.simulator.simulated()
    return torch.device(simulated) if simulated else torch.get_default_device()


def apply_patches():
    """Importing has done everything; kept for programs that call it."""
    hook.install()
