"""Limits how much text the failures of a module write to its events file (limits.events_bytes).

Only text is cut: every line, state, id and count is kept. Not here: how one text is cut
(describe.capped).
"""

from _compat_harness import own_builtins as __builtins__

from _compat_harness.describe import LINE_LIMIT, capped
from _compat_harness.events import clean, encode

# Enough for 128 failures of the largest size, or 5,000 of the usual 3 KB.
EVENTS_BYTES = 16 * 1024 * 1024
# Bytes of the failures on one line: the reader refuses longer lines.
FAILURES_LIMIT = 512 * 1024
# Bytes of a key line, a reason or a label once the budget is spent.
KEY_LIMIT = 300


class TextBudget:
    def __init__(self, total=EVENTS_BYTES):
        self._left = total

    def line(self, text):
        """A reason or a label, cut if necessary."""
        if text is None:
            return None
        text = capped(text, LINE_LIMIT)
        size = _size(text)
        if size > KEY_LIMIT and not self._spend(size):
            return capped(text, KEY_LIMIT)
        return text

    def failures(self, failures):
        """The failures of one line, cut if necessary. A failure that does not fit keeps its type,
        key line and innermost frame; its `left_out` counts the other bytes."""
        room, written = FAILURES_LIMIT, []
        for failure in failures:
            texts = {key: capped(failure[key]) for key in ("message", "traceback")}
            failure = dict(failure, type=capped(failure["type"], KEY_LIMIT), **texts)
            size = _size(failure)
            if size <= room and self._spend(size):
                room -= size
            else:
                failure = _brief(failure, size)
            written.append(failure)
        return written

    def _spend(self, size):
        fits = size <= self._left
        self._left -= size if fits else 0
        return fits


def _brief(failure, size):
    lines = (line.strip() for line in failure["message"].splitlines())
    kept = dict(
        failure,
        message=capped(next(filter(None, lines), ""), KEY_LIMIT),
        traceback="",
        frames=failure["frames"][-1:],
    )
    left_out = size - _size(kept)
    kept["traceback"] = "[... %d bytes left out: limits.events_bytes is reached ...]" % left_out
    kept["left_out"] = left_out
    return kept


def _size(value):
    """The bytes that `value` has in the file."""
    return len(clean(encode(value)).encode("utf-8"))
