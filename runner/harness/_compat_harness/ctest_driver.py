"""Runs the tests of a CMake build folder through ctest and reports its results to the recorder.
ctest applies the project's fixtures, environment, time-outs and expected failures.

Each test is a process, and ctest reports those that die. ctest prefixes each line of a test's
output with the test's number, so no test can print a fake result.
Not here: states and ids (recorder.py), copying the output (program.py).
"""

import json
import os
import re
import shutil
import subprocess

from _compat_harness.describe import capped
from _compat_harness.program import Program, end_like, environment_without
from _compat_harness.recorder import Outcome

LISTING_LIMIT_S = 60
EXIT_FAILED = 8  # ctest's exit code when a test failed

# Variables of the caller's shell that run tests in parallel or hide lines.
DISTURBING = frozenset(
    ["CTEST_NO_TESTS_ACTION", "CTEST_PARALLEL_LEVEL", "CTEST_PROGRESS_OUTPUT", "CLICOLOR_FORCE"]
)

_START = re.compile(r"\s*Start\s+(\d+): ")
_RESULT = re.compile(r"\s*\d+/\d+ Test\s+#(\d+): ")
_OUTPUT = re.compile(r"(\d+): ?(.*)\Z", re.S)
_TIME = re.compile(r"\s+\d+\.\d+ sec\Z")
_NOT_OF_THE_TEST = ("Test command: ", "Working Directory: ", "Environment variables:")
_CLOSING = re.compile(r"\d+% tests passed, \d+ tests failed out of \d+\Z")
_TIMEOUT = re.compile(r"Test timeout computed to be: (\d+)\Z")
_OUTPUT_LIMIT = 1 << 20

# ctest's name for the signal that ended a test.
_SIGNALS = {
    "SegFault": "SIGSEGV",
    "Illegal": "SIGILL",
    "Interrupt": "SIGINT",
    "Numerical": "SIGFPE",
    "Subprocess aborted": "SIGABRT",
    "Subprocess killed": "SIGKILL",
}


def _version():
    ctest = shutil.which("ctest")
    if ctest is None:
        raise ImportError("ctest is not on PATH: install CMake")
    output = subprocess.run([ctest, "--version"], stdout=subprocess.PIPE, check=False).stdout
    return output.decode("utf-8", "replace").partition("\n")[0].rpartition(" ")[2]


VERSION, MAIN_SPEC, IN_PYTHON = _version(), None, False


def argv(session):
    folder = os.path.dirname(session.file)
    return ["ctest", "--test-dir", folder, "--verbose"] + session.arguments.options


def run(session):
    _Driver(session).run()


class _Driver:
    def __init__(self, session):
        self._session, self._recorder = session, session.recorder
        self._env = environment_without(DISTURBING)
        self._cases = {}  # number -> Case, for all tests
        self._disabled, self._announced = set(), set()  # numbers
        self._skip_codes = {}  # number -> exit code that means skipped
        self._running = None  # number
        self._output, self._kept = [], 0  # of the running test
        self._note = ""  # ctest's first own line about the running test
        self._limit = ""  # the running test's time-out in seconds
        self._pending = ""  # a result whose line continues
        self._stopped = False
        self._closing = None
        self._program = None

    def run(self):
        chosen, complete = self._collect()
        self._recorder.ready()
        if self._session.arguments.collect_only or not chosen:
            self._recorder.finish()
            raise SystemExit(0)
        command, index = argv(self._session) + ["-j1"], self._session.events.path + ".tests"
        if not complete:
            with open(index, "w", encoding="ascii") as file:
                file.write("0,0,0,%s\n" % ",".join(map(str, chosen)))
            command += ["-I", index]
        self._program = Program(command, self._env, self._line)
        try:
            code = self._program.run()
        finally:
            if not complete:
                os.unlink(index)
        if not self._stopped and (code < 0 or self._running is not None):
            end_like(code)
        self._recorder.finish(self._closing)
        end_like(EXIT_FAILED if self._stopped else code)

    # Collection.

    def _collect(self):
        """Announces the tests to run. Returns their numbers, and whether these are all tests."""
        listing = self._list([])
        tests = listing.get("tests", [])
        graph = listing.get("backtraceGraph", {})
        select = self._session.arguments.select
        named = {test["name"] for test in self._list(["-R", select])["tests"]} if select else None
        chosen = []
        for number, test in enumerate(tests, 1):
            name = test["name"]
            case = self._recorder.case(name, name, _place(graph, test.get("backtrace")))
            self._cases[number] = case
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            if "SKIP_RETURN_CODE" in properties:
                self._skip_codes[number] = properties["SKIP_RETURN_CODE"]
            if properties.get("DISABLED"):
                self._disabled.add(number)
            if self._recorder.selected(case) and (named is None or name in named):
                self._announce(number)
                chosen.append(number)
        return chosen, len(chosen) == len(tests)

    def _list(self, selection):
        command = argv(self._session) + ["--show-only=json-v1"] + selection
        try:
            listed = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                timeout=LISTING_LIMIT_S,
            )
            return json.loads(listed.stdout)
        except subprocess.TimeoutExpired:
            output, why = "", "no answer in %d s" % LISTING_LIMIT_S
        except ValueError:
            output = (listed.stderr + listed.stdout).decode("utf-8", "replace").strip()
            why = output.rpartition("\n")[2] or "exit code %d" % listed.returncode
        failure = {
            "type": "NoTestList",
            "message": "ctest --show-only=json-v1: " + why,
            "traceback": capped(output),
            "phase": "load",
            "frames": [],
        }
        self._session.events.log.write((output + "\n").encode("utf-8"))
        outcome = Outcome("errored", "load", None, failure)
        self._recorder.pseudo("<module>", self._session.module, [outcome])
        self._recorder.ready()
        self._recorder.finish()
        raise SystemExit(1)

    # Output.

    def _line(self, line):
        line = line.decode("utf-8", "replace").rstrip("\r")
        if self._stopped:
            return
        if self._pending:  # a reason of several lines
            return self._result(self._pending + " " + line)
        start, result = _START.match(line), _RESULT.match(line)
        if self._running is None:
            if start and int(start.group(1)) in self._cases:
                self._start(int(start.group(1)))
            elif _CLOSING.match(line):
                self._closing = line
            return
        output = _OUTPUT.match(line)
        if result and int(result.group(1)) == self._running:
            self._result(line)
        elif output and int(output.group(1)) == self._running:
            self._own_output(output.group(2))
        elif line and not self._note:
            self._note = line

    def _start(self, number):
        if number not in self._announced:  # a fixture of a selected test
            self._announce(number)
        self._running, self._output, self._kept = number, [], 0
        self._note = self._limit = ""
        if number not in self._disabled:
            self._recorder.start(self._cases[number])

    def _announce(self, number):
        self._announced.add(number)
        self._recorder.announce(self._cases[number])

    def _own_output(self, line):
        limit = _TIMEOUT.match(line)
        if not self._output and (limit or line.startswith(_NOT_OF_THE_TEST)):
            self._limit = limit.group(1) if limit else self._limit
        elif self._kept < _OUTPUT_LIMIT:
            self._output.append(line)
            self._kept += len(line) + 1

    def _result(self, line):
        if not _TIME.search(line):
            self._pending = line
            return
        self._pending = ""
        case = self._cases[self._running]
        words = _TIME.sub("", line[_RESULT.match(line).end() :])
        case.outcomes = [self._outcome(words[len(case.name) :].lstrip(" .").strip())]
        self._recorder.end(case)
        self._running = None
        if self._recorder.has_enough():
            self._stopped = True
            self._program.stop()

    def _outcome(self, verdict):
        """`verdict` as printed: "Passed", "***Failed  why", "Subprocess aborted***Exception:"."""
        before, _, after = verdict.partition("***")
        word, _, why = after.partition(":") if after.startswith("Exception") else (after, "", "")
        if verdict == "Passed":
            return Outcome("passed", "call")
        if word == "Exception":
            named = why.strip() or before
            signal = _SIGNALS.get(named, named)
            return Outcome("crashed", "call", signal, self._failure(signal, self._last_line()))
        if word == "Timeout":
            reason = "CTest's time-out of %s s" % self._limit
            return Outcome("timed_out", "call", reason, self._failure("Timeout", reason))
        if word == "Not Run (Disabled)":
            return Outcome("skipped", "setup", "DISABLED")
        if word == "Not Run":
            why = self._note or "CTest did not run it"
            return Outcome("errored", "setup", None, self._failure("NotRun", why))
        if word == "Skipped":
            code = self._skip_codes.get(self._running)
            silent = "exit code %s" % code if code is not None else None
            return Outcome("skipped", "call", self._last_line() or silent)
        why = word[len("Failed") :].strip() if word.startswith("Failed") else word
        return Outcome("failed", "call", None, self._failure("Failed", why or self._last_line()))

    def _failure(self, type, message):
        return {
            "type": type,
            "message": message,
            "traceback": capped("\n".join(self._output)),
            "phase": "setup" if type == "NotRun" else "call",
            "frames": [],
        }

    def _last_line(self):
        return next((line.strip() for line in reversed(self._output) if line.strip()), "")


def _place(graph, node):
    """File and line of the project's add_test."""
    nodes, files = graph.get("nodes", []), graph.get("files", [])
    if not isinstance(node, int) or node >= len(nodes) or "line" not in nodes[node]:
        return "", 0
    return files[nodes[node]["file"]], nodes[node]["line"]
