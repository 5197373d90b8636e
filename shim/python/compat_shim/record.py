"""Writes what the native recorder counted: JSON lines, as docs/formats.md says.

Functions are bound early: a test that puts a mock on os or json must not reach us.
"""

import json
import os
import threading

from . import appending, state

FORMAT = 1

_dumps = json.dumps
_getpid = os.getpid

_lock = threading.RLock()
_path = None  # absolute, or None where no record is asked for
_session = None  # its keys
_session_pid = None  # the process that has written its session line
_test = None
_written = {}  # rows outside of a test, for sites(): what identifies one → its count


def start(path, session):
    """Open the record and write the session line. `path` None: count, but write nothing."""
    global _path, _session
    _session = session
    _path = path and os.path.abspath(path)
    _emit([])
    if _path is not None:
        state.library.call_after_new_sites(_write_ahead)


def begin_test(test_id):
    """From here on events belong to `test_id`; what came before belongs to no test."""
    global _test
    flush()
    _written.clear()
    _test = _text(test_id)


def end_test():
    """Write the running test's events and its closing line."""
    global _test
    if _test is None:
        return
    flush([{"event": "test", "test": _test}])
    _test = None


def flush(closing=()):
    """Write what was counted since the last call, then the `closing` lines."""
    if state.library is None:
        return
    with _lock:
        lines = [_line(_row(row)) for row in state.library.take_rows()]
        if lines or closing:
            _emit(lines + list(closing))


def _write_ahead():
    """A program that no harness tells of tests may be killed before it ends: its sites are written
    as they are met. Of a test that is killed nothing is."""
    if _test is not None:
        return
    with _lock:
        rows = [_row(row) for row in state.library.take_rows()]
        if rows:
            _add(rows, _written)
            _emit([_line(row) for row in rows])


def _add(rows, counts):
    for row in rows:
        key = tuple((name, value) for name, value in row.items() if name != "count")
        counts[key] = counts.get(key, 0) + row["count"]


def sites():
    """What the running test (or the time since the last one) has redirected so far: a list of
    dicts with kind, op, from, to, file, line and count."""
    if state.library is None:
        return []
    with _lock:
        counts = dict(_written)
        _add([_row(row) for row in state.library.rows()], counts)
    return [{**dict(key), "count": count} for key, count in counts.items()]


def after_fork_in_child():
    """The counts so far are the parent's to write. The running test stays the same."""
    global _lock
    _lock = threading.RLock()  # another thread of the parent may have held it
    _written.clear()
    state.library.clear_rows()


def _row(row):
    return {
        "kind": row.kind,
        "op": row.op,
        "from": row.from_ or None,
        "to": row.to or None,
        "file": _text(row.file) or None,
        "line": row.line,
        "count": row.count,
    }


def _line(row):
    return {"event": "device", "test": _test, **row}


def _emit(lines):
    global _session_pid
    if _path is None:
        return
    pid = _getpid()
    if pid != _session_pid:
        _session_pid = pid
        lines = [{"event": "session", "format": FORMAT, **_session}] + lines
    text = "".join(_dumps({**line, "pid": pid}) + "\n" for line in lines)
    appending.append(_path, text.encode("ascii"))


def _text(text):
    """Lone surrogates, which no JSON reader takes, as U+FFFD."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
