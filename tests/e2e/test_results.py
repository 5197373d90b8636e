"""Tests what looks after stored runs: a test's history (`show TEST`), `prune`, sizes in `runs`, and `open`."""
import base64
import gzip
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

import pytest

TESTS = {
    "tests/test_flips.py": """import os, unittest
def check(value):
    assert value == "good", f"the value is {value}"
class Flips(unittest.TestCase):
    def test_value(self):
        check(os.environ["VALUE"])
    def test_fine(self): pass
    def test_dies(self):
        if os.environ["VALUE"] == "dies": os.abort()
""",
}
CASE = "tests/test_flips.py::Flips::test_value"


@pytest.fixture
def suite(write_suite):
    return write_suite("flips", TESTS)


def run_with(runner, suite, python, value, *words, **env):
    return runner(suite, "--python", python, "--shim", "off", *words, env={"VALUE": value, **env})


def run_ids(runner):
    return [line.split()[0] for line in runner("runs").out.splitlines()]


def test_show_prints_a_strip_for_each_way_and_the_last_failure(runner, program, python, suite):
    for value in ("good", "bad", "good"):
        run_with(runner, suite, python, value)
    run_with(runner, suite, python, "good", "--name", "other")
    failed = run_ids(runner)[2]
    shown = runner("show", CASE)
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[:6] == [CASE, "    other: device cpu, fallback on, shim off", "        .",
                         "    flips: device cpu, fallback on, shim off", "        .F.", "    . passed  F failed  (oldest run left)"]
    at = next(n for n, line in enumerate(lines) if line.startswith(f"last failure: {failed}  "))
    assert lines[at + 1] == "    failed: AssertionError: the value is bad"
    assert lines[at + 2].startswith("    cause: suite_assertion: ")
    assert lines[at + 3: at + 5] == ["    at tests/test_flips.py:3 in check", '        assert value == "good", f"the value is {value}"']
    log, line = re.fullmatch(r"    log: (.+/1\.log):(\d+)", lines[at + 5]).groups()
    text = open(log).read().splitlines()
    assert text[int(line) - 1] == lines[at + 6].strip() == "FAIL: test_value (tests.test_flips.Flips.test_value)"
    assert "        AssertionError: the value is bad" in lines
    # The command that it prints runs the test again.
    command = re.search(r"^    run it again: (.+)$", shown.out, re.M)[1]
    assert CASE in command
    again = subprocess.run(["bash", "-c", command.replace("runner", '"$RUNNER"', 1)], cwd=suite.parent, capture_output=True, text=True,
                           env={**os.environ, "RUNNER": str(program), "VALUE": "bad"})
    assert again.returncode == 1 and "the value is bad" in again.stdout, again.stderr


def test_show_of_a_test_that_never_failed_names_its_log(runner, python, suite):
    run_with(runner, suite, python, "good")
    out = runner("show", CASE).out
    assert "no failure in 1 stored run\n" in out and "last failure" not in out
    assert os.path.exists(re.search(r"^log: (.+)$", out, re.M)[1])


def test_show_of_a_crash_has_the_end_of_its_log(runner, python, suite):
    assert run_with(runner, suite, python, "dies").code == 1
    out = runner("show", "tests/test_flips.py::Flips::test_dies").out
    assert "    crashed: SIGABRT" in out and "Fatal Python error: Aborted" in out, out


def test_show_masks_secrets(runner, python, suite):
    """Values of secret variables of whoever asks, and what follows the name of one."""
    run_with(runner, suite, python, "hunter2 is the value; API_KEY=0123abc")
    shown = runner("show", CASE, env={"DB_PASSWORD": "hunter2"}).out
    assert "hunter2" not in shown and "0123abc" not in shown
    assert "    failed: AssertionError: the value is <set> is the value; API_KEY=<set>" in shown
    assert "        AssertionError: the value is <set> is the value; API_KEY=<set>" in shown
    assert "hunter2" in runner("show", CASE).out, "else this test would show nothing"


def report_text(file):
    """The file's text, and of an HTML page what its packed parts say."""
    text = file.read_text()
    packed = re.findall(r'data-encoding="gzip-base64">([^<]*)<', text)
    assert packed or file.suffix != ".html"
    return text + "".join(gzip.decompress(base64.b64decode(part)).decode() for part in packed)


def test_reports_mask_secrets(runner, python, suite):
    """In each report and comparison, whoever writes it; the log stays as it was written."""
    run_with(runner, suite, python, "good")
    ran = run_with(runner, suite, python, "hunter2 is the value; API_KEY=0123abc")
    asks = {"env": {"DB_PASSWORD": "hunter2"}}
    files = ["report.md", "report.json", "report.html", "junit.xml", "ctrf.json", "summary.md"]

    def written():
        assert runner("report", "latest", "--format", "md,json,html,junit,ctrf,github", **asks).code == 0
        shown = runner("show", "latest", **asks).out
        shown += runner("compare", "latest~1", "latest", **asks).out
        return {name: report_text(ran.folder / name) for name in files} | {"show": shown}

    for name, text in written().items():
        assert "hunter2" not in text and "0123abc" not in text, name
        assert "<set>" in text or "&lt;set&gt;" in text, name
    asks.clear()
    assert all("hunter2" in text for text in written().values()), "else this test would show nothing"
    assert any("hunter2" in log.read_text() for log in ran.folder.glob("modules/**/*.log"))


def test_show_says_that_a_log_is_gone(runner, python, suite):
    ran = run_with(runner, suite, python, "bad")
    shutil.rmtree(ran.folder / "modules")
    shown = runner("show", CASE)
    assert shown.code == 0 and "cannot read: No such file or directory" in shown.out


def test_colors_are_for_terminals(runner, on_terminal, python, suite, tmp_path):
    run_with(runner, suite, python, "bad")
    assert "\x1b" not in runner("show", CASE).out
    assert "\x1b[31mF\x1b[0m" in runner("show", CASE, "--color", "always").out

    def shown(**env):
        code, text = on_terminal("show", CASE, cwd=tmp_path, env={**os.environ, **env})
        assert code == 0
        return text

    assert b"\x1b[31mF\x1b[0m" in shown() and b"\x1b" not in shown(NO_COLOR="1")


def test_runs_shows_sizes(runner, python, suite):
    ran = run_with(runner, suite, python, "good")
    size = sum(f.stat().st_size for f in ran.folder.rglob("*") if f.is_file() and not f.is_symlink())
    assert f"  {size / 1024:.1f} KiB  (" in runner("runs").out


# prune


def test_prune_deletes_all_but_the_newest_runs(runner, python, suite):
    for value in ("good", "bad", "good", "bad"):
        run_with(runner, suite, python, value)
    run_with(runner, suite, python, "good", "--name", "other")
    ids = run_ids(runner)
    results = runner("runs").results
    size = sum(f.stat().st_size for i in ids[3:] for f in (results / "runs" / i).rglob("*") if f.is_file())
    before = {p: p.stat().st_mtime_ns for p in results.rglob("*") if "runner.db" not in p.name}
    dry = runner("prune", "--keep", "2", "--dry-run")
    assert dry.code == 0 and before == {p: p.stat().st_mtime_ns for p in results.rglob("*") if "runner.db" not in p.name}
    assert f"2 runs would be deleted, {size / 1024:.1f} KiB of files" in dry.out and run_ids(runner) == ids
    pruned = runner("prune", "--keep", "2")
    assert pruned.code == 0, pruned.err
    assert re.findall(r"^deleted (\S+)", pruned.out, re.M) == [ids[4], ids[3]]
    assert f"2 runs deleted, {size / 1024:.1f} KiB of files freed" in pruned.out
    assert run_ids(runner) == ids[:3] and {p.name for p in (results / "runs").iterdir()} == set(ids[:3])
    assert not (results / ".deleted").exists()
    assert "        F.\n" not in runner("show", CASE).out and "        .F\n" in runner("show", CASE).out
    # The other runs can be used as before.
    assert runner("reparse", ids[2]).code == 0 and runner("report", ids[2]).code == 0
    with sqlite3.connect(results / "runner.db") as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert database.execute("pragma foreign_key_check").fetchall() == []
        texts = database.execute("select count(*) from text").fetchone()[0]
        used = database.execute("select count(*) from (select message from failure union select traceback from failure union select frames from failure)")
        assert texts == used.fetchone()[0]


def test_prune_keeps_the_last_complete_run_of_each_series(runner, python, suite):
    run_with(runner, suite, python, "good")
    run_with(runner, suite, python, "good", "--name", "other")
    ids = run_ids(runner)
    only = runner("prune", "--keep", "0", "--series", "other")
    assert only.out == f"kept {ids[0]}: the last complete run of its series, device and settings\n0 runs deleted, 0 B of files freed\n"
    run_with(runner, suite, python, "bad")
    newest = run_ids(runner)[0]
    with sqlite3.connect(only.results / "runner.db") as database:
        database.execute("update run set complete = 0 where name = ?", (newest,))
    database.close()
    pruned = runner("prune", "--days", "0")
    assert pruned.code == 0 and run_ids(runner) == ids
    assert f"deleted {newest}  " in pruned.out and "    note: it is not complete and can be resumed\n" in pruned.out
    assert (only.results / "latest").resolve().name == ids[0], "`latest` names a run that is there"


@pytest.mark.parametrize("column", ["series", "framework", "device", "simulated", "shim", "policy", "masquerade", "fallback", "keep_going",
                                    "seeds", "shard"])
def test_prune_keeps_what_only_that_run_can_be_compared_with(results_of_two_runs, runner, column):
    values = {"series": "x", "framework": "x", "device": "x", "simulated": "x", "policy": "x", "shard": "1/2"}
    older = run_ids(runner)[1]
    with sqlite3.connect(results_of_two_runs / "runner.db") as database:
        before = database.execute(f"select {column} from run where name = ?", (older,)).fetchone()[0]
        value = values.get(column, None if isinstance(before, str) else 1 - int(before or 0))
        assert value not in (None, before)
        database.execute(f"update run set {column} = ? where name = ?", (value, older))
    database.close()
    pruned = runner("prune", "--keep", "1", "--dry-run")
    assert pruned.out.startswith("0 runs would be deleted"), pruned.out
    assert f"kept {older}: the last complete run of its series, device and settings" in runner("prune", "--keep", "0", "--dry-run").out


@pytest.fixture
def results_of_two_runs(runner, python, suite):
    for _ in range(2):
        run_with(runner, suite, python, "good")
    assert "1 run would be deleted" in runner("prune", "--keep", "1", "--dry-run").out
    return runner("runs").results


def test_latest_is_no_run_without_verdicts(runner, python, suite):
    seeds = ("--seeds", "2", "--name", "seeds")
    run_with(runner, suite, python, "good", *seeds)
    only, = run_ids(runner)
    results = runner("runs").results
    assert (results / "latest").resolve().name == only, "there is no other"
    run_with(runner, suite, python, "good")
    verdicts = run_ids(runner)[0]
    run_with(runner, suite, python, "good", *seeds)
    helper = run_ids(runner)[0]
    assert helper not in (only, verdicts)
    assert (results / "latest").resolve().name == verdicts
    assert runner("open", "--print").out.startswith(str(results / "runs" / verdicts))
    assert runner("show", "latest~1").out.startswith(helper) and runner("show", helper).code == 0
    # Also after `prune` took the run that `latest` named.
    (results / "latest").unlink()
    (results / "latest").symlink_to("runs/gone")
    assert runner("prune", "--keep", "5").code == 0
    assert (results / "latest").resolve().name == verdicts


def test_show_finds_a_test_by_a_part_of_its_id(runner, python, suite):
    run_with(runner, suite, python, "bad")
    run, = run_ids(runner)
    assert runner("show", "test_val").out == runner("show", CASE).out
    assert runner("show", run, "::test_val").out == runner("show", run, CASE).out != ""
    for words in (["Flips"], [run, "Flips"]):
        several = runner("show", *words)
        assert several.code == 2 and several.err.count("\n") == 1, several.err
        names = ", ".join(f"tests/test_flips.py::Flips::{name}" for name in ("test_dies", "test_fine", "test_value"))
        assert f"'Flips' is part of the names of several tests: name one: {names}" in several.err
    assert runner("show", "flips").out.startswith(run), "what begins a run's id names the run"
    more = suite / "tests/test_more.py"
    more.write_text("import unittest\n\n\nclass A(unittest.TestCase):\n    def test_v(self): pass\n    def test_v_more(self): pass\n")
    run_with(runner, suite, python, "bad")
    assert "A::test_v " in runner("show", "test_v").out.replace("\n", " "), "its whole name, though others begin so"
    more.unlink()
    assert "no run 'nothing'" in runner("show", "nothing").err
    assert f"{run} has no test nothing" in runner("show", run, "nothing").err


def test_days_count_from_the_start_of_a_run(runner, python, suite):
    for _ in range(3):
        run_with(runner, suite, python, "good")
    ids = run_ids(runner)
    with sqlite3.connect(runner("runs").results / "runner.db") as database:
        for n, run in enumerate(ids):
            database.execute("update run set started_ms = ? where name = ?", ((time.time() - (n * 10 + 1) * 86400) * 1000, run))
    database.close()
    assert runner("prune", "--days", "12").code == 0 and run_ids(runner) == ids[:2]


def test_prune_says_what_else_is_lost(runner, python, suite):
    run_with(runner, suite, python, "good", "--repeat", "3")
    ids = run_ids(runner)
    out = runner("prune", "--keep", "1", "--dry-run").out
    assert f"would delete {ids[2]}  " in out and f"    note: {ids[0]} repeats it (--repeat)\n" in out
    assert out.count("note:") == 1


def test_prune_leaves_a_run_that_goes_on(runner, program, python, write_suite, tmp_path):
    suite = write_suite("slow", {"tests/test_slow.py": "import time, unittest\nclass T(unittest.TestCase):\n    def test_it(self): time.sleep(60)\n"})
    process = subprocess.Popen([program, suite, "--python", python, "--shim", "off"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not list(tmp_path.glob("results/runs/*/modules/tests/*/1.log")) and time.monotonic() < end:
            time.sleep(0.1)
        pruned = runner("prune", "--keep", "0")
        assert pruned.code == 0 and re.match(r"kept \S+: a runner is using it\n0 runs deleted", pruned.out), pruned.out
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def test_the_database_shrinks_while_another_process_reads_it(runner, python, write_suite):
    lines = "\n".join(f"    def test_{n}(self): self.fail('{n} ' * 3000)" for n in range(60))
    suite = write_suite("large", {"tests/test_large.py": f"import unittest, os\nclass T(unittest.TestCase):\n{lines}\n"})
    for _ in range(3):
        runner(suite, "--python", python, "--shim", "off", "--no-warm")
        (suite / "tests/test_large.py").write_text((suite / "tests/test_large.py").read_text().replace("self.fail('", "self.fail('x"))
    file = runner("runs").results / "runner.db"
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("begin")
    count = reader.execute("select count(*) from result").fetchone()
    size = file.stat().st_size
    pruned = runner("prune", "--keep", "1")
    assert pruned.code == 0 and re.search(r"^database: \S+ [KM]iB, was \S+ [KM]iB$", pruned.out, re.M), pruned.out + pruned.err
    assert reader.execute("select count(*) from result").fetchone() == count, "the reader goes on with what it saw"
    reader.close()
    runner(suite, "--python", python, "--shim", "off", "tests/test_large.py::T::test_1")
    assert file.stat().st_size < size * 0.6


def test_prune_that_is_killed_leaves_whole_runs(runner, program, python, suite, tmp_path):
    for _ in range(2):
        run_with(runner, suite, python, "bad")
    template = tmp_path / "template"
    results = runner("runs").results
    for n in range(30):  # more runs, as copies that are stored from their folders
        copy = results / "runs" / f"flips_20200101-0000{n:02}-0000"
        shutil.copytree(run_folder := results / "runs" / run_ids(runner)[0], copy)
        for file in copy.rglob("*"):
            if file.is_file() and run_folder.name in (text := file.read_text(errors="surrogateescape")):
                file.write_text(text.replace(run_folder.name, copy.name), errors="surrogateescape")
    (results / "lock").touch()
    assert runner("reparse", "--all").code == 0
    assert len(run_ids(runner)) == 32
    shutil.copytree(results, template, symlinks=True)
    stopped_within = 0
    for begun, delay in ((32, 0.004), (32, 0.02), (31, 0), (31, 0.001), (31, 0.002), (25, 0), (10, 0)):
        shutil.rmtree(results)
        shutil.copytree(template, results, symlinks=True)
        process = subprocess.Popen([program, "prune", "--keep", "1"], cwd=tmp_path, stdout=subprocess.DEVNULL)
        while process.poll() is None and len([*(results / "runs").iterdir()]) > begun:
            time.sleep(0.0002)
        time.sleep(delay)
        process.kill()
        process.wait(timeout=60)
        left = run_ids(runner)
        folders = {p.name for p in (results / "runs").iterdir()}
        assert set(left) <= folders and len(folders - set(left)) <= 1, "a stored run has its folder"
        stopped_within += 1 < len(left) < 32
        assert all(runner("show", run).code == 0 for run in left[:3])
        assert runner("prune", "--keep", "1").code == 0
        assert len(run_ids(runner)) == 1 and not (results / ".deleted").exists()
    assert stopped_within > 0, "else no kill came in between"


@pytest.mark.parametrize("words, says", [
    ([], "--keep or --days is required: "),
    (["--keep", "1", "--days", "2"], "--days and --keep exclude each other"),
    (["--keep", "-1"], "--keep"),
    (["--keep", "1"], "no run is stored here"),
])
def test_prune_refuses_what_it_cannot_do(runner, words, says):
    refused = runner("prune", *words)
    assert refused.code == 2 and says in refused.err and refused.err.count("\n") == 1, refused.err


# open


@pytest.fixture
def desktop(tmp_path):
    """A folder for PATH; desktop(name): a program in it that writes its arguments to opened.txt."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def add(name, code=0):
        script = folder / name
        script.write_text(f'#!/bin/bash\nprintf "%s\\n" "${{0##*/}}" "$@" >> {tmp_path}/opened.txt\nexit {code}\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    add.path, add.opened = str(folder), tmp_path / "opened.txt"
    return add


@pytest.fixture
def run_to_open(runner, python, suite):
    return run_with(runner, suite, python, "good").folder


NOTHING = {"SSH_CONNECTION": "", "SSH_TTY": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", "WSL_DISTRO_NAME": ""}


def opened(runner, desktop, *words, **env):
    desktop.opened.unlink(missing_ok=True)
    result = runner("open", *words, env={**NOTHING, "PATH": desktop.path, **env})
    assert result.code == 0, result.err
    return result.out.splitlines(), desktop.opened.read_text().splitlines() if desktop.opened.exists() else None


def test_open_prefers_the_html_report(runner, desktop, run_to_open):
    desktop("xdg-open")
    (run_to_open / "report.html").unlink(missing_ok=True)
    lines, got = opened(runner, desktop, DISPLAY=":0")
    assert lines == [str(run_to_open / "report.md"), f"file://{run_to_open}/report.md"] and got == ["xdg-open", lines[0]]
    (run_to_open / "report.html").write_text("<html>")
    lines, got = opened(runner, desktop, run_to_open.name, DISPLAY=":0")
    assert got == ["xdg-open", str(run_to_open / "report.html")]


def test_open_starts_the_users_browser_first(runner, desktop, run_to_open):
    for name in ("xdg-open", "fox"):
        desktop(name)
    lines, got = opened(runner, desktop, BROWSER="none-such:fox --new-tab %s", DISPLAY=":0", SSH_CONNECTION="a b")
    assert got == ["fox", "--new-tab", lines[1]]
    assert opened(runner, desktop, "--print", BROWSER="fox", DISPLAY=":0")[1] is None


@pytest.mark.parametrize("env, why", [
    ({}, "not opened: there is no display"),
    ({"DISPLAY": ":0", "SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, "not opened: this is an SSH session"),
    ({"DISPLAY": ":0"}, "not opened: xdg-open (package xdg-utils) is not on PATH"),
    ({"WSL_DISTRO_NAME": "Debian"}, "not opened: neither wslview"),
])
def test_open_says_why_it_only_prints(runner, desktop, run_to_open, env, why):
    lines, got = opened(runner, desktop, **env)
    assert got is None and len(lines) == 3 and lines[2].startswith(why), lines


def test_open_under_wsl(runner, desktop, run_to_open):
    desktop("explorer.exe", code=1)  # as it ends whatever happens
    (desktop.opened.parent / "bin/wslpath").write_text("#!/bin/bash\necho 'C:\\x'\n")
    (desktop.opened.parent / "bin/wslpath").chmod(0o755)
    lines, got = opened(runner, desktop, WSL_DISTRO_NAME="Debian")
    assert got == ["explorer.exe", "C:\\x"] and len(lines) == 2
    desktop("wslview")
    assert opened(runner, desktop, WSL_DISTRO_NAME="Debian")[1][0] == "wslview"


def test_open_reports_that_the_program_failed(runner, desktop, run_to_open):
    desktop("xdg-open", code=4)
    lines, _ = opened(runner, desktop, DISPLAY=":0")
    assert lines[2].startswith("not opened: xdg-open ") and lines[2].endswith(" failed with exit code 4")


def test_open_does_not_wait_for_a_browser_that_stays(runner, desktop, run_to_open, unique_sleep_seconds):
    (desktop.opened.parent / "bin/fox").write_text(f"#!/bin/bash\nexec /bin/sleep {unique_sleep_seconds}\n")
    (desktop.opened.parent / "bin/fox").chmod(0o755)
    began = time.monotonic()
    lines, _ = opened(runner, desktop, BROWSER="fox")
    assert len(lines) == 2 and time.monotonic() - began < 20
    browser = subprocess.run(["pgrep", "-f", f"sleep {unique_sleep_seconds}"], capture_output=True, text=True).stdout.split()
    assert len(browser) == 1, "it outlives the runner"
    os.kill(int(browser[0]), signal.SIGKILL)


def test_open_refuses_a_run_without_a_report(runner, run_to_open):
    for name in ("report.md", "report.html"):
        (run_to_open / name).unlink(missing_ok=True)
    refused = runner("open")
    assert refused.code == 2 and f"{run_to_open.name} has no report: `runner report {run_to_open.name}` writes it" in refused.err
    assert runner("archive", "latest", "--out", "run.tar.zst").code == 0
    refused = runner("open", "run.tar.zst")
    assert refused.code == 2 and "has no report: `runner report run.tar.zst` writes it" in refused.err, "an archive holds none"
