"""Makes the accelerator the default device, as torch.set_default_device does, but in every thread
and process (runtime/default_device.h). Requests for the CPU stay there."""

import os

from .patching import patch

# Their result is on their data's device. torch.set_default_device moves it, too.
TAKES_DATA = (
    "tensor",
    "as_tensor",
    "asarray",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
)

# Torch's own code that draws with a generator of the CPU: with torch.set_default_device, shuffling
# in a DataLoader raises.
STAYS_ON_HOST = "utils/data/"


def apply(torch, library, type):
    """Returns what is off in this torch. `type`: of the device."""
    package = os.path.dirname(torch.__file__)
    library.set_host_callers([(os.path.join(package, *STAYS_ON_HOST.split("/")), "")])
    functions = [getattr(torch, name) for name in TAKES_DATA]
    if not library.set_default_device(type, functions):
        torch.set_default_device(type)  # of this thread
        return ["the default device of other threads"]

    patch("torch", "get_default_device", lambda ask: lambda: torch.empty(0).device)
    return []
