"""The events file: whole JSON lines, each written at once by a single system call where possible.

Not here: what the lines mean (recorder.py).
"""

import os
import re

try:
    from _json import encode_basestring as _quote
except ImportError:  # an interpreter without the accelerator
    from json.encoder import py_encode_basestring as _quote

try:
    import fcntl
except ImportError:
    fcntl = None

# Suites count, list and close descriptors; ours stay out of the numbers that they look at.
FIRST_DESCRIPTOR = 200
EXIT_CANNOT_WRITE = 74  # EX_IOERR

_SURROGATES = re.compile("[\ud800-\udfff]")


def lift(fd):
    """A duplicate of `fd` with a high number, closed on exec."""
    if fcntl is None:
        return os.dup(fd)
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
    except OSError:  # the limit on open files is below it
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def clean(text):
    """`text` as it can be written in UTF-8: lone surrogates become U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def encode(value):
    """JSON text of str, bool, int, finite float, None, dict and list.

    The standard library's encoder would do, but importing `json` here would decide which `json`
    the suite gets where it has a module of that name.
    """
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, dict):
        return "{" + ", ".join(_quote(k) + ": " + encode(v) for k, v in value.items()) + "}"
    return "[" + ", ".join(encode(v) for v in value) + "]"


class Events:
    """Appends lines to the file at `path`, whatever the suite does to descriptors and folders.

    A process forked from this one that comes back into the harness (a test that forks and returns
    twice) writes the one line it came with, under its own pid, and ends: the tests after it belong
    to the session's process alone.
    """

    def __init__(self, path):
        self.path = os.path.abspath(path)
        # Bound here: mock.patch("os.write") and the like must not reach them.
        self._open_file, self._write, self._fstat = os.open, os.write, os.fstat
        self._close, self._getpid, self._exit = os.close, os.getpid, os._exit
        self.pid = os.getpid()
        self.stderr = _stderr_copy()
        self._open()

    def write(self, event, **values):
        """Writes one line. None of `values` that is None is written."""
        pid = self._getpid()
        line = {"event": event, "pid": pid}
        line.update((k, v) for k, v in values.items() if v is not None)
        data = (clean(encode(line)) + "\n").encode("utf-8")
        try:
            if not self._is_ours():
                self._open()
            while data:
                data = data[self._write(self._fd, data):]
        except OSError as error:
            self.complain("cannot write %s: %s" % (self.path, error))
            # Results that nobody will see are not worth having; the process's end says so at once.
            self._exit(EXIT_CANNOT_WRITE)
        if pid != self.pid:
            self._exit(0)

    def complain(self, message):
        """One line of our own on the log, past whatever the suite did to sys.stderr."""
        try:
            self._write(self.stderr, ("harness: %s\n" % clean(message)).encode("utf-8"))
        except OSError:
            pass

    def _open(self):
        fd = self._open_file(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._fd = lift(fd)
        finally:
            self._close(fd)
        found = self._fstat(self._fd)
        self._file = (found.st_dev, found.st_ino)

    def _is_ours(self):
        """Whether our descriptor is still the events file: a suite may have closed it, and another
        file may have got its number."""
        try:
            found = self._fstat(self._fd)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._file


def _stderr_copy():
    try:
        return lift(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
