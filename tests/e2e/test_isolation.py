"""Tests --isolate with a suite that misbehaves (suites/misbehaving): what each test gets, and that the host
stays as it was. docs/guide/isolation.md says what each value keeps apart."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from conftest import ROOT, SUITES, make_runner

MODES = ("off", "tree", "sandbox")
MIB = 1 << 20
P, F, E = "passed", "failed", "errored"

# The sandbox has a /tmp of its own, and the tests' folders are below the checkout.
OUTSIDE = "No such file or directory: " if ROOT.is_relative_to("/tmp") else "Read-only file system: "

# The expected states of each test under off, tree and sandbox; in the sandbox with its cause and
# words of its message.
EXPECTED = {
    "test_source.py::Source::test_adds_a_file": (P, P, P),
    "test_source.py::Source::test_changes_a_file": (P, P, P),
    "test_source.py::Source::test_changes_a_file_that_is_read_only": (P, P, P),
    "test_source.py::Source::test_deletes_a_file": (P, P, P),
    "test_files.py::Files::test_reads_a_key_of_home": (P, E, (E, "environment", "/.ssh/id_test")),
    "test_files.py::Files::test_reads_a_key_of_the_account": (P, P, (E, "environment", "/.ssh/id_test")),
    "test_files.py::Files::test_writes_into_home": (P, P, P),
    "test_files.py::Files::test_writes_into_a_cache": (P, P, P),
    "test_files.py::Files::test_writes_outside": (P, P, (E, "environment", OUTSIDE)),
    "test_files.py::Files::test_leaves_a_temporary_file": (P, P, P),
    "test_files.py::Files::test_sees_a_secret_variable": (P, P, (E, None, "MISBEHAVING_INHERITED")),
    "test_network.py::Network::test_own_loopback": (P, P, P),
    "test_network.py::Network::test_loopback_of_the_host": (P, P, (E, None, "Connection refused")),
    "test_kill.py::Kill::test_kills_by_id": (P, P, (E, "environment", "No such process")),
    "test_kill.py::Kill::test_passes_afterwards": (P, P, P),
    "test_fill.py::Fill::test_fills_tmpdir": (P, P, (E, "resource", "No space left on device")),
    "test_fill.py::Fill::test_passes_afterwards": (P, P, P),
}
IN_SANDBOX = {
    "test_network.py::Network::test_address_outside": (E, "environment", "wanted 198.51.100.1:9"),
    "test_network.py::Network::test_name_outside": (E, "environment", "wanted example.invalid:443"),
    "test_kill.py::Kill::test_sees_it": (F, None, "False is not true"),
    "test_kill_all.py::KillAll::test_kills_all": (P,),
    "test_kill_all.py::KillAll::test_passes_afterwards": (P,),
}
ENDS = {"test_a_leaves_a_process": P, "test_b_leaves_an_orphan": P, "test_c_crashes": "crashed",
        "test_d_kills_itself": "crashed", "test_e_hangs": "timed_out", "test_f_holds_memory": P}

needs_bwrap = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


class Host:
    """A host for the suite to attack: a home with a key, a process, a server, folders that are not
    temporary."""

    def __init__(self, program, folder):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="isolation-", dir=ROOT / "build"))
        self.suite, self.home, self.outside, self.tmp = (self.folder / name for name in ("suite", "home", "outside", "tmp"))
        shutil.copytree(SUITES / "misbehaving", self.suite, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (self.home / ".ssh", self.outside, self.tmp):
            path.mkdir(parents=True)
        (self.home / ".ssh" / "id_test").write_text("private\n")
        self.victim = subprocess.Popen(["sleep", "600"])
        self.server = socket.create_server(("127.0.0.1", 0))
        self.runner = make_runner(program, folder)
        self.before = self.state()

    def state(self):
        return {name: files_below(self.folder / name) for name in ("suite", "home", "outside", "tmp")}

    def run(self, *words, env=(), **options):
        variables = {"HOST": self.outside, "PORT": self.server.getsockname()[1], "VICTIM": self.victim.pid,
                     "FILL": 8 * MIB, "ACCOUNT": self.home}
        given = [word for name, value in variables.items() for word in ("--env", f"MISBEHAVING_{name}={value}")]
        return self.runner(self.suite, "--python", sys.executable, "--shim", "off", "--test-timeout", "4s", "-j", 4, *given, *words,
                           env={"HOME": self.home, "TMPDIR": self.tmp, "MISBEHAVING_INHERITED": "secret",
                                "XDG_CACHE_HOME": self.home / ".cache", **dict(env)}, **options)

    def end(self):
        self.victim.kill()
        self.victim.wait()
        self.server.close()
        shutil.rmtree(self.folder)


@pytest.fixture
def host(program, tmp_path):
    made = Host(program, tmp_path)
    yield made
    made.end()


def cases_of(result):
    return {case["id"].removeprefix("tests/"): case for module in result.report["modules"] for case in module["cases"]}


def assert_got(tests, id, expected):
    state, cause, text = (*((expected,) if isinstance(expected, str) else expected), None, None)[:3]
    case = tests[id]
    assert case["state"] == state, (id, case)
    if text is not None:
        assert text in case["failure"]["message"], (id, case["failure"])
    if cause is not None:
        assert case["failure"]["cause"] == cause, (id, case["failure"])


def writes_of(result):
    return {place["place"]: {file["path"]: file["change"] for file in place["files"]} for place in result.report["writes"]}


SOURCE_WRITES = {"data/added.txt": "new", "data/numbers.txt": "changed", "data/deleted.txt": "deleted", "tests/test_files.py": "changed"}
HOME_WRITES = {"written-by-a-test": "new", ".cache/cached": "new"}
MODULES = [f"tests/test_{name}.py" for name in ("source", "files", "network", "kill", "fill")]


def test_off_reaches_the_host(host):
    result = host.run(*MODULES)
    tests = cases_of(result)
    for id, expected in EXPECTED.items():
        assert_got(tests, id, expected[0])
    now = host.state()
    assert now["suite"] != host.before["suite"] and now["home"] != host.before["home"]
    assert set(now["outside"]) == {"written-by-a-test"} and now["tmp"]
    assert host.victim.wait(5) == -signal.SIGKILL
    assert result.report["writes"] == [] and result.report["run"]["isolation"] == "off"


def test_the_report_says_how_many_files_it_does_not_list(runner, python, write_suite):
    suite = write_suite("writes", {"tests/test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_writes(self):\n"
                         "        for i in range(25):\n            open('written-%d' % i, 'w').close()\n"})
    report = (runner(suite, "--python", python, "--isolate", "tree", "--shim", "off").folder / "report.md").read_text()
    assert report.count("`written-") == 20 and "  - and 5 more: report.json has all" in report


def test_tree_protects_source_home_and_tmpdir(host):
    result = host.run("--isolate", "tree", *MODULES)
    tests = cases_of(result)
    for id, expected in EXPECTED.items():
        assert_got(tests, id, expected[1])
    now = host.state()
    assert {name: now[name] for name in ("suite", "home", "tmp")} == {name: host.before[name] for name in ("suite", "home", "tmp")}
    assert list(host.tmp.iterdir()) == [] and not (result.folder / "isolation").exists()
    assert set(now["outside"]) == {"written-by-a-test"}, "a tree protects nothing else"

    writes = writes_of(result)
    assert writes["source"] == SOURCE_WRITES
    assert HOME_WRITES.items() <= writes["home"].items()
    assert [name[:5] for name in writes["tmp"]] == ["left-"]
    # Paths are the source's, in every file that people read.
    case = tests["test_source.py::Source::test_fails_with_its_path"]
    assert case["failure"]["message"] == f"it is {host.suite}/tests/test_source.py"
    assert case["failure"]["frames"][-1]["file"].endswith("tests/test_source.py")
    for name in ("report.json", "report.md", "report.html", "run.log"):
        assert ".private-source" not in (result.folder / name).read_text(errors="replace"), name
    assert f"it is {host.suite}/tests/test_source.py" in result.out and ".private-source" not in result.out + result.err
    markdown = (result.folder / "report.md").read_text()
    assert "Files that the tests wrote" in markdown and "`data/added.txt`: new" in markdown
    assert str(host.suite) == result.report["run"]["root"]
    again = host.runner("reparse", "latest")
    assert again.code == 0 and "changed" not in again.out.replace("0 changed", ""), again.out + again.err


@needs_bwrap
def test_sandbox_protects_the_host(host):
    result = host.run("--isolate", "sandbox", "--tmp-size", "4M", "--env", "MISBEHAVING_KILLS_ALL=1", "--env", "MISBEHAVING_LOOKUP=1",
                      *MODULES, "tests/test_kill_all.py")
    tests = cases_of(result)
    for id, expected in EXPECTED.items():
        assert_got(tests, id, expected[2])
    for id, expected in IN_SANDBOX.items():
        assert_got(tests, id, expected)
    assert host.state() == host.before and host.victim.poll() is None
    assert list(host.tmp.iterdir()) == [] and not (result.folder / "isolation").exists()

    writes = writes_of(result)
    assert writes["source"] == SOURCE_WRITES
    assert HOME_WRITES.items() <= writes["home"].items()
    assert {name[:5] for name in writes["tmp"]} >= {"left-"}
    case = tests["test_source.py::Source::test_fails_with_its_path"]
    assert case["failure"]["message"] == f"it is {host.suite}/tests/test_source.py"
    run = result.report["run"]
    assert (run["isolation"], run["network"]) == ("sandbox", False)
    assert result.report["accounting"]["closed"] is True
    again = host.runner("reparse", "latest")
    assert again.code == 0 and "changed" not in again.out.replace("0 changed", ""), again.out + again.err


@needs_bwrap
@pytest.mark.parametrize("warm", ["on", "off"])
def test_network_lets_a_sandbox_out(host, warm):
    result = host.run("--isolate", "sandbox", "--network", "--warm", warm, "tests/test_network.py", "tests/test_kill.py")
    tests = cases_of(result)
    assert tests["test_network.py::Network::test_loopback_of_the_host"]["state"] == "passed"
    assert tests["test_kill.py::Kill::test_kills_by_id"]["state"] == "errored" and host.victim.poll() is None
    assert result.report["run"]["network"] is True


@needs_bwrap
def test_many_long_names_in_tmpdir_are_counted(host):
    result = host.run("--isolate", "sandbox", "--env", "MISBEHAVING_NAMES=1", "tests/test_files.py::Files::test_leaves_many_names")
    assert result.code == 0, result.out + result.err
    [place] = [place for place in result.report["writes"] if place["place"] == "tmp"]
    assert place["count"] == 1000 and 50 <= len(place["files"]) <= 200


@needs_bwrap
def test_diagnosis_and_rerun_stay_in_the_sandbox(host):
    first = host.run("--isolate", "sandbox", "--diagnose", "tests/test_files.py", "tests/test_kill.py")
    assert first.code == 1 and "diagnosis: " in first.out, first.out + first.err
    again = host.runner("rerun", "--failed", env={"HOME": host.home, "TMPDIR": host.tmp})
    assert again.report["run"]["isolation"] == "sandbox", again.out + again.err
    assert host.state() == host.before and host.victim.poll() is None


def ends_of(result):
    """The ends that the runner noticed in test_ends.py, without process ids and times."""
    tests = {id.rpartition("::")[2]: case for id, case in cases_of(result).items() if id.startswith("test_ends.py")}
    ended = [case for case in tests.values() if case["state"] != "passed"]
    return {
        "states": {name: case["state"] for name, case in tests.items()},
        "why": [(case["reason"], case["failure"]["signature"], case["failure"]["message"]) for case in ended],
        "frames": [[(frame["file"], frame["line"]) for frame in case["failure"]["frames"]] for case in ended],
        # One of them may not have become `sleep` yet.
        "leaked": sorted(re.search("sleep 471.", process["command"]).group() for process in result.report["leaked_processes"]),
    }


@needs_bwrap
def test_sandbox_notices_every_end(host, running, tmp_path):
    """Crashes, hangs, memory and processes left behind, forked and in a fresh process, as without a sandbox."""
    ways = {"plain": [], "fresh": ["--isolate", "sandbox", "--warm", "off"],
            "warm": ["--isolate", "sandbox", "tests/test_kill.py"]}  # one module alone is not forked
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = {name: pool.submit(host.run, "tests/test_ends.py", *words, "--results", tmp_path / name) for name, words in ways.items()}
    for name, run in runs.items():
        run.result().results = tmp_path / name
    plain, fresh, warm = (runs[name].result() for name in ways)
    expected = ends_of(plain)
    assert expected["states"] == ENDS
    assert expected["leaked"] == ["sleep 4711", "sleep 4712"]
    reasons, signatures, messages = zip(*expected["why"])
    assert reasons[1] == "killed by SIGKILL, not sent by the runner" and signatures[0].endswith("@ tests/test_ends.py:test_c_crashes")
    assert messages[2].startswith("in hangs_here (")
    assert ends_of(fresh) == expected
    assert ends_of(warm) == expected
    attempts = [json.loads(line) for line in (warm.folder / "record.jsonl").read_text().splitlines()]
    attempts = [line for line in attempts if line["event"] == "attempt"]
    assert any(line["forked"] for line in attempts), "warm start does not fork in a sandbox"
    for result in (plain, fresh, warm):
        lines = [json.loads(line) for line in (result.folder / "record.jsonl").read_text().splitlines()]
        peak = max(line["peak_rss_bytes"] for line in lines if line["event"] == "attempt" and line["module"].endswith("test_ends.py"))
        assert 200 * MIB < peak < 330 * MIB, peak
    assert running("sleep 471") == []


WAITS = """
import os, pathlib, time, unittest


class Waits(unittest.TestCase):
    def test_a_passes(self):
        (pathlib.Path(__file__).parent / "written").write_text("x")

    def test_b_waits(self):
        if not (pathlib.Path(__file__).parent / "go").exists():
            time.sleep(%d)
"""


@needs_bwrap
def test_killed_runner_takes_the_sandbox_with_it(program, runner, running, tmp_path):
    (tmp_path / "suite" / "tests").mkdir(parents=True)
    seconds = 50000 + os.getpid() % 10000
    (tmp_path / "suite" / "tests" / "test_waits.py").write_text(WAITS % seconds)
    (tmp_path / "suite" / "suite.json").write_text('{"format": 1, "name": "waits", "framework": "unittest"}')
    process = subprocess.Popen([program, "suite", "--shim", "off", "--python", sys.executable, "--isolate", "sandbox"], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    events = tmp_path / "results" / "runs"
    until = time.monotonic() + 30
    while time.monotonic() < until and not any("test_b_waits" in path.read_text() for path in events.rglob("*.events.jsonl")):
        time.sleep(0.02)
    process.kill()
    process.wait()
    until = time.monotonic() + 10
    while running("tests/test_waits.py") and time.monotonic() < until:
        time.sleep(0.02)
    assert running("tests/test_waits.py") == []

    (tmp_path / "suite" / "tests" / "go").write_text("")
    [run] = events.iterdir()
    result = runner("resume", run.name)
    assert result.code == 0, result.out + result.err
    states = {case["id"].rpartition("::")[2]: case["state"] for module in result.report["modules"] for case in module["cases"]}
    assert states["test_a_passes"] == "passed"
    assert not (run / "isolation").exists()
    assert not (tmp_path / "suite" / "tests" / "written").exists()


def test_missing_bubblewrap_is_an_error(host, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("git", "python3"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    result = host.run("--isolate", "sandbox", env={"PATH": tmp_path / "bin"})
    assert result.code != 0 and "needs bubblewrap" in result.err and "--isolate tree" in result.err, result.err
    assert list((tmp_path / "results" / "runs").glob("*")) == [] and host.state() == host.before


@needs_bwrap
def test_refused_namespaces_are_an_error(program, host, tmp_path):
    """In a sandbox that lets nobody make user namespaces."""
    command = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", program, host.suite, "--python", sys.executable,
               "--shim", "off", "--isolate", "sandbox"]
    result = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert result.returncode != 0 and "a sandbox cannot be made here" in result.stderr, result.stderr
    assert "--isolate tree" in result.stderr



def test_what_only_a_sandbox_has_is_named_where_there_is_none(runner, write_suite):
    suite = write_suite("noted", {"tests/test_p.py": "import unittest\n\n\nclass P(unittest.TestCase):\n    def test_p(self): pass\n"})
    words = (suite, "--python", sys.executable, "--shim", "off", "--network", "--tmp-size", "1G")
    for how in ("off", "tree"):
        out = runner(*words, "--isolate", how).out
        assert [name for name in ("--network", "--tmp-size") if f"note: {name} has no effect" in out] == ["--network", "--tmp-size"], out
    assert "has no effect" not in runner(suite, "--python", sys.executable, "--shim", "off", env={"COMPAT_NETWORK": "on"}).out
