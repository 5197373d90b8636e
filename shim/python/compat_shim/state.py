"""What this process knows of its own activation: the loaded library, or that there is none yet."""

library = None
finished = False


def active():
    """True once torch is imported and its requests are redirected."""
    return finished
