"""The state of activation in this process. A reload of this module keeps it."""

library = globals().get("library")  # the native module _compat_shim, once it is loaded
redirection = globals().get("redirection")  # _compat_redirect; none where nothing is redirected
simulator = globals().get("simulator")  # _compat_simulate; none where no device is simulated
refusal = globals().get("refusal")  # the ImportError that ended activation
# Counts of work on an accelerator since the last call, by its type: kernels of a simulated one,
# blocks of memory of a real one.
take_kernel_counts = globals().get("take_kernel_counts", dict)
finished = globals().get("finished", False)


def active():
    """True once torch is imported and its requests are redirected."""
    return finished
