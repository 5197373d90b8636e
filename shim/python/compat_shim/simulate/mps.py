"""The simulated MPS device as Python sees it. torch.mps is torch's own and asks the device's hooks."""

import os

from .. import mps_streams, versions

NAME = "Simulated Apple GPU"
CORES = 10
MACOS = (15, 0)  # what torch.backends.mps.is_macos_or_newer answers for


class Mps:
    """The steps that make a torch have a simulated MPS device."""

    def __init__(self, library, simulator, settings):
        self._library = library
        self._simulator = simulator

    def prepare(self, native, commit):
        # As MPSFallback.mm reads it: any number but 0.
        fallback = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0")
        self._simulator.simulate_mps(
            fallback=fallback.strip() not in ("", "0"),
            commit=commit,
            macos_major=MACOS[0],
            macos_minor=MACOS[1],
        )
        native._has_mps = True
        native._mps_get_name = lambda: NAME
        native._mps_get_core_count = lambda: CORES
        if versions.at_least(mps_streams.SINCE):
            self._add_streams(native)

    def _add_streams(self, native):
        base = mps_streams.stream_base(native.Stream, lambda: self._library.new_stream(0))
        native._MPSStreamBase = base
        native._mps_getCurrentStream = lambda: base(stream_id=self._simulator.current_stream(0))
        native._mps_setStream = lambda stream: self._simulator.exchange_stream(0, stream.stream_id)

    def finish(self, torch):
        pass
