"""Parses a GoogleTest binary's list of tests, its JSON and the failures it prints, and builds
filter patterns. Pure functions.

Not here: running the binary and reporting (gtest_driver.py).
"""

import os
import re
from collections import deque

from _compat_harness.describe import TEXT_LIMIT

_SUITE_LINE = re.compile(r"(\S.*)\.(?:  # TypeParam = .*)?\Z")
_TEST_LINE = re.compile(r"  (\S.*?)(?:  # GetParam\(\) = .*)?\Z")
_PART = re.compile(r"(?:(?P<file>\S+):(?P<line>\d+)|unknown file): (?P<kind>Failure|Skipped)\Z")


class FailureText:
    """Collects a test's lines from its first failure or skip on. If they grow too long, drops
    lines in the middle."""

    def __init__(self):
        self._clear()

    def _clear(self):
        self._head, self._tail, self._kept, self._left_out = [], deque(), [0, 0], 0

    def add(self, line):
        if not self._head and not line.endswith((b": Failure", b": Skipped")):
            return
        if self._kept[0] < TEXT_LIMIT:
            self._head.append(line)
            self._kept[0] += len(line) + 1
            return
        self._tail.append(line)
        self._kept[1] += len(line) + 1
        while self._kept[1] > TEXT_LIMIT and len(self._tail) > 1:
            dropped = len(self._tail.popleft()) + 1
            self._kept[1] -= dropped
            self._left_out += dropped

    def take(self):
        gap = [b"[... %d bytes left out ...]" % self._left_out] if self._left_out else []
        text = b"\n".join(self._head + gap + list(self._tail)).decode("utf-8", "replace")
        self._clear()
        return text.rstrip()


def listed_tests(text):
    """(suite, test) in the binary's order."""
    suite = None
    for line in text.splitlines():
        test = _TEST_LINE.match(line)
        if test and suite is not None:
            yield suite, test.group(1)
            continue
        head = _SUITE_LINE.match(line)
        suite = head.group(1) if head else None


def _tests(result):
    """(full name, entry) of the binary's JSON. Skips entries that are not as expected."""
    for suite in _dicts(result.get("testsuites")):
        for test in _dicts(suite.get("testsuite")):
            yield "%s.%s" % (suite.get("name"), test.get("name")), test


def _dicts(value):
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def places_in(result, describer):
    places = {}
    for name, test in _tests(result):
        file, line = test.get("file"), test.get("line")
        if isinstance(file, str) and file and isinstance(line, int):
            places[name] = os.path.normpath(describer.absolute(file)), line
    return places


def results_in(result):
    """{full name: (state, text, seconds)} of the tests that ran."""
    results = {}
    for name, test in _tests(result):
        if test.get("status") != "RUN":
            continue
        failures = _dicts(test.get("failures"))
        parts = [str(entry.get("failure", "")).partition("\n") for entry in failures]
        text = "\n".join("%s: Failure\n%s" % (place, words) for place, _, words in parts)
        skipped = test.get("result") == "SKIPPED"
        state = "failed" if failures else "skipped" if skipped else "passed"
        seconds = re.match(r"[0-9.]*[0-9]", str(test.get("time")))
        results[name] = state, text, float(seconds.group()) if seconds else 0.0
    return results


def parts_of(text):
    """(kind, place, message) of each failure or skip in `text`; each message is one line."""
    parts, lines = [], []
    for line in text.splitlines():
        head = _PART.search(line)
        if head:
            place = (head.group("file"), int(head.group("line"))) if head.group("file") else None
            lines = []
            parts.append((head.group("kind"), place, lines))
        else:
            lines.append(line.strip())
    return [(kind, place, " ".join(filter(None, lines))) for kind, place, lines in parts]


def is_disabled(name):
    return name.startswith("DISABLED_") or "/DISABLED_" in name


def source_names(suite, test):
    """Names under which a parametrized test may be selected. Suite and Suite::Test, as in the
    source, select Some/Suite.Test/0 (TEST_P), Suite/0.Test (TYPED_TEST) and Some/Suite/0.Test
    (TYPED_TEST_P); names with one of the affixes do so, too."""
    parts = suite.split("/")
    ends = (len(parts), len(parts) - 1)
    suites = {"/".join(parts[first:last]) for first in (0, 1) for last in ends} - {""}
    tests = (test, test.partition("/")[0])
    return suites | {name + "::" + which for name in suites for which in tests}


def literal(name):
    """A filter pattern for `name`. Special characters become `?`, which matches any character."""
    return re.sub(r"[:*-]", "?", name)


def pattern_for(select):
    """The filter for `-k`: as in unittest, a word without wildcards matches anywhere in a name."""
    return select if any(character in select for character in "*?:-") else "*%s*" % select
