"""The simulated MPS device as Python sees it. torch.mps is torch's own and asks the device's hooks."""

import os

from .. import mps_only, refusal
from . import memory

NAME = "Simulated Apple GPU"
CORES = 10


def _decompose_attention(torch):
    """torch.export decomposes ops by their composite kernels. Attention's composite kernel asks for
    a kernel of MPS, which only builds for macOS have; the device's own kernel takes its place."""
    op = torch.ops.aten.scaled_dot_product_attention.default
    composite, mps = torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.MPS

    def decomposed(query, *args, **kwargs):
        key = mps if query.device.type == "mps" else composite
        return op._op_dk(key, query, *args, **kwargs)

    op.py_impl(composite)(decomposed)


class Device:
    """The steps that make a torch have a simulated MPS device."""

    def __init__(self, library, simulator, settings):
        self._library = library
        self._simulator = simulator
        self._macos = settings.macos
        self._memory = memory.of_each(library, settings, 1)

    def prepare(self, native, commit):
        # As MPSFallback.mm reads it: any number but 0.
        fallback = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0")
        self._simulator.simulate_mps(
            fallback=fallback.strip() not in ("", "0"),
            commit=commit,
            macos_major=self._macos[0],
            macos_minor=self._macos[1],
            memory=self._memory,
        )
        native._has_mps = True
        native._mps_get_name = lambda: NAME
        # Seeds pass such a process by, and warm start forks none.
        native._mps_is_in_bad_fork = self._simulator.is_lost
        native._mps_maxBufferLength = lambda: self._memory
        native._mps_get_core_count = lambda: CORES
        # A Mac has it, so that refusing it is no gap of the device.
        mps_only.without_metal(native, refusal.not_simulated)
        self._add_streams(native)

    def _add_streams(self, native):
        base = mps_only.stream_base(native.Stream, lambda: self._library.new_stream(0))
        names = {
            "_MPSStreamBase": base,
            "_mps_getCurrentStream": lambda: base(stream_id=self._simulator.current_stream(0)),
            "_mps_setStream": lambda stream: self._simulator.exchange_stream(0, stream.stream_id),
        }
        mps_only.add_streams(native, names)

    def finish(self, torch):
        _decompose_attention(torch)
        # As torch/multiprocessing/__init__.py has it on macOS.
        torch.multiprocessing._sharing_strategy = "file_system"
        torch.multiprocessing._all_sharing_strategies = {"file_system"}
        torch.mps._is_in_bad_fork = self._simulator.is_lost  # bound before, if torch was imported first
