"""Tests, and folders of other machines, can make the runner open only regular files of the run. A
planted link leads to a file of the test's own."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import pytest

from test_isolation import needs_bwrap
from test_resume import make_suite, states
from test_shards import ASSERTS, only_run

FAILS = """
import unittest


class A(unittest.TestCase):
    def test_one(self):
        self.fail("one")

    def test_two(self):
        self.fail("two")
"""

# Knows the run's folder as any test can: from its own command line. Each act says what came of it.
MEDDLES = """
import json, os, pathlib, shutil, time, unittest

WORDS = open("/proc/self/cmdline").read().split("\\0")
OWN = pathlib.Path(WORDS[WORDS.index("--events") + 1]).parent
MODULES = next(folder for folder in OWN.parents if folder.name == "modules")
OTHER = MODULES / "tests" / "test_a.py"
NEXT = MODULES / "tests" / "test_c.py"
USERS = pathlib.Path(os.environ["USERS_FILE"])


def events_of_other():
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for path in OTHER.rglob("1.events.jsonl"):
            if '"finish"' in path.read_text():
                return path
        time.sleep(0.02)


def lie(path):
    lines = path.read_text().splitlines()
    path.write_text("\\n".join(line for line in lines if '"failed"' not in line))


class B(unittest.TestCase):
    def act(self, do, *arguments):
        try:
            do(*arguments)
        except OSError as error:
            self.fail(error.strerror)

    def test_a_own_folder(self):
        self.act((OWN / "mine").write_text, "x")

    def test_b_events(self):
        self.act(lie, events_of_other())

    def test_c_log(self):
        self.act((OTHER / "1.log").write_text, "OK")

    def test_d_link(self):
        self.act(NEXT.mkdir)
        self.act(os.symlink, USERS, NEXT / "1.log")

    def test_e_removal(self):
        self.act(os.rename, OTHER, MODULES / "elsewhere")
"""
ACTS = ("test_b_events", "test_c_log", "test_d_link", "test_e_removal")


@pytest.fixture
def users_file(tmp_path):
    file = tmp_path / "users"
    file.write_text("the user's\n")
    return file


@pytest.fixture
def meddling(tmp_path):
    return make_suite(tmp_path / "suite", {"test_a.py": FAILS, "test_b.py": MEDDLES, "test_c.py": ASSERTS % 1})


def by_name(report):
    return {id.rpartition("::")[2]: state for id, state in states(report).items()}


@needs_bwrap
@pytest.mark.parametrize("warm", ["on", "off"])
def test_a_sandboxed_module_writes_to_its_own_folder_alone(runner, python, meddling, users_file, warm):
    result = runner(meddling, "--python", python, "--shim", "off", "--isolate", "sandbox", "--warm", warm, "--jobs", "2",
                    "--env", f"USERS_FILE={users_file}")
    assert result.code == 1, result.out + result.err
    seen = by_name(result.report)
    assert seen["test_one"] == seen["test_two"] == "failed"
    assert seen["test_a_own_folder"] == "passed" and [seen[act] for act in ACTS] == ["failed"] * 4
    messages = {case["failure"]["message"] for module in result.report["modules"] for case in module["cases"]
                if case["id"].rpartition("::")[2] in ACTS}
    assert messages == {"Read-only file system"}, messages
    assert users_file.read_text() == "the user's\n"
    folder = result.folder / "modules/tests/test_b.py"
    assert {path.name for path in folder.iterdir()} == {"1.log", "1.written"}


def test_a_removed_folder_and_a_planted_link_do_not_stop_the_run(runner, python, tmp_path, users_file):
    plants = MEDDLES[:MEDDLES.index("class B")] + (
        "class B(unittest.TestCase):\n    def test_b(self):\n        shutil.rmtree(MODULES)\n"
        "        NEXT.mkdir(parents=True)\n        os.symlink(USERS, NEXT / '1.log')\n")
    suite = make_suite(tmp_path / "suite", {"test_a.py": plants, "test_b.py": ASSERTS % 1, "test_c.py": ASSERTS % 2, "test_d.py": ASSERTS % 4})
    result = runner(suite, "--python", python, "--shim", "off", "--warm", "off", "--jobs", "1", "--env", f"USERS_FILE={users_file}")
    outcomes = {module["path"]: module["outcome"] for module in result.report["modules"]}
    assert outcomes["tests/test_b.py"] == outcomes["tests/test_d.py"] == "completed", (outcomes, result.out + result.err)
    assert outcomes["tests/test_c.py"] == "spawn_failed"
    assert "1.log: cannot write: it is a link, not a regular file" in (result.folder / "report.md").read_text()
    assert users_file.read_text() == "the user's\n"


# Ways in which a suite runs code of its own in a Python or in any program that is started with its variables.
MARKS = """
import pathlib
try:
    pathlib.Path(%r).write_text("")
except OSError:
    pass
"""
WAYS = ("sitecustomize.py", "ast.py")


@needs_bwrap
@pytest.mark.parametrize("warm", ["on", "off"])
@pytest.mark.parametrize("way", [*WAYS, "LD_DEBUG_OUTPUT"])
def test_code_of_a_suite_runs_in_the_sandbox_alone(runner, python, tmp_path, way, warm):
    """LD_DEBUG_OUTPUT stands for all that the loader of programs reads: it then leaves a file of each program."""
    outside = tmp_path / "outside"
    outside.mkdir()
    suite = make_suite(tmp_path / "suite", {"test_a.py": ASSERTS % 1, "test_b.py": ASSERTS % 1, "test_c.py": ASSERTS % 1})
    definition = json.loads((suite / "suite.json").read_text())
    definition["layout"]["pythonpath"] = ["."]
    if way in WAYS:
        (suite / way).write_text(MARKS % str(outside / "mark"))
    else:
        definition["env"] = {"LD_DEBUG": "statistics", "LD_DEBUG_OUTPUT": str(outside / "mark")}
    (suite / "suite.json").write_text(json.dumps(definition))
    result = runner(suite, "--python", python, "--shim", "off", "--isolate", "sandbox", "--warm", warm, "--jobs", "2")
    assert "modules" in result.report and not list(outside.iterdir()), result.out + result.err
    off = runner(suite, "--python", python, "--shim", "off", "--warm", warm, "--jobs", "2")
    assert list(outside.iterdir()), "the way leads nowhere: " + off.out + off.err


@pytest.fixture
def run(runner, python, tmp_path):
    """A run of two modules, of which one fails."""
    suite = make_suite(tmp_path / "suite", {"test_a.py": FAILS, "test_b.py": ASSERTS % 1})
    result = runner(suite, "--python", python, "--shim", "off")
    assert result.code == 1, result.err
    return result.folder.resolve()


def test_links_and_pipes_in_a_run_are_refused_and_named(runner, run, users_file, tmp_path):
    log = run / "modules/tests/test_a.py/1.log"
    log.unlink()
    log.symlink_to(users_file)
    os.mkfifo(run / "modules/pipe")
    shown = runner("show", "latest", "test_one")
    assert "the user's" not in shown.out and "it is a link, not a regular file" in shown.out + shown.err, shown.out + shown.err
    assert runner("reparse", "latest").code == 0
    reported = runner("report", "latest", "--format", "html")
    assert reported.code == 0 and "the user" not in pathlib.Path(reported.out.strip()).read_text()
    packed = runner("archive", "latest", "--out", "run.tar.zst")
    assert packed.code == 0, packed.err
    assert "left out: modules/tests/test_a.py/1.log (a link)" in packed.out and "left out: modules/pipe (a named pipe)" in packed.out
    assert "left out: report.md" in packed.out
    names = subprocess.run(["tar", "--zstd", "-tf", "run.tar.zst"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "1.written/1.events.jsonl" in names and "test_a.py/1.log" not in names and "pipe" not in names
    (run / "record.jsonl").unlink()
    os.mkfifo(run / "record.jsonl")
    assert runner("runs").code == 0
    rebuilt = runner("reparse", "--all")
    assert rebuilt.code in (0, 3) and run.name in runner("runs").out, rebuilt.out + rebuilt.err


def test_merge_takes_regular_files_alone(runner, python, tmp_path, users_file):
    suite = make_suite(tmp_path / "suite", {"test_a.py": FAILS, "test_b.py": ASSERTS % 1})
    for i in (1, 2):
        assert runner(suite, "--python", python, "--shim", "off", "--shard", "%d/2" % i, "--results", "r%d" % i).code in (0, 1)
    shard = only_run(tmp_path / "r1")
    (shard / "modules/link").symlink_to(users_file)
    (shard / "modules/folder").symlink_to(tmp_path)
    os.mkfifo(shard / "modules/pipe")
    merged = runner("merge", "r1", "r2", "--results", "all")
    assert merged.code == 1, merged.out + merged.err
    for name, kind in (("link", "a link"), ("folder", "a link"), ("pipe", "a named pipe")):
        assert f"left out of {shard}: modules/{name} ({kind})" in merged.out
    whole = only_run(tmp_path / "all")
    assert not any(path.is_symlink() or path.is_fifo() for path in whole.rglob("*"))
    record = shard / "record.jsonl"
    record.unlink()
    os.mkfifo(record)
    refused = runner("merge", "r1", "r2", "--results", "other")
    assert refused.code != 0 and "named pipe" in refused.err, refused.err


def test_runs_of_the_older_layout_are_read_as_before(runner, run, tmp_path):
    """Events and devices once lay beside the log."""
    record = (run / "record.jsonl").read_text()
    for written in list(run.rglob("1.written")):
        for file in written.iterdir():
            file.rename(written.parent / file.name)
        written.rmdir()
    assert "1.written/" in record
    (run / "record.jsonl").write_text(record.replace("1.written/", ""))
    with sqlite3.connect(tmp_path / "results/runner.db") as db:
        db.execute("UPDATE attempt SET events = replace(events, '1.written/', ''), devices = replace(devices, '1.written/', '')")
    before = json.loads((run / "report.json").read_text())
    assert "AssertionError: one" in runner("show", "latest", "test_one").out
    checked = runner("reparse", "latest")
    assert checked.code == 0 and "3 tests" in checked.out, checked.out
    (tmp_path / "results/runner.db").unlink()
    assert runner("reparse", "--all").code == 0
    reported = runner("report", "latest", "--format", "json")
    assert states(json.loads(pathlib.Path(reported.out.strip()).read_text())) == states(before)


# The code of a test says of itself in which file it stands.
FRAMES = """
import unittest

MADE = {}
exec(compile("\\ndef test_a(self):\\n    raise ValueError(1)", %r, "exec"), MADE)
A = type("A", (unittest.TestCase,), {"test_a": MADE["test_a"]})
"""


@pytest.mark.parametrize("named", ["users", "link", "folder/users"])
def test_the_source_that_is_shown_of_a_failure_lies_in_the_project(runner, python, tmp_path, named):
    secret = tmp_path / "elsewhere" / "users"
    secret.parent.mkdir()
    secret.write_text("one\ntwo\nthree\n")
    suite = make_suite(tmp_path / "suite", {})
    (suite / "link").symlink_to(secret)
    (suite / "folder").symlink_to(secret.parent)
    file = secret if named == "users" else suite / named
    (suite / "tests/test_a.py").write_text(FRAMES % str(file))
    result = runner(suite, "--python", python, "--shim", "off")
    assert states(result.report) == {"tests/test_a.py::A::test_a": "errored"}, result.err
    # Python itself has shown what stood there before.
    secret.write_text("the user's\n" * 3)
    shown = runner("show", "latest", "test_a").out
    assert "ValueError: 1" in shown and "the user's" not in shown, shown
    assert not {"link", "users"} & {path.name for path in result.folder.rglob("source/**/*")}


def test_no_module_of_the_current_folder_answers_for_the_host(runner, python, tmp_path):
    """Python's -c and -m look there first."""
    mark = tmp_path / "mark"
    for name in ("venv", "ensurepip", "json", "torch", "pip"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})")
    checked = runner("doctor", "--python", python)
    assert "Python with venv (python3 3" in checked.out and not mark.exists(), checked.out


DEEP = """
import os, pathlib, unittest

WORDS = open("/proc/self/cmdline").read().split("\\0")
OWN = pathlib.Path(WORDS[WORDS.index("--events") + 1]).parent


class A(unittest.TestCase):
    def test_a(self):
        here = os.getcwd()
        os.chdir(OWN)
        for _ in range(4000):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(here)
"""


def test_a_run_with_deep_folders_is_archived(runner, python, tmp_path):
    result = runner(make_suite(tmp_path / "suite", {"test_a.py": DEEP}), "--python", python, "--shim", "off")
    packed = runner("archive", "latest", "--out", "run.tar.zst")
    subprocess.run(["rm", "-rf", result.folder / "modules"], check=True)  # pytest cannot
    assert result.code == 0, result.out
    assert packed.code == 0, packed.err
    assert "/… (a folder with too long a path)" in packed.out
    assert "1 passed" in runner("show", "run.tar.zst").out


def test_an_archive_names_nothing_outside_itself(runner, run, tmp_path):
    """Neither the root of its source, which is a folder of another machine, nor the folder of its run."""
    assert runner("archive", "latest", "--out", "run.tar.zst").code == 0
    module = tmp_path / "suite/tests/test_a.py"
    module.write_text("# the user's\n" * 30)
    assert "the user's" in runner("show", "latest", "test_one").out, "the line as it is today"
    assert "the user's" not in runner("show", "run.tar.zst", "test_one").out
    reported = runner("report", "run.tar.zst", "--format", "html")
    assert reported.code == 0 and "the user's" not in pathlib.Path(reported.out.strip()).read_text()

    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(run, elsewhere)
    (elsewhere / "modules/tests/test_a.py/1.log").write_text("test_one: the user's\n")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "--zstd", "-xf", "run.tar.zst", "-C", unpacked], cwd=tmp_path, check=True)
    record = unpacked / "runs" / run.name / "record.jsonl"
    first, rest = record.read_text().split("\n", 1)
    for change in ({"folder": str(elsewhere)}, {"folder": str(elsewhere), "run": "../../../elsewhere"}):
        record.write_text(json.dumps({**json.loads(first), **change}) + "\n" + rest)
        subprocess.run(["tar", "--zstd", "-cf", "changed.tar.zst", "-C", unpacked, "runs"], cwd=tmp_path, check=True)
        shown = runner("show", "changed.tar.zst", "test_one")
        assert "the user's" not in shown.out + shown.err and ("run" in change or "AssertionError: one" in shown.out), shown.out + shown.err
