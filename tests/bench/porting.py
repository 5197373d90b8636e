#!/usr/bin/env python3
"""Compares `runner porting` of a small project with one plain `pytest` run for each column, and one
run of the runner with `pytest MODULE` one after the other.

    porting.py [-j N] [--rounds N] [--bound RATIO] [PROJECT]

PROJECT is tests/bench/cuda_project (6 modules, 43 tests) by default and has no suite.json. All sides
use OMP_NUM_THREADS=1 and take turns in each round, so that other load meets all of them. Prints wall and CPU
times, where they go, and the ratios. Exits with 1 if the median ratio of porting is above the bound:
of wall time on an idle machine, else of CPU time. The runner is $COMPAT_RUNNER or
build/release/bin/runner.
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = os.environ.get("COMPAT_RUNNER", str(ROOT / "build/release/bin/runner"))
COLUMNS = 5


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(call):
    """(wall seconds, CPU seconds) of a call that waits for its processes"""
    begin, before = time.monotonic(), cpu_of_children()
    call()
    return time.monotonic() - begin, cpu_of_children() - before


class Bench:
    def __init__(self, project, jobs, folder):
        self.project, self.jobs, self.folder = project, jobs, folder
        self.modules = sorted(str(p.relative_to(project)) for p in (project / "tests").glob("test_*.py"))
        self.env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"}

    def pytest(self, *words):
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words], cwd=self.project, env=self.env,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def one_after_the_other(self):
        for module in self.modules:
            self.pytest(module)

    def runner(self, *words):
        results = self.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        ran = subprocess.run([RUNNER, *words, "--python", sys.executable, "--results", str(results), f"-j{self.jobs}"],
                             env={**os.environ, "OMP_NUM_THREADS": "1"}, text=True, capture_output=True, cwd=self.folder)
        if ran.returncode not in (0, 1):
            sys.exit(ran.stdout + ran.stderr)
        self.out = ran.stdout

    def attempts(self):
        """(columns of a line)… for each run: its attempts, their CPU and duration"""
        with sqlite3.connect(f"file:{self.folder}/results/runner.db?mode=ro", uri=True) as db:
            yield from db.execute(
                "select run.name, kind, forked, count(*), sum(user_s + system_s) from attempt"
                " join module on module.id = attempt.module join run on run.id = module.run group by 1, 2, 3 order by run.id")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", nargs="?", default=str(ROOT / "tests/bench/cuda_project"))
    parser.add_argument("-j", default="2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bound", type=float, default=2.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        project = folder / "cuda_project"
        shutil.copytree(arguments.project, project, ignore=shutil.ignore_patterns("__pycache__"))
        bench = Bench(project, arguments.j, folder)
        subprocess.run([RUNNER, "prepare", str(project), "--python", sys.executable], check=True, capture_output=True)
        sides = {
            "pytest, all modules in one process": bench.pytest,
            "pytest, one module after the other": bench.one_after_the_other,
            "runner": lambda: bench.runner(str(project), "--shim", "off"),
            "runner --no-warm": lambda: bench.runner(str(project), "--shim", "off", "--no-warm"),
            "runner porting": lambda: bench.runner("porting", str(project)),
        }
        bench.pytest()  # what a first run compiles
        times = {name: [] for name in sides}
        load = [os.getloadavg()[0]]
        for _ in range(arguments.rounds):
            for name, call in sides.items():
                times[name].append(timed(call))
            load.append(os.getloadavg()[0])
        print(f"{arguments.project}: {len(bench.modules)} modules, -j{arguments.j}, rounds {arguments.rounds}, load",
              *(f"{x:.1f}" for x in load))
        for name, measured in times.items():
            print(f"{name:<36}", "wall", *(f"{wall:6.1f}" for wall, _ in measured), "s   CPU",
                  *(f"{cpu:6.1f}" for _, cpu in measured), "s")
        plain, serial, warm, cold, porting = times.values()
        print("\nporting, last round:")
        attempts = 0
        for run, kind, forked, n, cpu in bench.attempts():
            attempts += cpu
            print(f"    {run}: {n} {kind} {'forked' if forked else 'fresh'}, {cpu:.1f} s of CPU")
        print(f"    zygotes and the runner itself: {porting[-1][1] - attempts:.1f} s of CPU")
        for line in re.findall(r"^(?:warm start: .*|(?:plain CPU|CUDA|bare Mac).* [\d.]+s.*)$", bench.out, re.M):
            print("   ", line)

        def ratio(ours, theirs, factor, which):
            return statistics.median(a[which] / (factor * b[which]) for a, b in zip(ours, theirs))

        print(f"\nporting / ({COLUMNS} × pytest): wall {ratio(porting, plain, COLUMNS, 0):.2f}, CPU {ratio(porting, plain, COLUMNS, 1):.2f}"
              f" (bound {arguments.bound})")
        for name, ours in (("runner", warm), ("runner --no-warm", cold)):
            print(f"{name} / pytest one after the other: wall {ratio(ours, serial, 1, 0):.2f}, CPU {ratio(ours, serial, 1, 1):.2f}")
        idle = max(load) < os.cpu_count() + 0.5
        sys.exit(ratio(porting, plain, COLUMNS, 0 if idle else 1) > arguments.bound)


if __name__ == "__main__":
    main()
