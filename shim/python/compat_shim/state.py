"""What this process knows of its own activation."""

library = None  # the native module, once it is loaded
refusal = None  # the ImportError that ended activation
finished = False


def active():
    """True once torch is imported and its requests are redirected."""
    return finished
