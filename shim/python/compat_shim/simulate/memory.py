"""How much memory a simulated device has: what was asked for, or a share of what the host can spare."""

SHARE = 0.75  # the rest is for the program's own memory


def of_each(library, settings, devices, most=None):
    """Bytes for each of `devices`; `most` is what a device of that kind has at all."""
    if settings.device_memory:
        return settings.device_memory
    free, _ = library.host_memory()
    spare = int(free * SHARE) // max(devices, 1) // settings.processes
    return spare if most is None else min(spare, most)
