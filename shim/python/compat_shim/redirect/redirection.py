"""The steps that redirect, in order. `prepare` runs when torch._C is loaded and torch.cuda has not
been: torch.cuda's own Python then finds the names of a CUDA build and stays as it is. `finish` runs
when torch is complete."""

import functools
import threading

from .. import patching
from ..cuda import names
from . import devices, distributed, forced, masquerade, mps_names, remedies

# C types that take a device and call no kernel, and C functions that ask for one device several
# times.
MADE_FOR_A_DEVICE = ("device", "Event", "Generator", "Stream")
MADE_OF_PARTS = (
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
)


class Redirection:
    def __init__(self, library, native_redirection, settings, torch_folder, internal_prefixes):
        self._library = library
        self._native = native_redirection
        self._settings = settings
        self._torch_folder = torch_folder
        self._internal_prefixes = internal_prefixes

    def prepare(self, native):
        """`native`: torch._C."""
        self._native.configure(self._settings.host, self._settings.mode)
        if self._settings.forces:
            forced.prepare(self._library, self._torch_folder)
        if not self._settings.kind.serves_mps:
            mps_names.fill(native, self._library, self._native)
        if not self._settings.kind.serves_cuda:
            self._devices = (
                devices.AcceleratorAsCuda(self._library, self._native, self._settings.host)
                if self._settings.kind.is_accelerator
                else devices.HostAsCuda(self._library, self._native)
            )
            names.fill(native, self._library, self._devices)

    def finish(self, torch):
        patching.missing += self._native.install(
            [getattr(torch, name) for name in MADE_FOR_A_DEVICE if hasattr(torch, name)],
            [getattr(torch, name) for name in MADE_OF_PARTS if hasattr(torch, name)],
        )
        self._native.include_this_thread(True)
        self._follow_threads()
        self._dispatch_in_python(torch)
        remedies.for_any(torch, self._native)
        distributed.apply(torch, self._native)
        if not self._settings.kind.serves_cuda:
            self._as_cuda(torch)
        if self._settings.forces:
            forced.apply(torch, self._library, self._native, self._settings.host)

    def _as_cuda(self, torch):
        """For CUDA that is answered by the host or its accelerator."""
        distributed.groups(torch, self._native)
        remedies.for_cuda(torch, self._library, self._native, self._devices)
        if self._settings.masquerade:
            masquerade.apply(
                torch, self._library, self._native, self._settings.host, self._internal_prefixes
            )
        if torch.cuda.is_available():
            torch.cuda.init()

    def _dispatch_in_python(self, torch):
        """Higher-order operators and those of script objects are dispatched in torch's Python, which
        knows no fallthrough for our key: they have no kernel of ours."""
        key = torch._C._dispatch_key_parse(self._native.MODE_KEY)

        def without_our_key(extract):
            def key_extractor(tensors, key_mask):
                return extract(tensors, key_mask.remove(key))

            return key_extractor

        patching.patch("torch._ops", "key_extractor", without_our_key)

    def _follow_threads(self):
        """A thread starts with its own dispatch keys."""
        include = self._native.include_this_thread
        bootstrap = threading.Thread._bootstrap_inner

        @functools.wraps(bootstrap)
        def _bootstrap_inner(self):
            include(True)
            bootstrap(self)

        threading.Thread._bootstrap_inner = _bootstrap_inner
