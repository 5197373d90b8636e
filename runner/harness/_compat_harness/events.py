"""The events file: whole JSON lines, each written at once, by a single system call where possible.

Not here: what the lines mean (recorder.py).
"""

import errno
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

# Suites count, list and close descriptors; ours stay out of the numbers that they look at, and out
# of each other's: a file opened again must not land on the log's number, to which stacks are
# dumped.
LOG_DESCRIPTOR, EVENTS_DESCRIPTOR = 200, 210
EXIT_CANNOT_WRITE = 74  # EX_IOERR

_SURROGATES = re.compile("[\ud800-\udfff]")


class Descriptor:
    """A duplicate of the descriptor `fd` with a high number, closed on exec. Writes to its own file
    or fails: a suite may close it, and another file may get its number."""

    def __init__(self, fd, least):
        # Bound here: mock.patch("os.write") and the like must not reach them.
        self._write, self._fstat = os.write, os.fstat
        self.number = _lift(fd, least)
        self._file = self._identity()

    def write(self, data):
        if self._identity() != self._file:
            raise OSError(errno.EBADF, "closed by the suite")
        while data:
            data = data[self._write(self.number, data) :]

    def is_open(self):
        try:
            return self._identity() == self._file
        except OSError:
            return False

    def _identity(self):
        found = self._fstat(self.number)
        return found.st_dev, found.st_ino


def _lift(fd, least):
    if fcntl is None:
        return os.dup(fd)
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
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
        self._open_file, self._close = os.open, os.close
        self._getpid, self._exit = os.getpid, os._exit
        self.pid = os.getpid()
        self.log = _log_copy()
        self._file = self._open()

    def write(self, event, **values):
        """Writes one line. None of `values` that is None is written."""
        pid = self._getpid()
        line = {"event": event, "pid": pid}
        line.update((k, v) for k, v in values.items() if v is not None)
        data = (clean(encode(line)) + "\n").encode("utf-8")
        try:
            if not self._file.is_open():
                self._file = self._open()
            self._file.write(data)
        except OSError as error:
            self.complain("cannot write %s: %s" % (self.path, error))
            # Results that nobody will see are not worth having; the process's end says so at once.
            self._exit(EXIT_CANNOT_WRITE)
        if pid != self.pid:
            self._exit(0)

    def complain(self, message):
        """One line of our own on the log, past whatever the suite did to sys.stderr."""
        try:
            self.log.write(("harness: %s\n" % clean(message)).encode("utf-8"))
        except OSError:
            pass

    def _open(self):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = self._open_file(self.path, flags, 0o644)
        try:
            return Descriptor(fd, EVENTS_DESCRIPTOR)
        finally:
            self._close(fd)


def _log_copy():
    try:
        return Descriptor(2, LOG_DESCRIPTOR)
    except OSError:  # started without a stderr
        return Descriptor(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), LOG_DESCRIPTOR)
