#!/usr/bin/env python3
"""Measures what failures with much text cost the runner: peak memory, time, database, reports.

    tests/soak/failure_text_soak.py RUNNER [--failures 5000] [--bytes 300000] [--python PYTHON]

Prints one line of JSON. Exits with 1 if the runner's process grew past 256 MiB or a test is lost.
The module's process needs 5 GB for 5,000 times 300 KB, because unittest keeps all text.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

LIMIT_MIB = 256
MODULE = """
import unittest


class A(unittest.TestCase):
    def fail_at_length(self):
        self.fail("key line of %%s\\n" %% self.id() + "x" * %d)


for i in range(%d):
    setattr(A, "test_%%05d" %% i, A.fail_at_length)
"""


def measure(runner, failures, size, python, folder):
    """The cost of one run: time, memory, sizes of its files."""
    suite, results = folder / "suite", folder / "results"
    (suite / "tests").mkdir(parents=True)
    (suite / "tests" / "test_a.py").write_text(MODULE % (size, failures))
    command = [runner, "run", suite, "--python", python, "--framework", "unittest", "--shim", "off"]
    began, peak = time.monotonic(), 0
    with open(folder / "out", "wb") as out:
        process = subprocess.Popen(
            [*map(str, command), "--results", str(results)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        while process.poll() is None:
            peak = max(peak, high_water_kib(process.pid))
            time.sleep(0.02)
    took = time.monotonic() - began
    report = results / "latest" / "report.json"
    states = json.loads(report.read_text())["totals"]
    return {
        "failures": failures,
        "bytes": size,
        "exit": process.returncode,
        "failed": states["failed"],
        "peak_mib": round(peak / 1024, 1),
        "seconds": round(took, 1),
        "terminal_kib": round((folder / "out").stat().st_size / 1024, 1),
        "database_mib": mib(results / "runner.db"),
        "report_json_mib": mib(report),
        "report_md_mib": mib(report.with_suffix(".md")),
        "events_mib": mib(*results.glob("runs/*/modules/**/*.events.jsonl")),
    }


def high_water_kib(pid):
    """The process's peak memory, without its children."""
    try:
        status = pathlib.Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return 0
    return next((int(s.split()[1]) for s in status.splitlines() if s.startswith("VmHWM:")), 0)


def mib(*files):
    return round(sum(file.stat().st_size for file in files) / 2**20, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runner", type=pathlib.Path)
    parser.add_argument("--failures", type=int, default=5000)
    parser.add_argument("--bytes", type=int, default=300_000)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(
            given.runner.resolve(), given.failures, given.bytes, given.python, pathlib.Path(folder)
        )
    print(json.dumps(found))
    sys.exit(found["peak_mib"] > LIMIT_MIB or found["failed"] != given.failures)


if __name__ == "__main__":
    main()
