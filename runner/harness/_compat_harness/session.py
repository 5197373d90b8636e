"""Runs one session: parses the arguments, makes the process look like `python -m FRAMEWORK`, and
runs the driver."""

from _compat_harness import own_builtins as __builtins__

import atexit
import faulthandler
import importlib
import os
import signal
import stat
import sys
import time

from _compat_harness import torch_hook, wanted_address
from _compat_harness.default_dtype import keep_default_dtype
from _compat_harness.describe import Describer, from_suite, traceback_text
from _compat_harness.events import Events
from _compat_harness.random_stream import RandomStream
from _compat_harness.recorder import BROKEN, BROKEN_IN_UNITTEST, Outcome, Recorder
from _compat_harness.text_budget import EVENTS_BYTES, TextBudget

FORMAT = 1
EXIT_NO_KEY = 64  # EX_USAGE

_NUMBERS = {"maxfail": 0, "events-bytes": EVENTS_BYTES, "random-stream": 0}  # name: default
_VALUES = ("key", "framework", "module", "root", "events", "only", "select", "scratch", "default-dtype", *_NUMBERS)
_USAGE = (
    "usage: main.py --framework NAME --module FILE --root DIR --events FILE "
    "[--only FILE] [--select EXPR] [--maxfail N] [--option ARG]... [--collect-only] [--signed] "
    "[--events-bytes N] [--scratch DIR] [--random-stream N] "
    "[--default-dtype NAME]\n"
    "       main.py --zygote DESCRIPTOR NAME ROOT [MODULE]..."
)


class Arguments:
    """The command line. argparse rejects values that begin with a dash: `--option -x`."""

    def __init__(self, argv):
        self.framework = self.module = self.root = self.events = self.only = self.select = None
        self.scratch = self.default_dtype = None
        self.options, self.collect_only, self.signed = [], False, False
        self.key = None  # from the zygote alone: other processes' command lines can be read
        numbers = dict(_NUMBERS)
        words = iter(argv)
        for word in words:
            name, equals, value = word.partition("=")
            name = name[2:] if name.startswith("--") else ""
            if name == "collect-only" and not equals:
                self.collect_only = True
            elif name == "signed" and not equals:
                self.signed = True
            elif name == "option" or name in _VALUES:
                if not equals:
                    value = next(words, None)
                if value is None:
                    raise SystemExit("%s\n%s needs a value" % (_USAGE, word))
                if name == "option":
                    self.options.append(value)
                elif name in numbers:
                    if not (value.isascii() and value.isdigit()):
                        raise SystemExit("%s\n--%s takes a number, not %r" % (_USAGE, name, value))
                    numbers[name] = int(value)
                else:
                    setattr(self, name.replace("-", "_"), value)
            else:
                raise SystemExit("%s\nunknown argument: %s" % (_USAGE, word))
        for name in ("framework", "module", "root", "events"):
            if getattr(self, name) is None:
                raise SystemExit("%s\n--%s is missing" % (_USAGE, name))
        self.maxfail, self.events_bytes = numbers["maxfail"], numbers["events-bytes"]
        self.random_stream = numbers["random-stream"]


class Session:
    """The arguments, events file and helpers that a driver works with."""

    def __init__(self, arguments, events, recorder, describer, forked):
        self.arguments, self.events, self.forked = arguments, events, forked
        self.recorder, self.describer = recorder, describer
        self.module, self.root = arguments.module, os.getcwd()
        self.file = recorder.file

    def load_failure(self, exception, tb, text=None):
        """The outcome of a module that could not be imported or collected."""
        if text is None:
            text = traceback_text(exception, from_suite(tb))
        return Outcome("errored", "load", None, self.describer.failure(exception, tb, "load", text))


def main(argv):
    """Runs the module and exits with the framework's own exit status."""
    forked = argv[:1] == ["--zygote"]
    if forked:
        argv = _serve_as_zygote(argv[1:])
    arguments = Arguments(argv)
    driver = _driver_for(arguments.framework)
    only = _read_ids(arguments.only) if arguments.only else None
    events = Events(arguments.events, _key_of(arguments))
    atexit.register(events.check)  # registered first, so called last
    wanted_address.watch()
    os.chdir(arguments.root)
    root = os.getcwd()
    describer = Describer(root)
    file = os.path.join(root, arguments.module)
    broken = BROKEN_IN_UNITTEST if arguments.framework == "unittest" else BROKEN
    budget = TextBudget(arguments.events_bytes)
    maxfail = arguments.maxfail
    recorder = Recorder(events, describer, arguments.module, file, only, budget, maxfail, broken)
    torch_hook.watch_import(lambda: recorder.ready_written)
    if arguments.default_dtype:
        keep_default_dtype(arguments.default_dtype)
    if arguments.random_stream > 0:
        recorder.stream = RandomStream(arguments.random_stream)
    session = Session(arguments, events, recorder, describer, forked)

    argv = driver.argv(session)
    command = argv
    if driver.IN_PYTHON:
        if not forked:
            _look_like_python_m(driver.MAIN_SPEC, root)
        sys.argv[:] = argv
        command = [sys.executable, "-m", arguments.framework] + argv[1:]
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # keeps the order of stdout and stderr lines
    _dump_stacks_to(events.log.number)
    events.write(
        "session",
        format=FORMAT,
        framework=arguments.framework,
        framework_version=driver.VERSION,
        python="%d.%d.%d" % sys.version_info[:3],
        module=arguments.module,
        root=root,
        argv=command,
        epoch=round(time.time() - time.monotonic(), 6),
        **({"forked": True} if forked else {}),
    )
    stderr = sys.stderr
    try:
        driver.run(session)
    except BaseException as error:
        # A framework that finishes normally raises SystemExit.
        if recorder.is_silent():
            outcome = session.load_failure(error, error.__traceback__)
            recorder.pseudo("<module>", arguments.module, [outcome])
        if not isinstance(error, (SystemExit, KeyboardInterrupt)) and sys.stderr is not stderr:
            # Python would print to the suite's replacement of sys.stderr.
            events.complain(traceback_text(error, error.__traceback__))
        raise


def _serve_as_zygote(argv):
    """Serves fork requests. Returns only in a forked process: the arguments for its module.

    The suite's imports see the same sys.argv, sys.path and __main__ as in a forked process."""
    from _compat_harness import zygote  # first: its atexit function must be called last

    if len(argv) < 3 or not argv[0].isdigit():
        raise SystemExit(_USAGE)
    number, framework, root, *names = argv
    spec = _driver_for(framework).MAIN_SPEC
    os.chdir(root)
    _look_like_python_m(spec, os.getcwd())
    sys.argv[:] = [spec.origin if spec is not None else "", "-v"]
    return zygote.serve(int(number), names)


class _MissingFramework:
    """Driver for a framework that cannot be imported: the module's only row says why."""

    VERSION, MAIN_SPEC, IN_PYTHON = "", None, True

    def __init__(self, error):
        self._error = error

    def argv(self, session):
        return ["", "-v", session.module]

    def run(self, session):
        raise self._error


def _driver_for(framework):
    """The module FRAMEWORK_driver of this package."""
    name = "_compat_harness.%s_driver" % framework
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name == name:
            raise SystemExit("%s\nno such framework: %s" % (_USAGE, framework))
        return _MissingFramework(error)


def _key_of(arguments):
    """The key of the events' MACs: from the zygote, or from stdin, which is empty after that. None
    if the process was not started by the runner, which drops events without a MAC."""
    if arguments.key or not arguments.signed:
        return arguments.key and arguments.key.encode()
    key = b""
    try:
        if stat.S_ISFIFO(os.fstat(0).st_mode):
            key = os.read(0, 64)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)
    except OSError:  # started without a stdin
        pass
    if not key:
        sys.stderr.write(
            "runner: the key of the events did not arrive on stdin; start Python so that it keeps its stdin\n"
        )
        raise SystemExit(EXIT_NO_KEY)
    return key


def _read_ids(path):
    with open(path, encoding="utf-8") as lines:
        return frozenset(line.rstrip("\n") for line in lines) - {""}


def _look_like_python_m(spec, root):
    """Gives this process the search path and main module of `python -m`.

    multiprocessing's spawn children read the main module's name; as under the framework alone,
    they must find nothing to import.
    """
    if not getattr(sys.flags, "safe_path", False):  # python -P adds no folder to sys.path
        sys.path[0] = root
    if spec is not None:
        main = sys.modules["__main__"]
        main.__spec__, main.__file__, main.__package__ = spec, spec.origin, spec.parent
        main.__loader__ = spec.loader  # Python 3.15 warns in tracebacks if the two differ


def _dump_stacks_to(fd):
    faulthandler.enable(file=fd, all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=fd, all_threads=True, chain=False)
