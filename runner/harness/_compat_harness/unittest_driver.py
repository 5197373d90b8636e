"""Runs a module under unittest and reports to the recorder. Subclasses of unittest's TestProgram,
TextTestRunner and TextTestResult only listen, so the log is unittest's own.

Not here: states and ids (recorder.py).
"""

from _compat_harness import own_builtins as __builtins__

import contextlib
import functools
import importlib.util
import os
import re
import sys
import unittest
from unittest.case import _SubTest
from unittest.loader import _FailedTest, _make_skipped_test
from unittest.suite import _ErrorHolder

from _compat_harness import describe
from _compat_harness.recorder import Outcome
from _compat_harness.unittest_fixtures import Fixture, attribute, is_skipped, observed
from _compat_harness.unittest_load import dotted_name, import_module, suites_in, tests_in

VERSION = "%d.%d.%d" % sys.version_info[:3]
MAIN_SPEC = importlib.util.find_spec("unittest.__main__")
IN_PYTHON = True

# Bound at import: the suite's patches must not reach it.
_suppress = contextlib.suppress

_without_colours = functools.partial(re.compile(r"\x1b\[[\d;]*m").sub, "")

# Characters kept of the framework's output: enough for its summary lines.
_TAIL = 1000

# The phase of a traceback, from the TestCase function that called the suite's code.
_PHASES = {
    "_callSetUp": "setup",
    "_callTestMethod": "call",
    "_callTearDown": "teardown",
    "_callCleanup": "teardown",
}


def argv(session):
    select = session.arguments.select
    return (
        [os.path.basename(sys.executable) + " -m unittest", "-v"]
        + session.arguments.options
        + (["-k", select] if select else [])
        + [dotted_name(session.module)]
    )


def run(session):
    listener = _Listener(session)

    class Result(_Result):
        pass

    class Runner(_Runner):
        resultclass = Result

    Result.listener = Runner.listener = listener
    _Program(session, listener, Runner)


# Loading.


class _Program(unittest.TestProgram):
    """`python -m unittest -v MODULE`, with its options and exit status; only loading differs."""

    def __init__(self, session, listener, runner):
        self._session, self._listener = session, listener
        super().__init__(module=None, argv=sys.argv, testRunner=runner)

    def createTests(self, *args, **kwargs):
        if self.testNamePatterns:
            self.testLoader.testNamePatterns = self.testNamePatterns
        self.test = self._load()
        self._listener.collect(self.test)

    def runTests(self):
        self._session.recorder.ready()
        if self._session.arguments.collect_only:
            self._listener.end_load_failures()
            self._session.recorder.finish()
            raise SystemExit(0)
        super().runTests()

    def _load(self):
        session, loader = self._session, self.testLoader
        dotted = dotted_name(session.module)
        last = dotted.rpartition(".")[2]
        try:
            suite = loader.loadTestsFromModule(import_module(dotted, session.file))
            if not callable(suite):
                raise TypeError("load_tests returned %r, not a test suite" % (suite,))
            return suite
        except unittest.SkipTest as error:
            return _make_skipped_test(last, error, loader.suiteClass)
        except Exception as error:
            tb = describe.from_suite(error.__traceback__)
            text = describe.traceback_text(error, tb)
            message = "Failed to import test module: %s\n%s" % (last, text)
            failed = _FailedTest(last, ImportError(message))
            self._listener.load_failures[failed] = session.load_failure(error, tb, text)
            return loader.suiteClass([failed])


# Listening.


class _Listener:
    """Maps test objects to cases, and knows which fixture runs."""

    def __init__(self, session):
        self.session, self.recorder = session, session.recorder
        self.describer = session.describer
        # _FailedTest -> Outcome, for tests that stand for a load failure.
        self.load_failures = {}
        # id(test) -> (test, case), in collected order, until the test ends. Released then, because
        # a test's attributes can be large.
        self._pending = {}
        # id(test) -> (test, case), for running tests: several if a test runs other tests.
        self._open = {}
        self._fixtures = []

    # Collection.

    def collect(self, suite):
        unwanted = set()
        for test in tests_in(suite):
            case = self._case(test)
            # Load failures are reported whatever is selected.
            if case.pseudo or self.recorder.selected(case):
                self._pending[id(test)] = (test, self.recorder.announce(case))
            else:
                unwanted.add(id(test))
        for part in list(suites_in(suite)):
            if unwanted:
                part._tests = [t for t in part if id(t) not in unwanted]
            if isinstance(part, unittest.TestSuite):
                with _suppress(TypeError):  # a suite class with slots cannot be observed
                    part.__class__ = observed(type(part))

    def end_load_failures(self):
        """Ends the rows of load failures in a session that runs no tests."""
        for test, case in list(self._pending.values()):
            if case.pseudo:
                if isinstance(test, _FailedTest):
                    case.outcomes.append(self._load_outcome(test))
                else:
                    method = attribute(test, test._testMethodName)
                    reason = attribute(method, "__unittest_skip_why__")
                    case.outcomes.append(Outcome("skipped", "load", reason))
                self.recorder.end(case)

    def _case(self, test):
        cls = type(test)
        name = _text_of(getattr(test, "id", None), test)
        if isinstance(test, _FailedTest) or cls.__module__ == "unittest.loader":
            return self.recorder.case("<module>", name, pseudo=True)
        method = getattr(test, "_testMethodName", None)
        if isinstance(test, unittest.FunctionTestCase):
            return self.recorder.case(name, name, self.describer.place(test._testFunc))
        if not isinstance(method, str) or not name.endswith("." + method):
            return self.recorder.case(name, name)  # has its own id, like a doctest
        place = self.describer.place(attribute(test, method))
        return self.recorder.case("%s::%s" % (cls.__qualname__, method), name, place)

    # Tests.

    def start(self, test):
        case = self._claim(test)
        self._open[id(test)] = (test, case)
        self.recorder.start(case)

    def outcome(self, test, outcome):
        self._case_of(test).outcomes.append(outcome)

    def stop(self, test):
        case = self._open.pop(id(test), (None, None))[1]
        if case is None:  # never started: Python 3.12.1 with a test skipped by a decorator
            case = self._claim(test)
        raised = sys.exc_info()[1]
        if not case.outcomes and raised is not None:  # leaves the framework, as SystemExit does
            phase = describe.phase_in(raised.__traceback__, _PHASES, "call")
            failure = self.describer.failure(raised, raised.__traceback__, phase)
            case.outcomes.append(Outcome("errored", phase, None, failure))
        self.recorder.end(case)

    def failed(self, test, state, error, text):
        """Records a failure or an error of `test`. `text`: the traceback as printed."""
        exception, tb = error[1], error[2]
        if isinstance(exception, GeneratorExit) and id(test) not in self._open:
            return  # the interpreter closes generators of a framework that crashed
        if isinstance(test, _ErrorHolder):
            self._fixture_outcome(test, state, exception, tb, text)
        elif isinstance(test, _FailedTest):
            self.outcome(test, self._load_outcome(test, text))
        else:
            self.outcome(test, self._failure(state, error, text))

    def expected_failure(self, test, error, text):
        self.outcome(test, self._failure("xfailed", error, text))

    def _failure(self, state, error, text):
        phase = describe.phase_in(error[2], _PHASES, "call")
        return Outcome(state, phase, None, self.describer.failure(error[1], error[2], phase, text))

    def skipped(self, test, reason):
        reason = str(reason)
        if isinstance(test, _ErrorHolder):
            self._fixture_skip(test, reason)
        elif isinstance(test, _SubTest):
            case = self._case_of(test.test_case)
            self.recorder.subtest(case, test._subDescription(), "skipped", reason)
        elif isinstance(test, _FailedTest) or type(test).__module__ == "unittest.loader":
            self.outcome(test, Outcome("skipped", "load", reason))
        else:
            method = attribute(test, getattr(test, "_testMethodName", ""))
            decorated = is_skipped(type(test)) or is_skipped(method)
            self.outcome(test, Outcome("skipped", "setup" if decorated else "call", reason))

    def subtest(self, test, subtest, error, text):
        label = subtest._subDescription()
        case = self._case_of(test)
        if error is None:
            self.recorder.subtest(case, label, "passed")
            return
        state = "failed" if issubclass(error[0], subtest.failureException) else "errored"
        failure = self.describer.failure(error[1], error[2], "call", text)
        self.recorder.subtest(case, label, state, None, failure)

    def _load_outcome(self, test, text=None):
        known = self.load_failures.get(test)
        if known is not None:
            return known
        error = test._exception  # from load_tests, or from a module that load_tests discovered
        if isinstance(error, unittest.SkipTest):
            return Outcome("skipped", "load", str(error))
        outcome = self.session.load_failure(error, error.__traceback__, text)
        if isinstance(error, test.failureException):
            outcome.state = "failed"
        return outcome

    def _case_of(self, test):
        entry = self._open.get(id(test)) or self._pending.get(id(test))
        return entry[1] if entry else self._announce(test)

    def _claim(self, test):
        """Takes the case of a test that starts. Announces a new case if the test was not collected
        or runs a second time."""
        entry = self._pending.pop(id(test), None)
        return entry[1] if entry else self.recorder.announce(self._case(test))

    def _announce(self, test):
        case = self.recorder.announce(self._case(test))
        self._pending[id(test)] = (test, case)
        return case

    # Class and module fixtures.

    @contextlib.contextmanager
    def fixture(self, kind, owner, test=None):
        """Context in which the fixture `kind` of `owner` (a class or a module's name) runs. `test`
        is the first test that needs it."""
        fixture = Fixture(kind, owner)
        if fixture.function is not None:
            self.recorder.fixture(fixture.tail)
        self._fixtures.append(fixture)
        try:
            yield
        except BaseException as error:  # the framework lets these end the run
            fixture.fail(self.describer, "errored", error, error.__traceback__)
            raise
        finally:
            self._fixtures.pop()
            if fixture.outcomes:
                self._report_fixture(fixture, test)

    def _report_fixture(self, fixture, test):
        if test is None:
            place = self.describer.place(fixture.function)
            self.recorder.pseudo(fixture.tail, fixture.name, fixture.outcomes, place)
            return
        reached = False
        for other, case in list(self._pending.values()):
            reached = reached or other is test
            if not reached:
                continue
            if not fixture.covers(other):
                break
            del self._pending[id(other)]
            case.outcomes.extend(fixture.outcomes)
            self.recorder.end(case)

    def _fixture_outcome(self, holder, state, exception, tb, text):
        if self._fixtures:
            self._fixtures[-1].fail(self.describer, state, exception, tb, text)
        else:  # a suite class that runs fixtures in its own way
            failure = self.describer.failure(exception, tb, "class_setup", text)
            outcome = Outcome(state, "class_setup", None, failure)
            self.recorder.pseudo("<%s>" % holder.id(), holder.id(), [outcome])

    def _fixture_skip(self, holder, reason):
        if self._fixtures:
            fixture = self._fixtures[-1]
            fixture.outcomes.append(Outcome("skipped", fixture.phase, reason))
        else:
            outcome = Outcome("skipped", "class_setup", reason)
            self.recorder.pseudo("<%s>" % holder.id(), holder.id(), [outcome])


class _Result(unittest.TextTestResult):
    """TextTestResult that passes each report to the listener."""

    listener = None  # set in the sub-class made for a session
    _stopped = False

    @property
    def shouldStop(self):
        return self._stopped or self.listener.recorder.has_enough()

    @shouldStop.setter
    def shouldStop(self, value):
        self._stopped = value

    def startTest(self, test):
        self.listener.start(test)
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.listener.stop(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.listener.outcome(test, Outcome("passed", "call"))

    def addError(self, test, err):
        notify = functools.partial(self.listener.failed, test, "errored", err)
        self._report(notify, self.errors, super().addError, test, err)

    def addFailure(self, test, err):
        notify = functools.partial(self.listener.failed, test, "failed", err)
        self._report(notify, self.failures, super().addFailure, test, err)

    def addExpectedFailure(self, test, err):
        notify = functools.partial(self.listener.expected_failure, test, err)
        self._report(notify, self.expectedFailures, super().addExpectedFailure, test, err)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.listener.outcome(test, Outcome("xpassed", "call"))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.listener.skipped(test, reason)

    def addSubTest(self, test, subtest, err):
        reports = self.errors
        if err is not None and issubclass(err[0], test.failureException):
            reports = self.failures
        notify = functools.partial(self.listener.subtest, test, subtest, err)
        self._report(notify, reports, super().addSubTest, test, subtest, err)

    @staticmethod
    def _report(notify, reports, add, *args):
        """Calls `add`, then `notify` with the traceback as the framework formatted it, or None if
        it formatted none: the suite may have broken the formatting."""
        before, text = len(reports), None
        try:
            add(*args)
            text = _without_colours(reports[-1][1]) if len(reports) > before else None
        finally:
            notify(text)


class _Runner(unittest.TextTestRunner):
    listener = None  # set in the sub-class made for a session

    def __init__(self, **options):
        self._log = _Log(sys.stderr, self.listener.session.events)
        super().__init__(stream=self._log, **options)

    def run(self, test):
        result = super().run(test)
        self.listener.recorder.finish(self._log.closing(), self._log.is_the_log())
        return result


class _Log:
    """The framework's output stream. If the suite closes it or its descriptor, writes to the log
    directly. Drops the output of a forked process that returns to the framework: the parent
    prints the same."""

    def __init__(self, stream, events):
        self._stream, self._descriptor, self._is_forked = stream, events.log, events.is_forked
        self._broken = stream is None
        self._tail = self._line = ""  # _line: not yet written

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def closing(self):
        """The framework's summary, from the rule above "Ran"; "" if there is none."""
        rule = self._tail.rfind("\n" + "-" * 70 + "\nRan ")
        return self._tail[rule + 1 :] if rule >= 0 else ""

    def is_the_log(self):
        return self._broken or self._descriptor.is_file_of(self._stream)

    def write(self, text):
        self._line += text
        if "\n" in text:
            self.flush()

    def flush(self):
        """A line is one system call: unittest writes it in pieces, and each wakes the runner."""
        text, self._line = self._line, ""
        if not text or self._is_forked():
            return
        self._tail = (self._tail + text)[-_TAIL:]
        if not self._broken:
            try:
                self._stream.write(text)
                self._stream.flush()  # a closed descriptor would lose buffered text
                return
            except (OSError, ValueError):
                self._broken = True
        with _suppress(OSError):
            self._descriptor.write(text.encode("utf-8", "backslashreplace"))


# The suite's code, which may raise.
def _text_of(describe_itself, test):
    try:
        return str(describe_itself())
    except Exception:
        return "%s.%s" % (type(test).__module__, type(test).__qualname__)
