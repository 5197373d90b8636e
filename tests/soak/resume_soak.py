#!/usr/bin/env python3
"""Kills the runner at random moments of a run, continues with `resume`, and compares the result
with an undisturbed run.

    resume_soak.py [--rounds N] [--seed N] [--runner FILE] [--python FILE]

The suite is a mixed one: passes, failures, skips, crashes, a time-out, a leaked process, unittest
and slow modules. A round kills the runner with SIGKILL once, and the `resume` after it once more in
every third round. Modules are forked, and three have equal failures. Then:
  - each test has the same state as in the undisturbed run, and no test is missing or added;
  - no test that had ended was run again, except in attempts `alone`;
  - the run is complete, and no process of it is left.
Exit status 1: one of these is false. Does not test a power failure.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

MODULE = """
import os, subprocess, time, unittest
import library

class A(unittest.TestCase):
    pass

def add(n):
    def test(self):
        time.sleep({pause})
        if n == {fails}: self.fail("as it should")
        if n == {skips}: self.skipTest("as it should")
        if n == {dies}: os._exit(3)
        if n == {leaks}: subprocess.Popen(["sleep", "300"], start_new_session=True)
        if n == {hangs}: time.sleep(300)
        if n == {wants}: library.load()
    setattr(A, "test_%02d" % n, test)

for number in range({tests}):
    add(number)
"""
# Three modules fail in this function; one confirms the failure for all.
LIBRARY = "def load():\n    raise OSError('no hub')\n"
# A row for each module: what it does, and at which test; -1 means never.
MODULES = (
    dict(tests=12, pause=0.02, fails=3, skips=5, dies=-1, leaks=-1, hangs=-1, wants=-1),
    dict(tests=10, pause=0.03, fails=-1, skips=-1, dies=4, leaks=-1, hangs=-1, wants=-1),
    dict(tests=6, pause=0.05, fails=5, skips=-1, dies=2, leaks=0, hangs=-1, wants=-1),
    dict(tests=20, pause=0.01, fails=19, skips=0, dies=-1, leaks=-1, hangs=-1, wants=-1),
    dict(tests=4, pause=0.02, fails=-1, skips=-1, dies=-1, leaks=-1, hangs=1, wants=-1),
    dict(tests=1, pause=0.3, fails=-1, skips=-1, dies=0, leaks=-1, hangs=-1, wants=-1),
    dict(tests=3, pause=0.05, fails=-1, skips=-1, dies=-1, leaks=-1, hangs=-1, wants=1),
    dict(tests=5, pause=0.05, fails=-1, skips=-1, dies=-1, leaks=-1, hangs=-1, wants=3),
    dict(tests=8, pause=0.05, fails=-1, skips=-1, dies=-1, leaks=-1, hangs=-1, wants=6),
)


def write_suite(folder):
    (folder / "tests").mkdir(parents=True)
    for i, module in enumerate(MODULES):
        (folder / "tests" / ("test_m%d.py" % i)).write_text(MODULE.format(**module))
    (folder / "library.py").write_text(LIBRARY)
    settings = {"format": 1, "name": "mixed", "source": {"path": "."}, "framework": "unittest",
                "layout": {"tests": "tests", "modules": ["test_*.py"], "pythonpath": ["."]}, "preload": ["library"], "limits": {"test_timeout": "1s"}}
    (folder / "suite.json").write_text(json.dumps(settings))


def verdicts(results):
    """{test: state} of the newest run, and whether it is complete."""
    with sqlite3.connect(results / "runner.db") as db:
        run = db.execute("select id, complete from run order by started_ms desc, id desc limit 1").fetchone()
        rows = db.execute("select case_id, state from result join test on test.id = result.test "
                          "where run = ? and verdict = 1", (run[0],)).fetchall()
    assert len(rows) == len(dict(rows)), "a test with two verdicts"
    return dict(rows), bool(run[1])


def run_again(results):
    """Tests that ended in more than one attempt, without attempts `alone`."""
    folder = results / "latest"
    with sqlite3.connect(results / "runner.db") as db:
        alone = {row[0] for row in db.execute("select events from attempt where kind in ('alone', 'again')")}
    ended = collections.Counter()
    for file in sorted((folder / "modules").rglob("*.events.jsonl")):
        if str(file.relative_to(folder)) in alone:
            continue
        for line in file.read_text(errors="replace").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event["event"] == "end":
                ended[event["id"]] += 1
    return [test for test, times in ended.items() if times > 1]


def survivors(results):
    """Processes that belong to a run of these results."""
    runs = [path.name for path in (results / "runs").iterdir()]
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environ = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if any("COMPAT_JOB=" + run in environ for run in runs):
            found.append(folder.name)
    return found


class Soak:
    def __init__(self, arguments, work):
        self.runner, self.python, self.work = arguments.runner, arguments.python, work
        self.suite = work / "suite"
        write_suite(self.suite)

    def start(self, results, *words):
        return subprocess.Popen([self.runner, *words, "--results", results, "-j2"], cwd=self.work,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def undisturbed(self):
        results = self.work / "undisturbed"
        began = time.monotonic()
        self.start(results, self.suite, "--shim", "off", "--python", self.python).communicate(timeout=120)
        self.seconds = time.monotonic() - began
        self.expected, complete = verdicts(results)
        assert complete and len(self.expected) == sum(m["tests"] for m in MODULES)

    def round(self, draw, number):
        results = self.work / ("round-%d" % number)
        moments = [draw.uniform(0.02, 0.95) * self.seconds]
        if number % 3 == 2:
            moments.append(draw.uniform(0.02, 0.5) * self.seconds)
        words = [self.suite, "--shim", "off", "--python", self.python]
        for moment in moments:
            process = self.start(results, *words)
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if not list((results / "runs").glob("*/plan.json")) or not self.has_run(results):
                return "nothing was begun"
            words = ["resume"]
        if verdicts(results)[1]:
            return "it was over"
        _, err = self.start(results, "resume").communicate(timeout=120)
        found, complete = verdicts(results)
        wrong = {t: (found.get(t), s) for t, s in self.expected.items() if found.get(t) != s}
        extra = sorted(set(found) - set(self.expected))
        twice, left = run_again(results), survivors(results)
        if wrong or extra or twice or left or not complete:
            return "WRONG: killed at %s s: %s" % (
                moments, json.dumps({"differ (found, expected)": wrong, "too many": extra, "run again": twice,
                                     "still running": left, "complete": complete, "stderr": err}))
        shutil.rmtree(results)
        return "the same"

    @staticmethod
    def has_run(results):
        with sqlite3.connect(results / "runner.db") as db:
            return db.execute("select count(*) from run").fetchone()[0] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runner", default=os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner"))
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="resume-soak-"))
    soak = Soak(arguments, work)
    soak.undisturbed()
    draw = random.Random(arguments.seed)
    ends = collections.Counter()
    for number in range(arguments.rounds):
        end = soak.round(draw, number)
        ends[end.split(":")[0]] += 1
        if end.startswith("WRONG"):
            print("round %d: %s" % (number, end), flush=True)
    print("undisturbed: %d tests in %.1f s; of %d runs that were killed: %s" % (
        len(soak.expected), soak.seconds, arguments.rounds,
        ", ".join("%d %s" % (count, end) for end, count in sorted(ends.items()))))
    if not ends["WRONG"]:
        shutil.rmtree(work)
    return 1 if ends["WRONG"] or not ends["the same"] else 0


if __name__ == "__main__":
    sys.exit(main())
