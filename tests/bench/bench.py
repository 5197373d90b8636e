#!/usr/bin/env python3
"""Measures what the runner itself costs. suites.py measures a whole suite.

    bench.py cost [N]                 the runner's own CPU time for N tiny modules, and while a child sleeps
    bench.py scale [MODULES [TESTS]]  the runner's own CPU time, in quarters, and memory for so many modules of so many
                                      tests, reports included: once where all pass and once where every tenth fails with
                                      a traceback; the children are no Pythons but replay what one once wrote. Exits 1
                                      where the memory is past its bound, which is for 10000 modules of 10 tests
    bench.py bar [MODULES [TESTS]]    the same on a terminal, where a bar is drawn, and all pass

The runner is $COMPAT_RUNNER or build/release/bin/runner.
"""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = os.environ.get("COMPAT_RUNNER", str(ROOT / "build/release/bin/runner"))
ENV = {**os.environ, "OMP_NUM_THREADS": "1"}
TERMINAL_ENV = {**{name: value for name, value in ENV.items() if name != "CI"}, "TERM": "xterm", "NO_COLOR": "1"}
MEMORY_MIB = 64  # bound on the runner's own


def own_cpu(words, cwd):
    """Wall seconds, and CPU seconds of the runner's process without its children."""
    begin = time.monotonic()
    process = subprocess.Popen([RUNNER, *words], cwd=cwd, env=ENV, stdout=subprocess.DEVNULL)
    seen = [0.0]

    def watch():
        tick = os.sysconf("SC_CLK_TCK")
        while True:
            try:
                fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                return
            if fields[0] == "Z":  # ended but not reaped: its times are final
                seen[0] = (int(fields[11]) + int(fields[12])) / tick
                return
            time.sleep(0.02)

    # Reaped only after its times have been read.
    watcher = threading.Thread(target=watch)
    watcher.start()
    watcher.join()
    process.wait()
    return time.monotonic() - begin, seen[0]


def suite_of(folder, modules):
    tests = pathlib.Path(folder) / "suite" / "tests"
    tests.mkdir(parents=True)
    (tests / "__init__.py").touch()
    for name, body in modules.items():
        (tests / f"test_{name}.py").write_text(f"import time, unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        {body}\n")
    (tests.parent / "suite.json").write_text('{"format": 1, "name": "bench", "framework": "unittest"}')
    return [str(tests.parent), "--python", sys.executable, "--shim", "off", "-j2"]


def cost(count="500"):
    count = int(count)
    with tempfile.TemporaryDirectory() as folder:
        words = suite_of(folder, {f"m{i:05}": "pass" for i in range(count)})
        wall, cpu = own_cpu(words, folder)
        print(f"{count} tiny modules: {wall:.1f} s, of which the runner's own CPU {cpu:.2f} s: {1000 * cpu / count:.2f} ms a module")
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = own_cpu(suite_of(folder, {"sleeps": "time.sleep(20)"}), folder)
        print(f"a child that sleeps: {wall:.1f} s, the runner's own CPU {cpu:.2f} s: {100 * cpu / wall:.2f} % of one core")


# Replaces the environment's Python: replays modules, and passes all other calls to the real one.
REPLAY = """#!/bin/bash
for ((i = 1; i <= $#; i++)); do
    case "${!i}" in
        --events) j=$((i + 1)); events=${!j} ;;
        --module) j=$((i + 1)); module=${!j} ;;
    esac
done
[ -n "$events" ] || exec PYTHON "$@"
template=$(<TEMPLATE)
template=${template//@MODULE@/$module}
printf '%s\\n' "${template//\\"@PID@\\"/$$}" > "$events"
"""


FAILS = """
    def fails(self, depth):
        if depth:
            return self.fails(depth - 1)
        self.assertEqual([1, 2, 3], [1, 2, depth])
"""


def recorded(folder, tests, failing):
    """The events of a real module of `tests` tests, with placeholders for name and pid."""
    body = "pass\n" + FAILS
    for i in range(1, tests):
        body += f"    def test_{i}(self):\n        {'self.fails(3)' if i <= failing else 'pass'}\n"
    subprocess.run([RUNNER, *suite_of(folder, {"real": body})], cwd=folder, env=ENV, stdout=subprocess.DEVNULL)
    (file,) = pathlib.Path(folder).glob("results/runs/*/modules/tests/test_real.py/1.written/1.events.jsonl")
    lines = []
    for line in file.read_text().splitlines():
        event = json.loads(line)
        event["pid"] = "@PID@"
        lines.append(json.dumps(event).replace("tests/test_real.py", "@MODULE@"))
    return "\n".join(lines)


class Peak(threading.Thread):
    """A process's peak resident memory, and its CPU seconds at each quarter of the modules."""

    def __init__(self, process, output, modules):
        super().__init__()
        self.process, self.output, self.modules = process, output, modules
        self.marks, self.rss_mib, self.children_done_mib, self.reports_s = [], 0.0, 0.0, 0.0

    def lines(self):
        try:
            yield from self.output
        except OSError:  # a terminal that nobody writes to any more
            pass

    def run(self):
        tick, done = os.sysconf("SC_CLK_TCK"), 0
        for line in self.lines():
            ended = re.search(r"\[ *\d+/\d+\] (ok|FAIL|none) ", line)
            done += bool(ended)
            if ended and done % (self.modules // 4) == 0:
                fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
                self.marks.append((int(fields[11]) + int(fields[12])) / tick)
                self.children_done_mib, children_done = self.high_water(), time.monotonic()
            if "report: " in line:
                self.rss_mib, self.reports_s = self.high_water(), time.monotonic() - children_done

    def high_water(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def replayed(modules, tests, failing, terminal=False):
    """Runs `modules` replayed modules, prints the cost and returns the runner's peak in MiB."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with tempfile.TemporaryDirectory() as real, tempfile.TemporaryDirectory() as folder:
        template = pathlib.Path(folder) / "template"
        template.write_text(recorded(real, tests, failing))
        python = pathlib.Path(folder) / "bin" / "python"
        python.parent.mkdir()
        python.write_text(REPLAY.replace("PYTHON", sys.executable).replace("TEMPLATE", str(template)))
        python.chmod(0o755)
        words = suite_of(folder, {f"m{i:05}": "pass" for i in range(modules)})
        words[words.index("--python") + 1] = str(python)
        begin = time.monotonic()
        process = subprocess.Popen([RUNNER, *words], cwd=folder, env=TERMINAL_ENV if terminal else ENV, stdout=theirs)
        os.close(theirs)
        peak = Peak(process, open(ours, errors="replace"), modules)
        peak.start()
        peak.join()
        code = process.wait()
        wall = time.monotonic() - begin
        quarters = [b - a for a, b in zip([0.0] + peak.marks, peak.marks)]
        print(f"{modules} modules of {tests} tests, {failing} failing: {wall:.1f} s, exit status {code}; the runner's own CPU "
              f"{1000 * peak.marks[-1] / modules:.2f} ms a module, in quarters {', '.join(f'{4000 * q / modules:.2f}' for q in quarters)}; "
              f"memory {peak.children_done_mib:.0f} MiB when the last module was done, {peak.rss_mib:.0f} MiB with the reports, "
              f"which took {peak.reports_s:.1f} s; the bound is {MEMORY_MIB} MiB", flush=True)
        return peak.rss_mib


def scale(modules="10000", tests="10"):
    modules, tests = int(modules), int(tests)
    worst = max(replayed(modules, tests, failing) for failing in (0, max(1, tests // 10)))
    return int(worst > MEMORY_MIB)


def bar(modules="10000", tests="10"):
    return int(replayed(int(modules), int(tests), 0, terminal=True) > MEMORY_MIB)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("cost", "scale", "bar"):
        sys.exit(__doc__)
    sys.exit({"cost": cost, "scale": scale, "bar": bar}[sys.argv[1]](*sys.argv[2:]))
