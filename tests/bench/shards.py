#!/usr/bin/env python3
"""Measures planning and merging for many machines.

    shards.py FOLDER [SHARDS [MODULES [TESTS]]]   defaults: 1000 shards, 200000 modules of 50 tests: 10,000,000 tests

FOLDER is empty and has room: 20 GB for the defaults. One module really runs. The shards' folders are what shards write,
with that module's events, log and lines of the record under each module's name; every tenth module has a failing test.
Then the program plans the suite, merges the shards, plans again with the durations of the merged run, and merges once
more with every tenth shard gone. Prints wall time, CPU time and peak memory of each, and compares the merged run's
counts with what was written. Exits 1 where a bound of the defaults is past: 10 s to plan, 300 s and 512 MiB to merge.

The runner is $COMPAT_RUNNER or build/release/bin/runner, the Python $COMPAT_PYTHON or .venv/bin/python.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = os.environ.get("COMPAT_RUNNER", str(ROOT / "build/release/bin/runner"))
PYTHON = os.environ.get("COMPAT_PYTHON", str(ROOT / ".venv/bin/python"))
PLAN_SECONDS, MERGE_SECONDS, MERGE_MIB = 10, 300, 512
PASSING, FAILING = "tests/part_000/test_0000.py", "tests/part_000/test_0001.py"  # those that really run
SOURCE = "import unittest\n\n\nclass A(unittest.TestCase):\n    pass\n\n\nfor i in range(%d):\n    setattr(A, f'test_{i:03}', lambda self, i=i: self.assertNotEqual(i, %d))\n"


def name(index):
    return f"tests/part_{index // 1000:03}/test_{index % 1000:04}.py"


def measured(what, *words, codes=(0,)):
    begin = time.monotonic()
    process = subprocess.Popen([RUNNER, *map(str, words)], stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in codes:
        sys.exit(f"{what}: exit code {code}\n{out}")
    figures = {"wall": time.monotonic() - begin, "mib": usage.ru_maxrss / 1024}
    print(f"{what}: {figures['wall']:.1f} s, CPU {usage.ru_utime:.1f} + {usage.ru_stime:.1f} s, {figures['mib']:.0f} MiB", flush=True)
    return out, figures


def make_suite(folder, modules, tests):
    for index in range(modules):
        file = folder / name(index)
        if index % 1000 == 0:
            file.parent.mkdir(parents=True)
        file.write_text(SOURCE % (tests, 0 if index % 10 == 1 else -1))
    (folder / "suite.json").write_text(json.dumps({
        "format": 1, "name": "many", "source": {"path": "."}, "framework": "unittest",
        "layout": {"tests": "tests", "modules": ["test_*.py"]}}))
    return folder


class Template:
    """A real shard's output for one module: its files, and its lines of the record."""

    def __init__(self, folder, module):
        self.module = module
        self.files = {file.name: file.read_text() for file in (folder / "modules" / module).iterdir()}
        self.attempts = [line for line in (folder / "record.jsonl").read_text().splitlines() if '"event":"attempt"' in line and module in line]
        self.pattern = re.compile(re.escape(module) + "|" + re.escape(module[:-3].replace("/", ".")))

    def for_module(self, text, module):
        dotted = module[:-3].replace("/", ".")
        return self.pattern.sub(lambda match: module if "/" in match.group() else dotted, text)


def run_templates(folder, suite, words):
    plan = folder / "template.json"
    measured("one shard of two modules, planned", "plan", suite, PASSING, FAILING, "--shards", 1, "--out", plan, *words)
    measured("one shard of two modules, run", "run", "--plan", plan, "--shard", 1, "--results", folder / "template", "-q", codes=(1,))
    (run,) = (folder / "template/runs").iterdir()
    return run, Template(run, PASSING), Template(run, FAILING)


def write_shards(results, plan, run, passing, failing, tests):
    head, *_, end = (json.loads(line) for line in (run / "record.jsonl").read_text().splitlines())
    count = len(plan["shards"])
    total = {"passed": 0, "failed": 0}
    for index, shard in enumerate(plan["shards"], 1):
        folder = results / "runs" / f"{plan['id']}-{index}"
        folder.mkdir(parents=True)
        head.update({"run": folder.name, "folder": f"runs/{folder.name}", "shard": f"{index}/{count}", "plan": plan["id"]})
        modules = [module["path"] for module in shard["modules"]]
        lines = [json.dumps(head), json.dumps({"event": "planned", "time_ms": 1, "modules": modules})]
        failed = 0
        for module in modules:
            template = failing if int(module[-7:-3]) % 10 == 1 else passing
            failed += template is failing
            attempt = folder / "modules" / module
            attempt.mkdir(parents=True)
            for file, text in template.files.items():
                (attempt / file).write_text(template.for_module(text, module))
            lines += [template.for_module(line, module) for line in template.attempts]
        states = {"passed": tests * len(modules) - failed, "failed": failed}
        for state, number in states.items():
            total[state] += number
        end["states"].update(states)
        lines.append(json.dumps(end))
        (folder / "record.jsonl").write_text("\n".join(lines) + "\n")
    return total


def check_counts(results, states, not_run):
    (line, *_) = subprocess.run([RUNNER, "runs", "--results", results], capture_output=True, text=True, check=True).stdout.splitlines()
    for state, number in states.items():
        assert f"{number} {state}" in line, (line, states)
    assert not_run == ("interrupted" in line), line
    print(line)


def main():
    folder = pathlib.Path(sys.argv[1])
    shards, modules, tests = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 1000), (3, 200000), (4, 50)))
    begin = time.monotonic()
    suite = make_suite(folder / "suite", modules, tests)
    words = ("--python", PYTHON, "--shim", "off", "--results", folder / "merged")
    run, passing, failing = run_templates(folder, suite, words)
    file = folder / "plan.json"
    planned = [measured("plan", "plan", suite, "--shards", shards, "--out", file, *words)[1]]
    plan = json.loads(file.read_text())
    written = write_shards(folder / "shards", plan, run, passing, failing, tests)
    print(f"made in {time.monotonic() - begin:.0f} s: {shards} shards, {modules} modules, {modules * tests} tests; plan.json {file.stat().st_size / 1e6:.1f} MB", flush=True)
    merged = measured("merge", "merge", "--plan", file, folder / "shards", "--results", folder / "merged", codes=(1,))[1]
    check_counts(folder / "merged", written, False)
    planned.append(measured("plan with durations", "plan", suite, "--target-time", "10m", "--jobs", 2, "--out", folder / "again.json", *words)[1])
    database = (folder / "merged/runner.db").stat().st_size
    print(f"database {database / 1e9:.2f} GB; files of the shards {sum(f.stat().st_size for f in (folder / 'shards').rglob('*') if f.is_file()) / 1e9:.2f} GB", flush=True)
    shutil.rmtree(folder / "merged")
    lost = {"passed": 0, "failed": 0}
    for index in range(1, shards + 1, 10):
        gone = folder / "shards/runs" / f"{plan['id']}-{index}"
        for state in lost:
            lost[state] += json.loads((gone / "record.jsonl").read_text().splitlines()[-1])["states"][state]
        shutil.rmtree(gone)
    partly = measured("merge --allow-missing, every tenth shard gone", "merge", "--plan", file, folder / "shards", "--allow-missing",
                      "--results", folder / "merged", codes=(1,))[1]
    check_counts(folder / "merged", {state: written[state] - lost[state] for state in written}, True)
    late = any(one["wall"] > PLAN_SECONDS for one in planned) or merged["wall"] > MERGE_SECONDS
    return int(late or max(merged["mib"], partly["mib"]) > MERGE_MIB)


if __name__ == "__main__":
    sys.exit(main())
