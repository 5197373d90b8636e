"""The address that a test wanted, where its sandbox has no network: the error itself, such as
"Network is unreachable", does not name it.

Not here: what that says of the test (parsers/diagnosis/rules.json).
"""

from _compat_harness import own_builtins as __builtins__

import errno
import os
import sys

_REFUSALS = frozenset([errno.ENETUNREACH, errno.EHOSTUNREACH])
_CHAINED = 20  # exceptions

_last = None


def watch():
    """Remembers addresses from now on, if there is no network."""
    if os.environ.get("COMPAT_NO_NETWORK"):
        sys.addaudithook(_note)


def _note(event, arguments):
    global _last
    if event == "socket.connect":
        _last = arguments[1]
    elif event == "socket.getaddrinfo":
        _last = arguments[:2]


def words(exception):
    """The addition to the exception's message; empty if it is not for lack of a network."""
    if _last is None:
        return ""
    for _ in range(_CHAINED):
        if exception is None:
            break
        number = getattr(exception, "errno", None)
        if number in _REFUSALS or type(exception).__name__ == "gaierror":
            return " (wanted %s, and this sandbox has no network)" % _shown(_last)
        exception = exception.__cause__ or exception.__context__
    return ""


def _shown(address):
    if not isinstance(address, tuple):
        return repr(address)
    host, port = (tuple(address) + (None,))[:2]
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    return host if port is None else "%s:%s" % (host, port)
