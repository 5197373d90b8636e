"""Writes the events file: JSON lines, each by a single system call where possible.

Not here: what the lines mean (recorder.py).
"""

from _compat_harness import own_builtins as __builtins__

import contextlib
import errno
import os
import re

try:
    from _json import encode_basestring as _quote, make_encoder as _make_encoder
except ImportError:  # an interpreter without the accelerator
    from json.encoder import py_encode_basestring as _quote
    _make_encoder = None

try:
    from _blake2 import blake2b as _blake2b
except ImportError:  # another implementation of Python
    from hashlib import blake2b as _blake2b

try:
    import fcntl
except ImportError:
    fcntl = None

# Suites count, list and close descriptors, so the harness uses high numbers. The two numbers are
# apart: a reopened events file must not get the log's number, to which faulthandler writes. Each
# process has another number for the events, so that no suite writes to a known one.
LOG_DESCRIPTOR, EVENTS_DESCRIPTOR, _NUMBERS = 200, 210, 700
EXIT_CANNOT_WRITE = 74  # EX_IOERR

# Lines kept in memory to restore a file that the suite damages. Longer files are not restored.
KEPT_BYTES = 64 * 1024 * 1024

# Bound at import: the suite's patches must not reach them.
_suppress, _dirname = contextlib.suppress, os.path.dirname
_EIO = errno.EIO

# As json.JSONEncoder makes it, without a check for cycles: a failing sub-test is a line, and 25,000
# of them took 2 s to encode.
_in_c = _make_encoder and _make_encoder(None, None, _quote, None, ": ", ", ", False, False, True)

_SURROGATES = re.compile("[\ud800-\udfff]")


class Descriptor:
    """A duplicate of the descriptor `fd` with a number of the first free from `least`, closed on
    exec.

    `write` fails if the number now belongs to another file: a suite may close descriptors and open
    its own."""

    def __init__(self, fd, least):
        # Bound at import: mock.patch("os.write") and similar patches must not reach them.
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

    def is_file_of(self, stream):
        """Whether both write to one file; False if the stream has no descriptor."""
        try:
            status = self._fstat(stream.fileno())
        except Exception:  # a stream of the suite may raise anything
            return False
        return (status.st_dev, status.st_ino) == self._file

    def size_at(self, path):
        """The file's size; None if `path` is not this file."""
        try:
            at_path, own = self._stat(path), self._fstat(self.number)
        except OSError:
            return None
        same = (at_path.st_dev, at_path.st_ino) == (own.st_dev, own.st_ino)
        return own.st_size if same else None

    def _identity(self):
        status = self._fstat(self.number)
        return status.st_dev, status.st_ino


def _lift(fd, least):
    if fcntl is None:
        return os.dup(fd)
    for number in (least, LOG_DESCRIPTOR):  # a number may be above the limit on open files
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number)
        except OSError:
            continue
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _mac_with(key):
    """The function that makes a line's MAC (runner/base/line_mac.h). The key is in no
    attribute, where a suite would come upon it."""
    blake2b = _blake2b

    def mac(data):
        return blake2b(data, key=key, digest_size=16).hexdigest().encode()

    return mac


def clean(text):
    """`text` with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def _encode_in_python(value):
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
        items = (_quote(k) + ": " + _encode_in_python(v) for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    return "[" + ", ".join(_encode_in_python(v) for v in value) + "]"


def encode(value):
    """JSON text of str, bool, int, finite float, None, dict and list.

    Does not import `json`: a suite may have a module of that name, and must get its own.
    """
    return _encode_in_python(value) if _in_c is None else "".join(_in_c(value, 0))


class Events:
    """Appends numbered lines to the file at `path`, whatever the suite does to descriptors and
    folders. Restores a file that was deleted, truncated or replaced. A reader sees from the pid
    and the number whether a line belongs to the session and whether one is missing.

    If a test forks and both processes return to the harness, the child writes one line under its
    own pid and exits. Only the session's process runs the tests that follow.

    With a `key`, each line ends with its MAC (docs/reference/file-formats.md).
    """

    def __init__(self, path, key=None):
        self.path = os.path.abspath(path)
        self._open_file, self._close, self._make_folders = os.open, os.close, os.makedirs
        self._getpid, self._exit = os.getpid, os._exit
        self.pid = os.getpid()
        self._mac = _mac_with(key) if key else None
        self._least = EVENTS_DESCRIPTOR + int.from_bytes(os.urandom(2), "big") % _NUMBERS
        self.log = _log_copy()
        self._file = self._open()
        self._count = 0
        # The file's minimum size, and its lines until they exceed KEPT_BYTES.
        self._size, self._kept, self._kept_bytes = 0, [], 0

    def write(self, event, **values):
        """Writes one line, without the `values` that are None."""
        pid = self._getpid()
        line = {"event": event, "pid": pid, "seq": self._count}
        line.update((k, v) for k, v in values.items() if v is not None)
        data = self._line(clean(encode(line)).encode("utf-8"))
        try:
            if not self._file.is_open():
                self._file = self._open()
            if pid == self.pid:
                self._size = self._checked_size() + len(data)
                self._keep(data)
            self._file.write(data)
        except OSError as error:
            self.complain("cannot write %s: %s" % (self.path, error))
            # Without events the results are lost: exit at once so that the runner notices.
            self._exit(EXIT_CANNOT_WRITE)
        if pid != self.pid:
            self._exit(0)
        self._count += 1

    def _line(self, data):
        if self._mac is not None:
            text = data[:-1]
            data = b'%s, "mac": "%s"}' % (text, self._mac(text))
        return data + b"\n"

    def is_forked(self):
        """Whether this process was forked from the session's process."""
        return self._getpid() != self.pid

    def check(self):
        """Restores the file if the suite damaged it since the last line."""
        if not self.is_forked():
            with _suppress(OSError):
                if not self._file.is_open():
                    self._file = self._open()
                self._size = self._checked_size()

    def complain(self, message):
        """Writes one line to the log, even if the suite replaced sys.stderr."""
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
        """Restores the file if it is too short or replaced; returns its size. Lines of forked
        processes may make it larger than expected."""
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

    def _open(self, extra_flags=0):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | extra_flags
        fd = self._open_file(self.path, flags, 0o644)
        try:
            return Descriptor(fd, self._least)
        finally:
            self._close(fd)


def _log_copy():
    try:
        return Descriptor(2, LOG_DESCRIPTOR)
    except OSError:  # started without a stderr
        return Descriptor(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), LOG_DESCRIPTOR)
