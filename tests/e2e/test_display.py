"""Tests what a run shows while it runs: on a terminal (a pty read by a small emulator), without a
terminal, and as JSON."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

import jsonschema
import pytest

from conftest import ROOT

SLOW = """
import time, unittest

class Slow(unittest.TestCase):
    def test_1_quick(self):
        pass

    def test_2_\u8a66\u9a13_waits(self):
        time.sleep({seconds})

    def test_3_fails(self):
        self.fail("\u8a66 no such thing")
"""


@pytest.fixture
def project(tmp_path):
    """project(seconds, modules): a folder with `modules` modules of three tests each."""

    def make(seconds, modules=2):
        folder = tmp_path / "project"
        (folder / "tests").mkdir(parents=True)
        for i in range(modules):
            name = "test_%d_with_a_name_that_is_wider_than_a_narrow_terminal.py" % i
            (folder / "tests" / name).write_text(SLOW.format(seconds=seconds))
        return folder

    return make


class Screen:
    """A terminal emulator with the few escape sequences that the bar uses; others fail."""

    def __init__(self, columns):
        self.columns, self.rows, self.at, self.widest = columns, [""], (0, 0), 0

    def feed(self, text):
        for part in re.split(r"(\x1b\[[0-9;]*[A-Za-z]|[\r\n])", text):
            row, column = self.at
            if part == "\r":
                self.at = (row, 0)
            elif part == "\n":
                self.at = (row + 1, column)
                self.rows += [""] * (row + 2 - len(self.rows))
            elif match := re.fullmatch(r"\x1b\[(\d*)A", part):
                self.at = (row - int(match[1] or 1), column)
                assert self.at[0] >= 0, "moved above what was written"
            elif part == "\x1b[J":
                self.rows[row] = self.rows[row][:column]
                del self.rows[row + 1:]
            elif re.fullmatch(r"\x1b\[\d*m", part):
                pass
            elif part:
                assert "\x1b" not in part, repr(part)
                self.rows[row] = self.rows[row][:column] + part
                self.at = (row, column + len(part))

    def bar(self):
        return [line for line in self.rows if line.startswith(("  tests/", "[0/"))]

    @staticmethod
    def width(line):
        return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Session:
    """The runner in its own session, with a pty as its terminal."""

    def __init__(self, program, *words, columns=160, rows=24, cwd, env=()):
        self.master, slave = pty.openpty()
        self.slave = slave
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("COMPAT_") and k not in ("CI", "NO_COLOR")}
        self.process = subprocess.Popen(
            [program, *map(str, words)], stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
            env={**clean, "TERM": "xterm", **dict(env)}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.screen, self.text = Screen(columns), ""

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, until, timeout=60):
        """Reads until the new output matches the regular expression `until`; returns it."""
        new, end = "", time.monotonic() + timeout
        while not re.search(until, new):
            assert time.monotonic() < end, (until, new)
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    data = os.read(self.master, 65536).decode()
                except OSError:
                    data = ""
                if not data:
                    break
                new += data
                self.screen.feed(data)
            elif self.process.poll() is not None:
                break
        self.text += new
        assert re.search(until, new), (until, new)
        return new

    def end(self):
        code = self.process.wait(timeout=60)
        self.read("")
        while select.select([self.master], [], [], 0.2)[0]:
            data = os.read(self.master, 65536).decode()
            if not data:
                break
            self.text += data
            self.screen.feed(data)
        return code

    def echoes(self):
        flags = termios.tcgetattr(self.slave)[3]
        return bool(flags & termios.ECHO), bool(flags & termios.ICANON)


@pytest.fixture
def terminal(program, tmp_path):
    sessions = []

    def start(*words, **keys):
        sessions.append(Session(program, *words, "--python", sys.executable, "--shim", "off", cwd=tmp_path, **keys))
        return sessions[-1]

    yield start
    for session in sessions:
        if session.process.poll() is None:
            session.process.kill()
        session.process.wait()


def test_the_bar_shows_running_tests_and_is_erased_at_the_end(terminal, project):
    session = terminal(project(3), "-j2")
    drawn = session.read(r"waits[^\x1b]*\[0/2\]")
    assert re.search(r"  tests/test_0_\S+  \S+  1/3  Slow::test_2_試験_waits", drawn)
    assert session.echoes() == (False, False)
    assert session.end() == 1
    assert session.echoes() == (True, True) and termios.tcgetattr(session.slave) == session.before
    shown = "\n".join(session.screen.rows)
    assert "modules running" not in shown, "the bar is gone"
    assert shown.count("FAIL tests/test_") == 2 and shown.count("failed tests/test_") == 2
    assert "accounting: 6 collected = 4 passed + 2 failed, all accounted for" in shown


def test_no_line_is_wider_than_the_terminal(terminal, project):
    session = terminal(project(3), "-j2", columns=40)
    session.read(r"\[0/2\]")
    for _ in range(4):
        session.read(r"\[0/2\]")
        bar = session.screen.bar()
        assert bar and all(session.screen.width(line) < 40 for line in bar), bar
        assert any(line.endswith("…") for line in bar)
    session.end()


def test_the_bar_follows_a_resize(terminal, project):
    session = terminal(project(6), "-j1", columns=120)
    session.read(r"waits")
    session.resize(30, 24)
    os.kill(session.process.pid, signal.SIGWINCH)
    session.read(r"\[0/2\]")
    session.read(r"\[0/2\]")
    assert all(session.screen.width(line) < 30 for line in session.screen.bar())
    os.kill(session.process.pid, signal.SIGINT)
    assert session.end() == 130
    assert session.echoes() == (True, True)


@pytest.mark.parametrize("ask", ["key", "signal"])
def test_t_and_sigusr1_print_the_running_tests(terminal, project, ask):
    session = terminal(project(5), "-j2")
    while sum("waits" in line for line in session.screen.bar()) < 2:
        session.read("waits")
    if ask == "key":
        os.write(session.master, b"xt")
    else:
        os.kill(session.process.pid, signal.SIGUSR1)
    told = session.read(r"in Slow::test_2_試験_waits for [\s\S]*in Slow::test_2_試験_waits for ")
    assert re.search(r"tests/test_0_\S+: \S+, pid \d+, 1/3 tests, in ", told)
    os.kill(session.process.pid, signal.SIGINT)
    assert session.end() == 130


def test_ctrl_z_restores_the_terminal_and_fg_continues(program, project, terminal):
    folder = project(4, modules=1)
    shell = Session("/bin/bash", "--norc", "--noprofile", "-i", cwd=folder.parent, env={"TERM": "dumb"})
    try:
        os.write(shell.master, f"stty -echo; PS1=; TERM=xterm {program} {folder} --python {sys.executable} --shim off\n".encode())
        shell.read(r"waits")
        assert shell.echoes() == (False, False)
        os.write(shell.master, b"\x1a")
        shell.read(r"Stopped")
        os.write(shell.master, b"stty -a | grep -o '.icanon'; jobs | wc -l; fg\n")
        assert " icanon" in shell.read(r"waits")
        shell.read(r"accounting: 3 collected = 2 passed \+ 1 failed, all accounted for", timeout=90)
        os.write(shell.master, b"echo code $?; exit\n")
        shell.read(r"code 1")
    finally:
        shell.process.kill()
        shell.process.wait()


def test_a_crash_of_the_runner_restores_the_terminal(terminal, project):
    session = terminal(project(20, modules=1))
    session.read("waits")
    os.kill(session.process.pid, signal.SIGSEGV)
    assert session.process.wait(timeout=30) == -signal.SIGSEGV
    assert session.echoes() == (True, True)


def test_in_ci_a_terminal_shows_lines_instead_of_a_bar(terminal, project):
    session = terminal(project(0.5), env={"CI": "true"})
    assert session.end() == 1
    assert "running" not in session.text and "\x1b[J" not in session.text


def test_without_a_terminal_there_is_never_a_bar(runner, project, python):
    result = runner(project(0.1), "--progress", "bar", "--python", python, "--shim", "off")
    assert "\x1b" not in result.out and "\r" not in result.out
    assert len(re.findall(r"^\[\d/2\] FAIL ", result.out, re.M)) == 2


def test_progress_json_prints_only_events_on_stdout(program, project, python, tmp_path):
    process = subprocess.Popen(
        [program, project(3), "--progress", "json", "--python", python, "--shim", "off", "-j2"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if not k.startswith("COMPAT_")})
    lines = []
    for line in process.stdout:
        lines.append(json.loads(line))
        if lines[-1].get("current", None) and "waits" in lines[-1]["current"] and not any(
                e["event"] == "status" for e in lines):
            os.kill(process.pid, signal.SIGUSR1)
    errors = process.stderr.read()
    assert process.wait() == 1
    schema = json.loads((ROOT / "reports/schemas/progress.schema.json").read_text())
    jsonschema.validators.validator_for(schema).check_schema(schema)
    validator = jsonschema.validators.validator_for(schema)(schema)
    for line in lines:
        validator.validate(line)
    kinds = [line["event"] for line in lines]
    assert kinds[0] == "run_started" and lines[0]["format"] == 1 and kinds[-1] == "run_finished"
    assert kinds.count("job_started") == kinds.count("job_finished") == kinds.count("module_finished") == 2
    status = next(line for line in lines if line["event"] == "status")
    assert status["running"] and all(at["pid"] > 0 and at["age_s"] >= 0 for at in status["running"])
    done = [line for line in lines if line["event"] == "module_finished"]
    assert all(d["counts"]["passed"] == 2 and [b["state"] for b in d["broken"]] == ["failed"] for d in done)
    assert "accounting: 6 collected = 4 passed + 2 failed, all accounted for" in errors and "report: " in errors


EARLY = """
import sys, time, unittest

WAS_THERE = "wave" in sys.modules

class Early(unittest.TestCase):
    def test_1_fails_in_a_fork(self):
        self.assertFalse(WAS_THERE)

    def test_2_fails(self):
        self.fail("early")

    def test_3_waits(self):
        time.sleep(3)
"""


@pytest.fixture
def early(tmp_path):
    folder = tmp_path / "early"
    (folder / "tests").mkdir(parents=True)
    for name in ("test_a.py", "test_b.py"):
        (folder / "tests" / name).write_text(EARLY)
    (folder / "suite.json").write_text(json.dumps({
        "format": 1, "name": "early", "source": {"path": "."}, "framework": "unittest", "preload": ["wave"],
        "layout": {"tests": "tests", "modules": ["test_*.py"]}}))
    return folder


def events_of(program, *words, cwd):
    done = subprocess.run([program, *words, "--progress", "json"], cwd=cwd, text=True, capture_output=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith("COMPAT_")})
    validator = jsonschema.Draft7Validator(json.loads((ROOT / "reports/schemas/progress.schema.json").read_text()))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        validator.validate(line)
    return lines, done.stderr.splitlines()


def test_a_failure_is_printed_once_while_its_module_still_runs(program, early, python, tmp_path):
    lines, said = events_of(program, early, "test_a.py", "--python", python, "--shim", "off", cwd=tmp_path)
    broken = [line for line in lines if line["event"] == "test_broken"]
    assert [(b["module"], b["attempt"], b["id"], b["state"], b["why"], b["final"]) for b in broken] == [
        ("tests/test_a.py", 1, "tests/test_a.py::Early::test_2_fails", "failed", "AssertionError: early", True)]
    finished = next(line for line in lines if line["event"] == "module_finished")
    assert broken[0]["time"] < finished["time"]
    named = [n for n, line in enumerate(said) if "failed tests/test_a.py::" in line]
    assert [said[n] for n in named] == ["    failed tests/test_a.py::Early::test_2_fails: AssertionError: early"]
    assert said[named[0] + 1].startswith("[1/1] FAIL tests/test_a.py: 2 passed, 1 failed")
    assert said[named[0] + 2] == "    1 failure shown above"


def test_a_failure_in_a_fork_is_printed_as_unconfirmed(program, early, python, tmp_path):
    lines, said = events_of(program, early, "--python", python, "--shim", "off", "-j2", cwd=tmp_path)
    assert all(line["forked"] == (line["attempt"] == 1) for line in lines if line["event"] == "job_started")
    broken = [line for line in lines if line["event"] == "test_broken"]
    for module in ("tests/test_a.py", "tests/test_b.py"):
        first = [b for b in broken if b["module"] == module and b["attempt"] == 1]
        assert {b["id"].split("::")[-1] for b in first} == {"test_1_fails_in_a_fork", "test_2_fails"}
        assert not any(b["final"] for b in first)
        assert "    failed %s::Early::test_1_fails_in_a_fork in a forked process, to be confirmed" % module in said
        assert said.count("    fork-sensitive %s::Early::test_1_fails_in_a_fork" % module) == 1
        assert said.count("    failed %s::Early::test_2_fails: AssertionError: early" % module) == 1
        assert not [line for line in said if "failed %s::Early::test_1_fails_in_a_fork:" % module in line]


def test_every_key_of_the_json_is_documented():
    schema = json.loads((ROOT / "reports/schemas/progress.schema.json").read_text())
    section = (ROOT / "docs/reference/file-formats.md").read_text().partition("## `--progress json`")[2]

    def keys(node):
        if isinstance(node, dict):
            for name, inner in node.items():
                if name == "properties":
                    yield from inner
                yield from keys(inner)
        elif isinstance(node, list):
            for inner in node:
                yield from keys(inner)

    assert section
    assert [key for key in sorted(set(keys(schema))) if f"`{key}`" not in section] == []
    assert [e for e in schema["properties"]["event"]["enum"] if f"`{e}`" not in section] == []


def test_many_leaked_processes_are_summarized(runner, tmp_path, python):
    folder = tmp_path / "project" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_leaves.py").write_text(
        "import subprocess, unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n"
        "        for _ in range(12): subprocess.Popen(['sleep', '600'])\n")
    result = runner(tmp_path / "project", "--python", python, "--shim", "off")
    assert len(re.findall(r"left process \d+ running, killed: sleep 600", result.out)) == 5
    assert "and 7 more in the report" in result.out
    assert len(result.report["leaked_processes"]) == 12
