"""One form of error for everything that only a CUDA device can do.

The symbol is the public name that a program calls, if there is one. The record and the gap log use
it.
"""

from . import device_kinds, state


def refuse(library, symbol, why, instead=None):
    """Write the refusal down and raise it. A simulated CUDA device lacks what a GPU has."""
    if state.simulator and device_kinds.of(state.simulator.simulated()).serves_cuda:
        not_simulated(symbol, why, instead)
    library.note("refusal", symbol)
    advice = f"; {instead}" if instead else ""
    raise NotImplementedError(
        f"{symbol} is not available on this device: {why}{advice} [symbol: {symbol}]"
    )


def not_simulated(symbol, why, instead=None):
    """Raise for a feature that the real device has. Not recorded: it is no gap of the device's."""
    advice = instead or "run this part on the device itself"
    raise NotImplementedError(f"{symbol} is not simulated: {why}; {advice}")


def function(library, name, symbol, why, instead=None):
    """A function that refuses. Each call makes a new one: dynamo tells functions by identity."""

    def refusing(*args, **kwargs):
        refuse(library, symbol, why, instead)

    refusing.__name__ = refusing.__qualname__ = name
    return refusing


def a_class(library, name, symbol, why, instead=None, statics=()):
    """A class that cannot be instantiated; `statics` are static methods that refuse as well."""

    def __new__(cls, *args, **kwargs):
        refuse(library, symbol, why, instead)

    members = {"__new__": __new__, "__module__": "torch._C"}
    for static in statics:
        members[static] = staticmethod(
            function(library, static, f"{symbol}.{static}", why, instead)
        )
    return type(name, (), members)
