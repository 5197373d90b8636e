#!/usr/bin/env python3
"""Compares one warm run of a suite with fresh `python -m unittest -v` processes, one module after
the other. Both run without the shim and with OMP_NUM_THREADS=1.

    suites.py [-j N] [--root DIR] [--bound RATIO] SUITE [TARGET…]

Prints both times, the load, the ratio, and each verdict that differs. Exits with 1 if the ratio is
above the bound or a verdict differs. The runner is $COMPAT_RUNNER or build/release/bin/runner.
Preparing the suite is not timed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = os.environ.get("COMPAT_RUNNER", str(ROOT / "build/release/bin/runner"))

# unittest's names in its summary line, and the runner's states. Tests not counted there passed.
COUNTED = {"failures": "failed", "errors": "errored", "skipped": "skipped", "expected failures": "xfailed",
           "unexpected successes": "xpassed"}
HEADINGS = {"FAIL": "failed", "ERROR": "errored", "UNEXPECTED SUCCESS": "xpassed"}


def output_of(*words):
    return subprocess.run([RUNNER, *words], check=True, text=True, capture_output=True).stdout


def prepared(arguments):
    lines = dict(line.split(": ", 1) for line in output_of("prepare", arguments.suite, "--shim", "off", *arguments.where).splitlines()
                 if ": " in line)
    return lines["environment"], lines["source"].rsplit(" (", 1)[0]


def suite_json(suite):
    folder = next(p for p in (pathlib.Path(suite), ROOT / suite, ROOT / "suites" / suite) if (p / "suite.json").exists())
    text = (folder / "suite.json").read_text()
    return json.loads(re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m.group(1) or "", text))


def results_of_unittest(log):
    """(count of each state, {test: state} for the tests that unittest's summary names)"""
    names, fixtures = {}, 0
    for word, test in re.findall(r"^={70}\n(FAIL|ERROR|UNEXPECTED SUCCESS): (.*)$", log, re.M):
        full = re.search(r"\(([\w.<>]+)\)", test)
        fixtures += test.startswith(("setUpClass", "setUpModule", "tearDownClass", "tearDownModule"))
        names[full.group(1) if full else test] = HEADINGS[word]
    ran = re.findall(r"^Ran (\d+) tests? in ", log, re.M)
    closing = re.findall(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", log, re.M)
    counts = collections.Counter()
    if not ran or not closing:
        return {"crashed": 1}, names
    for word, n in re.findall(r"([a-z ]+)=(\d+)", closing[-1]):
        counts[COUNTED[word.strip()]] = int(n)
    counts["passed"] = int(ran[-1]) + fixtures - sum(counts.values())  # a fixture is counted, but did not run
    return {state: n for state, n in counts.items() if n}, names


def one_after_the_other(modules, python, root, variables):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        begin = time.monotonic()
        for module in modules:
            with open(log, "wb") as out:
                subprocess.run([python, "-m", "unittest", "-v", module.removesuffix(".py").replace("/", ".")], cwd=root,
                               env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            found[module] = results_of_unittest(log.read_text(errors="replace"))
        return time.monotonic() - begin, found


def results_of_the_runner(results):
    """The same for each module, from the runner's database, and its notes on forks."""
    found, forks = {}, []
    with sqlite3.connect(f"file:{results}/runner.db?mode=ro", uri=True) as db:
        rows = db.execute("select path, state, phase, name from result join test on test.id = test join attempt on attempt.id = attempt"
                          " join module on module.id = module where verdict = 1").fetchall()
        attempts = db.execute("select kind, forked, count(*), sum(user_s + system_s) from attempt group by 1, 2").fetchall()
    for module, state, phase, name in rows:
        counts, names = found.setdefault(module, (collections.Counter(), {}))
        # unittest reports a broken set-up once, and runs none of the class's or module's tests.
        if state == "errored" and phase in ("class_setup", "module_setup"):
            name = name.rsplit(".", 1 if phase == "class_setup" else 2)[0]
            if name in names:
                continue
        counts[state] += 1
        if state in HEADINGS.values():
            names[name] = state
    report = json.loads((results / "latest/report.json").read_text())
    forks = [case["id"] for module in report["modules"] for case in module["cases"] if case.get("fork_sensitive")]
    return {m: (dict(c), n) for m, (c, n) in found.items()}, attempts, forks


def differences(theirs, ours):
    for module in sorted(theirs.keys() | ours.keys()):
        counts, names = theirs.get(module, ({}, {}))
        our_counts, our_names = ours.get(module, ({}, {}))
        for test in sorted(names.keys() | our_names.keys()):
            if names.get(test) != our_names.get(test):
                yield f"{module}: {test}: {names.get(test)}, runner {our_names.get(test)}"
        if counts != our_counts:
            yield f"{module}: {counts}, runner {our_counts}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("-j", default="2")
    parser.add_argument("--root")
    parser.add_argument("--bound", type=float, default=0.2)
    arguments = parser.parse_args()
    arguments.where = ["--root", arguments.root] if arguments.root else []

    python, root = prepared(arguments)
    listed = json.loads(output_of("list", "--json", arguments.suite, *arguments.targets, *arguments.where))
    modules = [module["path"] for module in listed["modules"]]
    suite = suite_json(arguments.suite)
    layout = suite.get("layout", {}).get("pythonpath", [])
    path = [str(pathlib.Path(root, folder)) for folder in layout]
    variables = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "0", **suite.get("env", {}),
                 "PATH": os.pathsep.join([str(pathlib.Path(python).parent), os.environ["PATH"]])}

    load, before = [os.getloadavg()[0]], cpu_of_children()
    fresh, theirs = one_after_the_other(modules, python, root, variables)
    fresh_cpu = cpu_of_children() - before
    load.append(os.getloadavg()[0])
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder)
        begin = time.monotonic()
        subprocess.run([RUNNER, arguments.suite, *arguments.targets, "-j", arguments.j, "--shim", "off", "-q", "--results", folder,
                        *arguments.where], env={**os.environ, "OMP_NUM_THREADS": "1"})
        warm = time.monotonic() - begin
        warm_cpu = cpu_of_children() - before - fresh_cpu
        load.append(os.getloadavg()[0])
        ours, attempts, forks = results_of_the_runner(results)
    found = list(differences(theirs, ours))
    ratio = warm / fresh
    tests = sum(sum(counts.values()) for counts, _ in ours.values())
    print(f"{arguments.suite}: {len(modules)} modules, {tests} tests")
    print(f"one after the other: {fresh:.1f} s, {fresh_cpu:.1f} s of CPU")
    print(f"runner -j{arguments.j}: {warm:.1f} s, {warm_cpu:.1f} s of CPU")
    print(f"ratio: {ratio:.3f} (bound {arguments.bound}), of CPU {warm_cpu / fresh_cpu:.3f}")
    print("load before, between, after:", *(f"{x:.1f}" for x in load))
    print("attempts:", ", ".join(f"{n} {kind} {'forked' if forked else 'spawned'} ({cpu:.1f} s of CPU)" for kind, forked, n, cpu in attempts))
    print(f"fork-sensitive tests: {len(forks)}", *forks, sep="\n  ")
    print(f"differences between the verdicts: {len(found)}", *found, sep="\n  ")
    sys.exit(ratio > arguments.bound or bool(found))


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
