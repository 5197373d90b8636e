"""Appends to the record, in any process and in any state of it.

Every write is one system call on a file opened for appending, so that the lines of several
processes (workers, subprocesses) may share it. The file is opened for each write: a descriptor kept
open could be closed by a test, and its number be another file's by the next write. Functions are
bound early: a test that puts a mock on os must not reach us.
"""

import os

_close = os.close
_open = os.open
_write = os.write

_said = False
_torn = False  # the last write ended within a line


def append(path, data):
    """Append `data`, whole lines. Where that cannot be done (a folder that may not be written, a
    full disk) it is said once on stderr, and the program goes on without those lines."""
    global _said, _torn
    rest = b"\n" + data if _torn else data
    try:
        file = _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            while rest:
                rest = rest[_write(file, rest) :]
                _torn = len(rest) > 0
        finally:
            _close(file)
    except OSError as error:
        if not _said:
            _said = True
            _say(f"compat_shim: the record is not complete: {path}: {error.strerror}\n")


def _say(line):
    try:
        _write(2, line.encode("utf-8", "replace"))
    except OSError:
        pass  # the program has closed its stderr
