"""Runs a module under pytest with a plugin that reports to the recorder.

Not here: states and ids (recorder.py).
"""

from _compat_harness import own_builtins as __builtins__

import importlib.util
import re
import shutil
import sys

import pytest

from _compat_harness.recorder import FAILING, Outcome

VERSION = pytest.__version__
MAIN_SPEC = importlib.util.find_spec("pytest.__main__")
IN_PYTHON = True

# The usage text that precedes argparse's error message.
_USAGE = re.compile(r"\Ausage: .*?^\S+: error: ", re.S | re.M)

# pytest-forked's report of a test whose process ended has a phase of its own.
_DEATH = re.compile(r".*: (running the test (?:CRASHED with signal|EXITED with status) .*)", re.S)

# Reorder or repeat tests, which the runner does itself. Unregistered only after option parsing, so
# that their options in the suite's configuration stay valid.
_UNWANTED_PLUGINS = ("randomly", "pytest_randomly", "rerunfailures", "pytest_rerunfailures")


def argv(session):
    arguments = session.arguments
    return (
        [MAIN_SPEC.origin, "-v"]
        + arguments.options
        + (["-k", arguments.select] if arguments.select else [])
        + (["--collect-only"] if arguments.collect_only else [])
        + [session.module]
    )


def run(session):
    plugin = _Plugin(session)
    # Nothing is written into the suite's folder, and parallel modules do not share a cache.
    cache = session.events.path + ".pytest_cache"
    ours = ["-o", "cache_dir=" + cache]
    if session.forked:
        # pytest warns about plugins imported before it could rewrite them. A suite that turns
        # warnings into errors would not start.
        text = "ignore:Module already imported so cannot be rewritten"
        ours += ["-W", text + ":pytest.PytestAssertRewriteWarning"]
    remove = shutil.rmtree
    try:
        status = pytest.main(ours + sys.argv[1:], plugins=[plugin])
    finally:
        remove(cache, ignore_errors=True)
    if not plugin.cut_short:
        session.recorder.finish(plugin.closing(), plugin.prints_closing())
    raise SystemExit(int(status))


class _Plugin:
    def __init__(self, session):
        self._session, self._recorder = session, session.recorder
        self._describer = session.describer
        self._cases = {}  # item -> Case
        self._current = None  # the running case
        self._described = None  # (when, failure) of the report in progress
        self._explained = False  # whether a row says why the module has no tests
        self.cut_short = False  # pytest ended abnormally
        self._pytest_session = None

    # Start-up.

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_parse(self):
        self._module_failure((yield))

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config, args):
        # Appended after the suite's options, so they win. The recorder counts failures: pytest
        # counts a test that broke in two phases twice, and each sub-test.
        if early_config.pluginmanager.hasplugin("xdist"):
            args.append("-n0")
        args.append("--maxfail=0")

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        if getattr(config.option, "stepwise", False):
            config.option.stepwise = config.option.stepwise_skip = False

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self):
        self._module_failure((yield))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session):
        self._pytest_session = session
        manager = session.config.pluginmanager
        for name in _UNWANTED_PLUGINS:
            if manager.hasplugin(name):
                manager.unregister(name=name)

    def _module_failure(self, called):
        """Reports that pytest could not start (its configuration, a conftest or an argument is
        wrong), or that it crashed, for instance because the suite closed its output."""
        if called.excinfo is None or self._explained:
            return
        error = called.excinfo[1]
        # When a conftest fails, pytest 7.x keeps its exc_info, 8.x the exception.
        cause = getattr(error, "cause", None) or (getattr(error, "excinfo", None) or (0, None))[1]
        error = cause if isinstance(cause, BaseException) else error
        self._report_session_failure(error, error.__traceback__)

    def _report_session_failure(self, error, tb):
        if isinstance(error, pytest.UsageError):
            # Raised by pytest itself: its message is the cause, and frames add nothing.
            outcome = self._session.load_failure(error, None, "ERROR: %s\n" % error)
            outcome.failure["message"] = _USAGE.sub("", outcome.failure["message"])
        else:
            outcome = self._session.load_failure(error, tb)
        if self._recorder.ready_written:
            outcome.phase = outcome.failure["phase"] = "module_teardown"
            self._report_row("<session>", outcome)
        else:
            self._report_row("<module>", outcome)

    def _report_row(self, tail, outcome):
        self._explained = True
        self._recorder.pseudo(tail, self._session.module, [outcome])

    # Collection.

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self):
        called = yield
        if called.excinfo is not None:
            # SystemExit or KeyboardInterrupt, which pytest lets end the session.
            _, error, tb = called.excinfo
            self._report_row("<module>", self._session.load_failure(error, tb))
            return
        report = called.get_result()
        if report.outcome == "passed":
            return
        error = report.call.excinfo
        if report.outcome == "skipped":
            self._report_row("<module>", Outcome("skipped", "load", _skip_reason(report)))
            return
        exception = error.value
        if isinstance(exception, pytest.Collector.CollectError) and exception.__cause__:
            exception = exception.__cause__  # the import error that pytest wrapped
        text = _printed(report)
        tb = exception.__traceback__
        self._report_row("<module>", self._session.load_failure(exception, tb, text))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        yield  # after all other plugins: tests that they deselect are not collected
        kept, dropped = [], []
        for item in items:
            case = self._cases[item] = self._case(item)
            (kept if self._recorder.selected(case) else dropped).append(item)
        if dropped:
            items[:] = kept
            config.hook.pytest_deselected(items=dropped)

    def pytest_collection_finish(self, session):
        for item in session.items:
            self._recorder.announce(self._cases.get(item) or self._new_case(item))
        self._recorder.ready()

    def _new_case(self, item):
        case = self._cases[item] = self._case(item)
        return case

    def _case(self, item):
        path, separator, tail = item.nodeid.partition("::")
        return self._recorder.case(tail if separator else path, item.nodeid, self._place(item))

    def _place(self, item):
        try:
            function = getattr(item, "obj", None)
            file, line = self._describer.place(function)
            if line:
                return file, line
            path, line, _ = item.reportinfo()
            return self._describer.absolute(str(path)), (line + 1 if line is not None else 0)
        except Exception:  # an item from one of the suite's plugins
            return "", 0

    # Running.

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        case = self._cases.pop(item, None) or self._recorder.announce(self._case(item))
        self._current = case
        self._recorder.start(case)
        called = yield
        self._current = None
        if called.excinfo is not None:  # pytest.exit, KeyboardInterrupt, an error in a hook
            _, error, tb = called.excinfo
            if not any(o.state in FAILING for o in case.outcomes):
                failure = self._describer.failure(error, tb, "call")
                case.outcomes.append(Outcome("errored", "call", None, failure))
            self._explained = True
        self._recorder.end(case)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call):
        report = (yield).get_result()
        self._described = None
        if call.excinfo is not None and (report.failed or hasattr(report, "wasxfail")):
            phase = report.when
            failure = self._describer.failure(
                call.excinfo.value, call.excinfo.tb, phase, _printed(report)
            )
            # pytest's own message for an exception without one.
            message = getattr(report.longrepr, "errorstring", None)
            if isinstance(message, str):
                failure["message"] = message
            self._described = (phase, failure)

    def pytest_runtest_logreport(self, report):
        if self._current is None:
            return
        failure = None
        if self._described is not None and self._described[0] == report.when:
            failure, self._described = self._described[1], None
        outcome = self._outcome(report, failure)
        if outcome is None:
            return
        # From pytest-subtests, or from pytest itself since version 9.
        label = getattr(report, "sub_test_description", None) or getattr(
            report, "_sub_test_description", None
        )
        if label is not None:
            self._recorder.subtest(
                self._current, label(), outcome.state, outcome.reason, outcome.failure
            )
        else:
            self._current.outcomes.append(outcome)
        if self._recorder.has_enough(self._current):
            # Set before the tear-down, so that pytest also tears down fixtures of later tests.
            self._pytest_session.shouldfail = "stopping after %d failures" % (
                self._session.arguments.maxfail
            )

    def _outcome(self, report, failure):
        phase, xfail = report.when, getattr(report, "wasxfail", None)
        if report.failed:
            if failure is None:  # a strict xpass, or a report made by a plugin
                text = _printed(report)
                failure = {
                    "type": "Failed",
                    "message": text,
                    "traceback": text,
                    "phase": phase,
                    "frames": [],
                }
            death = _DEATH.fullmatch(failure["message"])
            if death is not None and phase not in ("setup", "call", "teardown"):
                failure.update(message=death[1], phase="call")
                return Outcome("crashed", "call", death[1], failure)
            return Outcome("failed" if phase == "call" else "errored", phase, None, failure)
        if report.skipped:
            if xfail is None:
                return Outcome("skipped", phase, _skip_reason(report))
            return Outcome("xfailed", phase, _xfail_reason(xfail), failure)
        if phase != "call":
            return None
        if xfail is None:
            return Outcome("passed", phase)
        return Outcome("xpassed", phase, _xfail_reason(xfail))

    def closing(self):
        """pytest's own counts in the form of its summary line; None without a terminal reporter."""
        try:
            manager = self._pytest_session.config.pluginmanager
            parts, _ = manager.getplugin("terminalreporter").build_summary_stats_line()
            return "%s in 0.00s" % ", ".join(text for text, _ in parts)
        except Exception:  # no reporter, or the suite's own
            return None

    def prints_closing(self):
        """Whether pytest printed its summary line to the log: not with -qq, or to another file."""
        try:
            reporter = self._pytest_session.config.pluginmanager.getplugin("terminalreporter")
            log = self._session.events.log
            return reporter.verbosity >= -1 and log.is_file_of(reporter._tw._file)
        except Exception:  # no reporter, or the suite's own
            return False

    # Abnormal ends.

    def pytest_keyboard_interrupt(self, excinfo):
        # Session.Interrupted is pytest's regular way to stop, after collection errors for example.
        if not isinstance(excinfo.value, pytest.Session.Interrupted):
            self._cut_short(excinfo)

    def pytest_internalerror(self, excinfo):
        self._cut_short(excinfo)

    def _cut_short(self, excinfo):
        self.cut_short = True
        if not self._explained:  # otherwise the test's own row says it
            self._report_session_failure(excinfo.value, excinfo.tb)


def _printed(report):
    try:
        return report.longreprtext
    except Exception:
        return ""


def _skip_reason(report):
    longrepr = report.longrepr
    text = str(longrepr[2]) if isinstance(longrepr, tuple) else _printed(report)
    return re.sub(r"\A(Skipped|[\w.]*\bSkipTest): ", "", text)


def _xfail_reason(text):
    return re.sub(r"\Areason: ", "", text) or None
