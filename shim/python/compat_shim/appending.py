"""Appends to the record, from any process and in any state of it.

Each write is one system call on a file opened for appending, so that several processes (workers,
subprocesses) can share it. The file is opened for each write: a test could close a descriptor that
stays open, and another file could get its number. Functions are bound early, so that a test's mock
of os does not reach us.
"""

import os

_close = os.close
_open = os.open
_write = os.write

_said = False
_torn = False  # the last write ended within a line


def append(path, data):
    """Append `data`, whole lines. If that fails (unwritable folder, full disk), one line on stderr
    says so, and the program continues without these lines."""
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
            say(f"compat_shim: the record is not complete: {path}: {error.strerror}\n")


def say(line):
    """One line on stderr, whatever the program has done to sys.stderr."""
    try:
        _write(2, line.encode("utf-8", "replace"))
    except OSError:
        pass  # the program has closed its stderr
