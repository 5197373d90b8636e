#!/usr/bin/env python3
"""Runs PyTorch's own tests of torch.distributed on simulated CUDA devices, with the backend "nccl".

    distributed.py RANKS RESULTS [--file FILE] [--fork] [--again] [--plain] [--limit SECONDS] [NAME…]
                                                            NAME: a glob on Class.test
    distributed.py --table RESULTS…

The tests are those of the wheel, torch.testing._internal.distributed.distributed_test, or those of FILE,
from the release's test/distributed. RESULTS gets a line of JSON for each test; tests that it already
holds are not run again, except for failed ones with --again. With --fork, ranks are forked where PyTorch spawns them, which saves the time of
their imports; a test that fails so counts only when it fails spawned as well. A batch of tests shares one process, which starts the ranks of each test. A test
that exceeds its limit ends the batch, and the next batch begins after it. --plain is a control: without the shim, where tests
that take any device run on the CPU with gloo.

The Python that runs this has torch, numpy and expecttest. COMPAT_SHIM_LIBRARY is the shim's library
for that torch, as `runner prepare suites/conformance --python PYTHON` names it.
"""

import argparse
import collections
import fnmatch
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))

from child import environment, simulated  # noqa: E402

CHILD = "COMPAT_DISTRIBUTED_CHILD"
STATES = ("passed", "failed", "skipped")


class Lines(unittest.TestResult):
    """Appends a line to the results when a test starts, and one when it ends."""

    def __init__(self, out, common):
        super().__init__()
        self.out, self.common = out, common

    def write(self, test, state, why=""):
        name = ".".join(test.id().split(".")[-2:])
        seconds = round(time.monotonic() - getattr(self, "begun", time.monotonic()), 1)
        line = {**self.common, "test": name, "state": state, "seconds": seconds, "why": why}
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        self.write(test, "started")

    def addSuccess(self, test):
        self.write(test, "passed")

    def addSkip(self, test, reason):
        self.write(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.write(test, "passed", "an expected failure")

    def addUnexpectedSuccess(self, test):
        self.write(test, "failed", "an unexpected success")

    def addError(self, test, error):
        self.write(test, "failed", "".join(traceback.format_exception(*error))[-6000:])

    addFailure = addError


def tests_of(module, names):
    suites = [unittest.defaultTestLoader.loadTestsFromModule(module)]
    while suites:
        suite = suites.pop(0)
        if isinstance(suite, unittest.TestSuite):
            suites[:0] = list(suite)
        elif matches(".".join(suite.id().split(".")[-2:]), names):
            yield suite


def matches(name, names):
    return not names or any(fnmatch.fnmatchcase(name, glob) for glob in names)


def results(path):
    """The last line of each test, by ranks, file and name; in the order of these lines."""
    found = {}
    if os.path.exists(path):
        with open(path) as file:
            for line in map(json.loads, file):
                key = line["ranks"], line["file"], line["test"]
                found.pop(key, None)
                found[key] = line
    return found


def fork_ranks():
    import torch
    from torch.testing._internal.common_distributed import MultiProcessTestCase

    forked = torch.multiprocessing.get_context("fork").Process
    MultiProcessTestCase._spawn_processes = lambda test: test._start_processes(forked)


def child(options):
    if options.fork:
        fork_ranks()
    if options.file:
        sys.path.insert(0, str(pathlib.Path(options.file).resolve().parent))
    module = importlib.import_module(pathlib.Path(options.file or "distributed_backend").stem)
    common = {"ranks": options.ranks, "file": file_name(options)}
    done = {name for ranks, file, name in results(options.results) if (ranks, file) == tuple(common.values())}
    suite = unittest.TestSuite(
        test for test in tests_of(module, options.names) if ".".join(test.id().split(".")[-2:]) not in done
    )
    with open(options.results, "a") as out:
        suite.run(Lines(out, common))


def forget_failures(options):
    kept = [
        line
        for (ranks, file, name), line in results(options.results).items()
        if (ranks, file) != (options.ranks, file_name(options))
        or line["state"] != "failed"
        or not matches(name, options.names)
    ]
    with open(options.results, "w") as out:
        out.writelines(json.dumps(line) + "\n" for line in kept)


def file_name(options):
    return pathlib.Path(options.file).name if options.file else "distributed_test.py"


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def started(options):
    """The line of the test that runs now; None between tests."""
    lines = list(results(options.results).values())
    return lines[-1] if lines and lines[-1]["state"] == "started" else None


def fail(line, why, options):
    with open(options.results, "a") as out:
        out.write(json.dumps({**line, "state": "failed", "why": why}) + "\n")


def batch(options, environ):
    """Runs what is left until a test exceeds its limit or ends the process. Whether that happened."""
    process = subprocess.Popen([sys.executable, *sys.argv], env=environ, start_new_session=True)
    last, since = None, time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(0.5)
            now = started(options)
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > options.limit:
                if last is None:
                    sys.exit(f"no test has started for {options.limit} s")
                fail(last, f"no end within {options.limit} s", options)
                return True
        last = started(options)
        if last is not None:
            fail(last, "the process ended", options)
        return last is not None
    finally:
        end_group(process)


def run(options):
    if options.again:
        forget_failures(options)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("barrier", "test_dir"):
            os.mkdir(os.path.join(folder, name))
        variables = {
            CHILD: "1",
            "BACKEND": "gloo" if options.plain else "nccl",
            "WORLD_SIZE": str(options.ranks),
            "TEMP_DIR": folder,
            "INIT_METHOD": "env://",  # as PyTorch's run_test.py has it
            "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": str(options.limit - 5),
        }
        devices = simulated("cuda", TORCHDEVICE_DEVICES=str(options.ranks))
        environ = {**(environment() if options.plain else devices), **variables}
        while batch(options, environ):
            pass


def table(paths):
    counts = collections.defaultdict(collections.Counter)
    for path in paths:
        for (ranks, file, _), line in results(path).items():
            counts[file][ranks, line["state"]] += 1
    ranks = sorted({number for counter in counts.values() for number, _ in counter})
    print("| file |", " | ".join(f"{state}, {number}" for number in ranks for state in STATES), "|")
    print("|---" * (1 + len(ranks) * len(STATES)) + "|")
    for file, counter in sorted(counts.items()):
        print(f"| {file} |", " | ".join(str(counter[number, state]) for number in ranks for state in STATES), "|")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", nargs="+", metavar="RESULTS", help="print counts by file")
    parser.add_argument("ranks", nargs="?", type=int)
    parser.add_argument("results", nargs="?", type=os.path.abspath)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--file", help="a file of PyTorch's test/distributed")
    parser.add_argument("--fork", action="store_true", help="fork the ranks: quicker")
    parser.add_argument("--again", action="store_true", help="run failed tests again")
    parser.add_argument("--plain", action="store_true", help="a control, without the shim")
    parser.add_argument("--limit", type=int, default=60, help="seconds for each test")
    options = parser.parse_intermixed_args()
    if options.table:
        table(options.table)
    elif not options.results:
        parser.error("RANKS and RESULTS are required")
    elif os.environ.get(CHILD):
        child(options)
    elif "COMPAT_SHIM_LIBRARY" not in os.environ:
        sys.exit("COMPAT_SHIM_LIBRARY is not set")
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not without the batch
        run(options)


if __name__ == "__main__":
    main()
