"""Describes exceptions and a test's place in the source for an event. Reads source files, and never
raises, whatever objects a suite has.

Not here: which state an exception means (the drivers).
"""

from _compat_harness import own_builtins as __builtins__

import functools
import io
import os
import re
import traceback
import types

from _compat_harness import wanted_address

# Bytes of a message or a traceback, which may print whole tensors.
TEXT_LIMIT = 64 * 1024
# Bytes of a text shown as one line: a reason, a sub-test's label, a key line.
LINE_LIMIT = 4 * 1024
# Frames of one traceback: a recursion error has a thousand equal ones.
FRAME_LIMIT = 100

# Bound at import: mock.patch("traceback.format_exception") and similar must not reach them.
_compile, _escape = re.compile, re.escape
_format_exception = traceback.format_exception

# Packages whose frames are left out: they do not help to find the cause of a failure.
_HIDDEN_PACKAGES = frozenset(
    ["_compat_harness", "_pytest", "pytest", "pluggy", "unittest", "importlib"]
)
_UNQUALIFIED = frozenset(["builtins", "__main__", "_pytest", "pytest", "unittest"])
# Lines between a function's first decorator and its `def`, at most.
_DECORATOR_LINES = 200


# Reserved for the line that counts the bytes left out.
_GAP_BYTES = 64


def capped(text, limit=TEXT_LIMIT):
    """`text` cut to `limit` bytes of UTF-8 by leaving out its middle."""
    if 4 * len(text) <= limit:  # a character has four bytes at most
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    half = (limit - _GAP_BYTES) // 2
    ends = [part.decode("utf-8", "ignore") for part in (data[:half], data[-half:])]
    return "%s\n[... %d bytes left out ...]\n%s" % (ends[0], len(data) - 2 * half, ends[1])


def type_name(cls):
    """The name as tracebacks print it, without `builtins.` or the framework's module."""
    try:
        name, module = str(cls.__qualname__), str(cls.__module__)
    except BaseException:
        return "<unknown type>"
    return name if module.partition(".")[0] in _UNQUALIFIED else module + "." + name


def message_of(exception):
    try:
        return capped(str(exception))
    except BaseException:  # __str__ may raise anything
        return "<the exception's __str__ failed>"


def traceback_text(exception, tb):
    try:
        lines = _format_exception(type(exception), exception, tb)
    except BaseException:
        return type_name(type(exception)) + ": " + message_of(exception)
    return "".join(lines)


def from_suite(tb):
    """`tb` from the suite's first frame on; the whole traceback if the suite has no frame."""
    first = tb
    while first is not None and _is_framework(first.tb_frame):
        first = first.tb_next
    return tb if first is None else first


def phase_in(tb, table, default):
    """The phase of the first function in `tb` that `table` ({function name: phase}) names."""
    while tb is not None:
        phase = table.get(tb.tb_frame.f_code.co_name)
        if phase is not None:
            return phase
        tb = tb.tb_next
    return default


def _package_of(frame):
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""


def _is_framework(frame):
    return (
        _package_of(frame) in _HIDDEN_PACKAGES
        or "__unittest" in frame.f_globals  # an extension marks its frames as unittest's
        or frame.f_code.co_filename.startswith("<frozen importlib")
    )


class Describer:
    """Describes exceptions and places. Relative file names become absolute, based on `root`."""

    def __init__(self, root):
        self._root = root
        self._join, self._isabs, self._read = os.path.join, os.path.isabs, _read_lines
        self._sources = {}

    def absolute(self, file):
        if not file or file.startswith("<") or self._isabs(file):
            return file
        return self._join(self._root, file)

    def failure(self, exception, tb, phase, text=None):
        """The `failure` of docs/reference/file-formats.md. `text`: the traceback as printed by the
        framework."""
        if text is None:
            text = traceback_text(exception, tb)
        frames = self.frames(tb)
        if isinstance(exception, SyntaxError) and isinstance(exception.filename, str):
            # Python prints the place of a syntax error like a frame.
            frames.append(self._frame(exception.filename, exception.lineno, "<module>"))
        return {
            "type": type_name(type(exception)),
            "message": message_of(exception) + wanted_address.words(exception),
            "traceback": capped(text),
            "phase": phase,
            "frames": frames,
        }

    def frames(self, tb):
        frames = []
        while tb is not None:
            if not _is_framework(tb.tb_frame):
                code = tb.tb_frame.f_code
                frames.append(self._frame(code.co_filename, tb.tb_lineno, code.co_name))
            tb = tb.tb_next
        if len(frames) > FRAME_LIMIT:
            frames[FRAME_LIMIT // 2 : -(FRAME_LIMIT // 2)] = []
        return frames

    def _frame(self, file, line, function):
        return {"file": self.absolute(file), "line": line or 0, "function": function}

    def place(self, function):
        """(file, line of the `def`) of a function inside its wrappers; ("", 0) if unknown."""
        code = _code_of(function)
        if code is None:
            return "", 0
        file = self.absolute(code.co_filename)
        return file, self._def_line(file, code)

    def _def_line(self, file, code):
        # co_firstlineno of a decorated function is the line of its first decorator.
        first = code.co_firstlineno
        if file not in self._sources:
            self._sources[file] = self._read(file)
        pattern = _compile(
            rb"\s*(async\s+)?def\s+" + _escape(code.co_name.encode("utf-8", "replace"))
        )
        lines = self._sources[file][first - 1 : first - 1 + _DECORATOR_LINES]
        for offset, line in enumerate(lines):
            if pattern.match(line):
                return first + offset
        return first


def _read_lines(file):
    try:
        with io.open(file, "rb") as source:
            return source.read().splitlines()
    except (OSError, ValueError):
        return []


def _code_of(function):
    # Bounded: an object that has every attribute would unwrap for ever.
    for _ in range(50):
        try:
            if isinstance(function, (functools.partial, functools.partialmethod)):
                inner = function.func
            else:
                inner = getattr(function, "__wrapped__", None)
                inner = inner or getattr(function, "__func__", None)
        except BaseException:
            return None
        if inner is None:
            break
        function = inner
    try:
        code = getattr(function, "__code__", None)
    except BaseException:
        return None
    return code if isinstance(code, types.CodeType) else None
