"""The events file: whole JSON lines, each written at once, by a single system call where possible.

Not here: what the lines mean (recorder.py).
"""

from _compat_harness import own_builtins as __builtins__  # as said there

import contextlib
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

# Of the lines held to restore a file that the suite has damaged. Past it the damage is final.
KEPT_BYTES = 64 * 1024 * 1024

# Bound here, as all that is called once the suite runs.
_suppress, _dirname = contextlib.suppress, os.path.dirname
_EIO = errno.EIO

_SURROGATES = re.compile("[\ud800-\udfff]")


class Descriptor:
    """A duplicate of the descriptor `fd` with a high number, closed on exec. Writes to its own file
    or fails: a suite may close it, and another file may get its number."""

    def __init__(self, fd, least):
        # Bound here: mock.patch("os.write") and the like must not reach them.
        self._write, self._fstat, self._stat = os.write, os.fstat, os.stat
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

    def size_at(self, path):
        """The file's size; None where `path` does not lead to it."""
        try:
            there, own = self._stat(path), self._fstat(self.number)
        except OSError:
            return None
        same = (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)
        return own.st_size if same else None

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
    """Appends lines to the file at `path`, whatever the suite does to descriptors and folders. A
    file that was deleted, emptied or replaced is written again. Each line is numbered, so that a
    reader knows which ones are ours and whether any is missing.

    A process forked from this one that comes back into the harness (a test that forks and returns
    twice) writes the one line it came with, under its own pid, and ends: the tests after it belong
    to the session's process alone.
    """

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self._open_file, self._close, self._make_folders = os.open, os.close, os.makedirs
        self._getpid, self._exit = os.getpid, os._exit
        self.pid = os.getpid()
        self.log = _log_copy()
        self._file = self._open()
        self._count = 0
        # What the file must hold at least, and our lines in it while they are not too many.
        self._size, self._kept, self._kept_bytes = 0, [], 0

    def write(self, event, **values):
        """Writes one line. None of `values` that is None is written."""
        pid = self._getpid()
        line = {"event": event, "pid": pid, "seq": self._count}
        line.update((k, v) for k, v in values.items() if v is not None)
        data = (clean(encode(line)) + "\n").encode("utf-8")
        try:
            if not self._file.is_open():
                self._file = self._open()
            if pid == self.pid:
                self._size = self._checked_size() + len(data)
                self._keep(data)
            self._file.write(data)
        except OSError as error:
            self.complain("cannot write %s: %s" % (self.path, error))
            # Results that nobody will see are not worth having; the process's end says so at once.
            self._exit(EXIT_CANNOT_WRITE)
        if pid != self.pid:
            self._exit(0)
        self._count += 1

    def is_forked(self):
        """Whether this is a process forked from the session's."""
        return self._getpid() != self.pid

    def check(self):
        """Restores what was done to the file since the last line."""
        if not self.is_forked():
            with _suppress(OSError):
                if not self._file.is_open():
                    self._file = self._open()
                self._size = self._checked_size()

    def complain(self, message):
        """One line of our own on the log, past whatever the suite did to sys.stderr."""
        try:
            self.log.write(("harness: %s\n" % clean(message)).encode("utf-8"))
        except OSError:
            pass

    def _keep(self, data):
        self._kept_bytes += len(data)
        if self._kept_bytes <= KEPT_BYTES:
            self._kept.append(data)
        else:
            self._kept = None

    def _checked_size(self):
        """The file's size, now that it holds what it should. It may hold more: lines of forked
        processes."""
        size = self._file.size_at(self.path)
        if size is not None and size >= self._size:
            return size
        if self._kept is None:
            raise OSError(_EIO, "damaged by the suite")
        self._make_folders(_dirname(self.path), exist_ok=True)
        self._file = self._open(os.O_TRUNC)
        data = b"".join(self._kept)
        self._file.write(data)
        self.complain("%s was damaged by the suite; written again" % self.path)
        return len(data)

    def _open(self, further=0):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | further
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
