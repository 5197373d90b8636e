"""The state of activation in this process. A reload of this module keeps it."""

library = globals().get("library")  # the native module, once it is loaded
refusal = globals().get("refusal")  # the ImportError that ended activation
redirects = globals().get("redirects", False)  # not where a device is simulated, and no more
finished = globals().get("finished", False)


def active():
    """True once torch is imported and its requests are redirected."""
    return finished
