"""Runs a GoogleTest binary: lists its tests, runs the selected ones, and reports results to the
recorder as they are printed. At the end the binary's JSON overrides them.

If the binary dies, this process ends with the same signal or exit code.
Not here: states and ids (recorder.py), copying the output (program.py).
"""

import json
import os
import re
import shutil
import subprocess

from _compat_harness.describe import capped
from _compat_harness.gtest_text import (
    FailureText,
    is_disabled,
    listed_tests,
    literal,
    parts_of,
    pattern_for,
    places_in,
    results_in,
    source_names,
)
from _compat_harness.program import Program, end_like, environment_without
from _compat_harness.recorder import FAILING, Outcome

VERSION, MAIN_SPEC, IN_PYTHON = "", None, False  # a binary does not report its GoogleTest version

LISTING_LIMIT_S = 60
LISTING_LIMIT = 16 * 1024 * 1024  # bytes
# Bytes of one argument; Linux allows 128 KiB.
FILTER_LIMIT = 100_000

# Variables of the caller's shell that choose, shuffle, repeat or hide tests.
DISTURBING = frozenset(
    [
        "GTEST_ALSO_RUN_DISABLED_TESTS",
        "GTEST_BREAK_ON_FAILURE",
        "GTEST_BRIEF",
        "GTEST_COLOR",
        "GTEST_FAIL_FAST",
        "GTEST_FILTER",
        "GTEST_FLAGFILE",
        "GTEST_LIST_TESTS",
        "GTEST_OUTPUT",
        "GTEST_PRINT_TIME",
        "GTEST_REPEAT",
        "GTEST_SHARD_INDEX",
        "GTEST_SHARD_STATUS_FILE",
        "GTEST_SHUFFLE",
        "GTEST_STREAM_RESULT_TO",
        "GTEST_TOTAL_SHARDS",
        "TESTBRIDGE_TEST_ONLY",
        "TEST_PREMATURE_EXIT_FILE",
        "XML_OUTPUT_FILE",
    ]
)
_ALSO_DISABLED = "--gtest_also_run_disabled_tests"

# A test's own output may precede it on the same line.
_MARK = re.compile(rb"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ")
_STATES = {b"       OK ": "passed", b"  FAILED  ": "failed", b"  SKIPPED ": "skipped"}
_SUITE_BEGINS = re.compile(rb"\[----------\] \d+ tests? from ([^,]*)(?:, where .*)?\Z")
_CLOSING = re.compile(rb"\[==========\] \d+ tests? from \d+ test (?:suite|case)s? ran\.")
_COUNT = re.compile(rb"\[  (?:PASSED |SKIPPED|FAILED ) ?\] \d+ tests?[.,]")
_BROKEN_SUITE = re.compile(rb"\[  FAILED  \] (.*): SetUpTestSuite or TearDownTestSuite\Z")


def argv(session):
    return [session.file] + session.arguments.options


def run(session):
    driver, scratch = _Driver(session), session.arguments.scratch
    if scratch:
        os.makedirs(scratch, exist_ok=True)
    try:
        code = 0
        if driver.collect() and not session.arguments.collect_only:
            code = driver.run()
        else:
            session.recorder.finish()
    except _Ended as end:
        code = end.code
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    end_like(code)


class _Ended(Exception):
    """The binary ended early, with Program.run's result `code`."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class _Driver:
    def __init__(self, session):
        self._session, self._recorder = session, session.recorder
        self._command = argv(session)
        self._env = environment_without(DISTURBING)
        self._result_file = session.events.path + ".gtest.json"
        self._cases = {}  # "Suite.Test" -> Case, for the tests to run
        self._suites = {}  # suite -> names of all its enabled tests

    # Collection.

    def collect(self):
        """Announces the tests. Returns whether there are any to run."""
        code, text = self._list()
        result = self._read_result()
        # A binary that crashes at exit may have listed its tests before.
        if code != 0 and not result:
            self._report_listing_failed(code, text)
        places = places_in(result, self._session.describer)
        disabled, tests = [], list(listed_tests(text))
        own = {suite + "::" + test for suite, test in tests}
        for suite, test in tests:
            name = suite + "." + test
            case = self._recorder.case(suite + "::" + test, name, places.get(name, ("", 0)))
            disabled_one = is_disabled(suite) or is_disabled(test)
            can_run = _ALSO_DISABLED in self._command or not disabled_one
            if can_run:
                self._suites.setdefault(suite, []).append(name)
            # A name that is a test's full name selects only that test.
            if not self._recorder.selected(case, source_names(suite, test) - own):
                continue
            self._recorder.announce(case)
            if can_run:
                self._cases[name] = case
            else:
                disabled.append(case)
        if not self._suites and not disabled:
            self._show(text)  # not a GoogleTest list: the log shows what it is
        self._recorder.ready()
        for case in disabled:
            case.outcomes.append(Outcome("skipped", "setup", "DISABLED_"))
            self._recorder.end(case)
        return bool(self._cases)

    def _list(self):
        """Exit code and output of --gtest_list_tests. The output goes to a file: a process that
        the binary leaves behind would keep a pipe open."""
        select = self._session.arguments.select
        listing = self._session.events.path + ".list"
        command = self._command + ["--gtest_output=json:" + self._result_file]
        command += ["--gtest_filter=" + pattern_for(select)] if select else []
        command += ["--gtest_list_tests"]
        with open(listing, "w+b") as file:
            os.unlink(listing)
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=self._env,
                    cwd=self._session.arguments.scratch,
                    timeout=LISTING_LIMIT_S,
                ).returncode
            except subprocess.TimeoutExpired:
                code = None
            file.seek(0)
            text = file.read(LISTING_LIMIT).decode("utf-8", "replace")
        return code, text

    def _report_listing_failed(self, code, text):
        self._show(text)
        if code is not None and code < 0:
            raise _Ended(code)
        how = "no answer in %d s" % LISTING_LIMIT_S if code is None else "exit code %d" % code
        last = text.strip().rpartition("\n")[2]
        failure = {
            "type": "NoTestList",
            "message": "%s to --gtest_list_tests%s" % (how, ": " + last if last else ""),
            "traceback": capped(text),
            "phase": "load",
            "frames": [],
        }
        outcome = Outcome("errored", "load", None, failure)
        self._recorder.pseudo("<module>", self._session.module, [outcome])
        self._recorder.ready()
        self._recorder.finish()
        raise _Ended(1)

    def _show(self, text):
        self._session.events.log.write(text.encode("utf-8", "replace"))

    def _read_result(self):
        """The JSON that the binary wrote for --gtest_output; {} if it is missing or incomplete."""
        try:
            with open(self._result_file, encoding="utf-8", errors="replace") as file:
                result = json.load(file)
            return result if isinstance(result, dict) else {}
        except (OSError, ValueError):
            return {}
        finally:
            try:
                os.unlink(self._result_file)
            except OSError:
                pass

    # The run.

    def run(self):
        filters, worst, closing = self._filters(), 0, []
        for number, names in enumerate(filters, 1):
            if len(filters) > 1:
                part = "invocation %d of %d" % (number, len(filters))
                self._session.events.complain(part)
                closing.append("harness: " + part)
            code, lines = self._run_once(names)
            closing += lines
            worst = worst or code
            if self._recorder.has_enough():
                break
        self._recorder.finish("\n".join(closing) or None)
        return worst

    def _run_once(self, names):
        follower = _Follower(self._session, self._cases)
        command = self._command + ["--gtest_output=json:" + self._result_file]
        if names is not None:
            command.append("--gtest_filter=" + names)
        program = Program(command, self._env, follower.line, self._session.arguments.scratch)
        follower.stop = program.stop
        code = program.run()
        if follower.stopped:
            self._read_result()
            return 1, []
        result = self._read_result()
        if not follower.closed and not result:
            raise _Ended(code)  # died during the run: no `finish` event
        follower.close(result, code)
        return code, [line.decode("ascii", "replace") for line in follower.closing]

    def _filters(self):
        """Filters that together select the tests to run, each short enough for an argument. None:
        no filter is needed."""
        whole, wanted = not self._session.arguments.select, []
        if whole and len(self._cases) == sum(map(len, self._suites.values())):
            return [None]
        for suite, names in self._suites.items():
            chosen = [name for name in names if name in self._cases]
            if whole and len(chosen) == len(names) > 1:
                wanted.append(literal(suite) + ".*")
            else:
                wanted += map(literal, chosen)
        filters = [""]
        for pattern in wanted:
            if filters[-1] and len(filters[-1]) + len(pattern) + 1 > FILTER_LIMIT:
                filters.append("")
            filters[-1] += (":" if filters[-1] else "") + pattern
        return filters


class _Follower:
    """Reads the binary's output. Ignores lines that a test prints to imitate GoogleTest: accepts
    the start of a pending test only while none runs, and a verdict only on the running test or
    the last one."""

    def __init__(self, session, cases):
        self._recorder, self._describer = session.recorder, session.describer
        self._cases = cases
        self._due = {name.encode("utf-8", "surrogateescape"): c for name, c in cases.items()}
        self._running = self._last = None  # (name, case)
        self._text = FailureText()
        self._suite = b""
        self._outside = []  # (suite, text) of failures outside of tests
        self._broken_suites = []
        self.closed = self.stopped = False
        self.closing = []  # GoogleTest's summary lines
        self.stop = None  # function that ends the binary

    def line(self, line):
        line = line[:-1] if line.endswith(b"\r") else line
        if self.stopped:
            return
        if self._running is None:
            self._between(line)
        for mark in _MARK.finditer(line):
            rest = line[mark.end() :]
            if mark.group(1) not in _STATES:
                if self._running is None and rest in self._due:
                    return self._start(rest)
            elif self._running is not None:
                if _starts_with_name(rest, self._running[0]):
                    return self._end(_STATES[mark.group(1)])
            elif self._last is not None and _starts_with_name(rest, self._last[0]):
                return self._amend(self._last[1], _STATES[mark.group(1)])
        self._text.add(line)

    def _between(self, line):
        begins = _SUITE_BEGINS.match(line)
        broken = _BROKEN_SUITE.match(line) if self.closed else None
        if begins:
            self._keep_outside()
            self._suite = begins.group(1)
        elif line.startswith(b"[----------] "):
            self._keep_outside()
        elif broken:
            self._broken_suites.append(broken.group(1))
        elif _CLOSING.match(line):
            self._keep_outside()
            self.closed, self.closing = True, [line]
        elif self.closed and _COUNT.match(line):
            self.closing.append(line)

    def _keep_outside(self):
        text = self._text.take()
        if text:
            self._outside.append((self._suite, text))

    def _start(self, name):
        self._keep_outside()
        case = self._due.pop(name)
        self._running, self._last = (name, case), None
        self.closed, self.closing = False, []  # an earlier summary was a test's own output
        self._recorder.start(case)

    def _end(self, state):
        name, case = self._last = self._running
        self._running = None
        case.outcomes = self._outcomes(state, self._text.take())
        self._recorder.end(case)
        if self._recorder.has_enough():
            self.stopped = True
            self.stop()

    def _amend(self, case, state):
        """Corrects a state that was taken from the test's own output."""
        if case.outcomes and case.outcomes[0].state != state:
            case.outcomes = self._outcomes(state, self._text.take())
            self._recorder.amend(case)

    def _outcomes(self, state, text):
        parts = parts_of(text)
        if state == "skipped":
            reasons = [words for kind, _, words in parts if kind == "Skipped" and words]
            reasons = reasons or [self._set_up_failure()]
            return [Outcome("skipped", "call", "; ".join(reasons) or None)]
        if state == "failed":
            return [
                Outcome("failed", "call", None, self._failure(place, words, text, "call"))
                for kind, place, words in parts
                if kind == "Failure"
            ] or [Outcome("failed", "call", None, self._failure(None, "", text, "call"))]
        return [Outcome(state, "call")]

    def _set_up_failure(self):
        """Why GoogleTest skipped a test without a message: its suite's or the global set-up."""
        for owner, text in self._outside:
            for kind, _, words in parts_of(text):
                if owner in (b"", self._suite) and kind == "Failure":
                    return "the set-up failed: " + words
        return ""

    def _failure(self, place, words, text, phase):
        frames = []
        if place:
            file = os.path.normpath(self._describer.absolute(place[0]))
            frames = [{"file": file, "line": place[1], "function": ""}]
        return {
            "type": "Failure",
            "message": capped(words),
            "traceback": capped(text),
            "phase": phase,
            "frames": frames,
        }

    # After the run.

    def close(self, result, code):
        """Completes and corrects the states from the binary's JSON, if there is one."""
        by_name, skipped_globally = results_in(result), self._set_up_prevented_all()
        for name, case in self._cases.items():
            state, text, seconds = by_name.get(name, (None, "", 0.0))
            # The JSON shows tests that a global set-up skipped as passed.
            if state is None or skipped_globally:
                continue
            if case.outcomes and case.outcomes[0].state == state:
                continue
            if case.outcomes:
                case.outcomes = self._outcomes(state, text)
                self._recorder.amend(case)
                continue
            if case.began is None:
                self._recorder.start(case)
                case.began -= seconds
            case.outcomes = self._outcomes(state, text)
            self._recorder.end(case)
        self._report_fixtures(code)

    def _set_up_prevented_all(self):
        """Whether a global set-up failed or skipped, and no test started."""
        stopped = any(owner == b"" and parts_of(text) for owner, text in self._outside)
        return stopped and all(case.began is None for case in self._cases.values())

    def _report_fixtures(self, code):
        for suite in self._broken_suites:
            text = "\n".join(text for owner, text in self._outside if owner == suite)
            self._pseudo(suite.decode("utf-8", "replace") + "::<TestSuite>", text, "class_setup")
        failed = any(o.state in FAILING for c in self._cases.values() for o in c.outcomes)
        if self._broken_suites or failed:
            return
        text = "\n".join(text for _, text in self._outside)
        due = [case for case in self._due.values() if not case.outcomes]
        kinds = {kind for kind, _, _ in parts_of(text)}
        if code != 0 and "Failure" in kinds:
            self._pseudo("<Environment>", text, "module_setup")
            state, reason = "errored", None
        elif code == 0 and "Skipped" in kinds:
            state = "skipped"
            reason = "; ".join(words for _, _, words in parts_of(text) if words) or None
        else:
            return
        for case in due:
            failure = None
            if state == "errored":
                kind, place, words = parts_of(text)[0]
                failure = self._failure(place, words, text, "module_setup")
            case.outcomes = [Outcome(state, "module_setup", reason, failure)]
            self._recorder.end(case)

    def _pseudo(self, tail, text, phase):
        failures = [
            Outcome("errored", phase, None, self._failure(place, words, text, phase))
            for kind, place, words in parts_of(text)
            if kind == "Failure"
        ] or [Outcome("errored", phase, None, self._failure(None, "", text, phase))]
        self._recorder.pseudo(tail, tail, failures)


def _starts_with_name(rest, name):
    return rest == name or rest.startswith((name + b" (", name + b", where "))
