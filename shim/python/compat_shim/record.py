"""Writes what the native recorder counted: JSON lines, as docs/reference/file-formats.md says.

Functions are bound early: a test that puts a mock on os or json must not reach us.
"""

import json
import os
import threading

from . import appending, state

FORMAT = 1
# The kinds that are counted here; the others are in record/recorder.h.
PLATFORM = "platform"
RACE = "race"
# The running test, for the processes that it starts. It is never removed, only emptied: that moves
# the environment of C, which other threads may be reading.
_VARIABLE = b"TORCHDEVICE_TEST"
_LONGEST = 16 << 10  # bytes; the kernel starts no process with a variable above 128 KiB

_dumps = json.dumps
_environ = os.environb
_getpid = os.getpid

_lock = threading.RLock()
_path = None  # absolute, or None where no record is asked for
_session = None  # its keys
_session_pid = None  # the process that has written its session line
_test = None
_in_test = False  # begin_test was called in this process, and end_test was not
_writing = False
_SUMS = {"count", "bytes"}  # of a row; the rest identifies its site
_noted = {}  # by test and site: counts of Python's own that are not written yet
_taken = []  # rows of the recorder's that are not written yet
_written = {}  # of this test, or of the time since: what identifies a site → its sums


def start(path, session, test=None):
    """Open the record and write the session line. `path` None: count, but write nothing. `test`: the
    one that started this process, whose events are the test's."""
    global _path, _session, _test
    _session = session
    _path = path and os.path.abspath(path)
    if _test is None:
        _test = test and _text(test)
    _tell_processes(_test or "")
    _append(_as_text([]))
    if _path is not None:
        state.library.call_after_new_sites(_write_ahead)


def start_anew(path, rows):
    """Like `start`, in a process forked from one that had started: `rows` are counts that it takes
    over."""
    _taken.extend(rows)
    start(path, _session)
    flush()


def begin_test(test_id):
    """From here on events belong to `test_id`; what came before belongs to no test."""
    global _test, _in_test
    flush()
    _written.clear()
    _take_kernels()
    _test = _text(test_id)
    _in_test = True
    _tell_processes(_test)


def end_test():
    """Write the running test's events and its closing line."""
    global _test, _in_test
    if _test is None:
        return
    kernels = _take_kernels()
    flush([{"event": "test", "test": _test, **({"kernels": kernels} if kernels else {})}])
    _written.clear()
    _test = None
    _in_test = False
    _tell_processes("")


def running_test():
    """The test that this process runs, or that has started it; None: there is none."""
    return _test


def belong_to(test):
    """Called in a new process: what it does belongs to `test`."""
    global _test
    if test is not None:
        _test = test
        _tell_processes(test)


def _tell_processes(test):
    name = test.replace("\0", "\ufffd").encode()
    if _path is not None:
        _environ[_VARIABLE] = name if len(name) <= _LONGEST else b""


def end_process():
    """Write the events of a program, or of a process that a test started, and what it ran on the
    accelerator."""
    kernels = _take_kernels() if not _in_test and state.library is not None else {}
    line = {"event": "kernels", "kernels": kernels, **({"test": _test} if _test else {})}
    flush([line] if any(kernels.values()) else [])


def _take_kernels():
    return state.take_kernel_counts()


def note(kind, op, frame):
    """Count what the recorder does not see, called from `frame`. It may be before torch is there."""
    note_at(kind, op, frame.f_code.co_filename, frame.f_lineno)


def note_at(kind, op, file, line, message=None):
    """`file` None: no line of the program."""
    site = (_test, kind, op, file, line, message)
    _noted[site] = _noted.get(site, 0) + 1


def _noted_rows():
    """The counts of `note` as rows, each with its test."""
    return [
        (test, {"kind": kind, "op": op, "from": None, "to": None,
                **({"message": _text(message)} if message else {}),
                "file": file and _text(file), "line": line, "count": count})
        for (test, kind, op, file, line, message), count in list(_noted.items())
    ]  # fmt: skip


def flush(closing=()):
    """Write what was counted since the last call, then the `closing` lines."""
    if state.library is None:
        return
    global _writing
    with _lock:
        _writing = True
        try:
            # A handler of the program may raise between any two instructions. So the rows taken are
            # kept until they are text and released before that is written: nothing is lost or
            # written twice.
            state.library.take_rows(_taken)
            rows = [_row(row) for row in _taken]
            noted = _noted_rows()
            lines = [_line(row) for row in rows]
            lines += [{**_line(row), "test": test} for test, row in noted] + list(closing)
            text = _as_text(lines) if lines else ""
            _taken.clear()
            _noted.clear()
            _append(text)
            _add(rows + [row for _, row in noted], _written)
        finally:
            _writing = False


def _write_ahead():
    """Write new sites early, because a program without a harness may be killed before it ends.
    Nothing is written early within a test. Called between any two instructions, also of flush."""
    if not _in_test and not _writing:
        flush()


def _add(rows, counts):
    for row in rows:
        key = tuple((name, value) for name, value in row.items() if name not in _SUMS)
        sums = counts.setdefault(key, dict.fromkeys(_SUMS & row.keys(), 0))
        for name in sums:
            sums[name] += row[name]


def sites():
    """The redirections of the running test (or since the last one) so far, written or not: a list
    of dicts with kind, op, from, to, file, line and count."""
    if state.library is None:
        return []
    with _lock:
        counts = {key: dict(sums) for key, sums in _written.items()}
        _add([_row(row) for row in [*_taken, *state.library.rows()]], counts)
        _add([row for _, row in _noted_rows()], counts)
    return [{**dict(key), **sums} for key, sums in counts.items()]


def after_fork_in_child():
    """The counts so far are the parent's to write. The running test stays the same."""
    global _lock, _writing, _in_test
    _lock = threading.RLock()  # another thread of the parent may have held it
    _writing = False
    _in_test = False
    _noted.clear()
    _taken.clear()
    _written.clear()
    state.library.clear_rows()
    _take_kernels()


def _row(row):
    return {
        "kind": row.kind,
        "op": row.op,
        "from": row.from_ or None,
        "to": row.to or None,
        **({"message": _text(row.message)} if row.message else {}),
        **({"ranks": row.ranks} if row.ranks else {}),
        **({"group": _text(row.group), "bytes": row.bytes} if row.group else {}),
        "file": _text(row.file) or None,
        "line": row.line,
        "count": row.count,
    }


def _line(row):
    return {"event": "device", "test": _test, **row}


def _as_text(lines):
    """The rows as lines; empty without a record. This process's first lines begin with its session
    line."""
    global _session_pid
    if _path is None:
        return ""
    pid = _getpid()
    if pid != _session_pid:
        _session_pid = pid
        lines = [{"event": "session", "format": FORMAT, **_session}] + lines
    return "".join(_dumps({**line, "pid": pid}) + "\n" for line in lines)


def _append(text):
    if text:
        appending.append(_path, text.encode("ascii"))


def _text(text):
    """Lone surrogates, which no JSON reader takes, as U+FFFD."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
