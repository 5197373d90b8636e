"""Tests commands, targets and bad input of the installed runner: output, exit code, no files left."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT, SUITES

STATES = SUITES / "unittest_states"


@pytest.mark.parametrize("words, code, says", [
    (["suites/nowhere"], 2, "suites/nowhere"),
    ([], 2, "Usage: runner [OPTIONS] COMMAND"),
    ([STATES, "--jobs", "0"], 2, '--jobs: "0" is not a number of jobs'),
    ([STATES, "--jobs", "2147483648"], 2, '--jobs: "2147483648" is not a number of jobs: use a whole number from 1 to 4096'),
    ([STATES, "--retries", "11"], 2, '--retries: "11" is not a number of retries: use a whole number from 0 to 10'),
    ([STATES, "--shard", "1/1000000000"], 2, '--shard: "1/1000000000" is not a valid shard: use I/N with I at most N, such as 2/5; at most 10000 shards'),
    ([STATES, "--timeout", "soon"], 2, '--timeout: "soon" is not a duration'),
    ([STATES, "--shim", "maybe"], 2, 'use one of on|off'),
    ([STATES, "--no-such-option"], 2, "runner: unknown option --no-such-option: `runner run --help` lists the options"),
    ([STATES, "--joobs", "2"], 2, 'runner: unknown option --joobs: did you mean "--jobs"?'),
    (["report", "one", "two"], 2, 'runner: unexpected argument "two"'),
    (["run"], 2, "runner: SUITE is required"),
    (["serve", "--port", "70000"], 2, "runner: --port: 70000 is out of range (0 to 65535)"),
    (["prune", "--keep", "all"], 2, 'runner: --keep: "all" is not a whole number (0 to '),
    (["run", STATES, "--fail-on", "fallbak"], 2, 'runner: --fail-on: "fallbak" is not allowed: did you mean "fallback"? use one of '),
    (["run", STATES, "--shard"], 2, "runner: --shard needs a value, I/N: "),
    (["run", STATES, "--shard", "1/2", "--plan", "plan.json"], 2, "runner: --plan and SUITE exclude each other: "),
    (["expect"], 2, "runner: runner expect needs a command: name `update` or `check`"),
    (["help", "slection"], 2, 'runner: no command and no topic is named "slection": did you mean "selection"?'),
    (["gaps", "scn"], 2, 'runner: unexpected argument "scn": did you mean "scan"?'),
    (["reprot", "latest"], 2, 'runner: no command and no suite is named "reprot": did you mean "report"?'),
    (["porting", STATES, "--env", "NOEQUALS"], 2, "--env NOEQUALS is not NAME=VALUE"),
    ([STATES, "--python", "/nonexistent/python"], 2, "/nonexistent/python: no Python at this path"),
    ([STATES, "--python", "/bin/true"], 2, "cannot read the packages of this Python"),
    ([STATES, "--root", "/nonexistent"], 2, "/nonexistent: the source of the suite is not a folder"),
    ([STATES, "--results", ""], 2, "--results: the value is empty"),
    ([STATES, "--shim", ""], 2, "--shim: the value is empty"),
    ([STATES, "--env", "NOEQUALS"], 2, "--env NOEQUALS is not NAME=VALUE"),
    ([STATES, "--results", "/proc/results"], 4, "/proc/results"),
    (["report", "latest"], 2, "no run is stored here"),
    (["report", "latest", "--max-bytes", "-1"], 2, "--max-bytes"),
    (["show", "a::b"], 2, "no stored run is here|no run is stored here"),
])
def test_bad_input_is_reported_in_one_line(runner, python, tmp_path, words, code, says):
    if words and words[0] is STATES and "--python" not in words:
        words = [*words, "--python", python, "--shim", "off"] if "--shim" not in words else [*words, "--python", python]
    result = runner(*words)
    assert result.code == code, (result.out, result.err)
    assert any(part in result.err for part in says.split("|")), result.err
    assert "Traceback" not in result.err and "terminate called" not in result.err
    assert not words or result.err.startswith("runner: ") and result.err.count("\n") == 1
    assert not list((tmp_path / "results").glob("runs/*")), "nothing half-written"


@pytest.mark.parametrize("text, says", [
    ('{"format": 1,\n "name": "x",,}', "suite.json:2:"),
    ('{"format": 1, "name": "x", "source": {"path": "."}, "framework": "unittest",\n  "retires": 1}', "suite.json:2:3"),
    ('{"format": 1, "name": "x", "source": {"path": "."},\n  "framework": "nose"}', "suite.json:2:16"),
    ('{"format": 99, "name": "x"}', "suite.json:1:12"),
])
def test_a_broken_suite_file_is_named_by_line_and_column(runner, tmp_path, text, says):
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "suite.json").write_text(text)
    result = runner(folder)
    assert result.code == 2 and says in result.err, result.err
    assert result.err.count("\n") == 1


def test_without_torch_the_suite_runs_without_the_shim_and_the_runner_says_so(runner, tmp_path):
    subprocess.run(["/usr/bin/python3", "-m", "venv", tmp_path / "bare"], check=True)
    python = tmp_path / "bare/bin/python"
    result = runner(STATES, "test_unexpected_success.py", "--python", python)
    assert result.code == 2 and "this Python has no torch" in result.err and "--shim off" in result.err
    result = runner(STATES, "test_unexpected_success.py", "--python", python, "--shim", "off")
    assert result.code == 1 and result.report["totals"]["xpassed"] == 1


def test_a_missing_python_is_reported_with_advice(runner, tmp_path):
    result = runner(STATES, "--shim", "off", env={"COMPAT_BASE_PYTHON": "/nonexistent/python3", "COMPAT_CACHE": str(tmp_path / "c")})
    assert result.code == 2 and result.err.count("\n") == 1, result.err
    assert "cannot find the Python /nonexistent/python3" in result.err and "COMPAT_BASE_PYTHON" in result.err


def test_a_count_that_differs_from_the_frameworks_is_exit_3_and_printed_first(runner, python, tmp_path):
    """The framework prints another count of tests than the events give."""
    tests = tmp_path / "liar" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_a.py").write_text(
        "import unittest\n\n\n"
        "class A(unittest.TestCase):\n    def run(self, result):\n        super().run(result)\n        result.testsRun += 6\n\n"
        "    def test(self):\n        pass\n")
    result = runner(tests.parent, "--framework", "unittest", "--python", python, "--shim", "off")
    assert result.code == 3, result.out
    assert "NOT all accounted for, 1 mismatch:" in result.out and "tests/test_a.py: ran: 1 by its tests, 7 by the framework's closing line" in result.out
    report = result.report
    assert report["accounting"]["closed"] is False and report["accounting"]["mismatches"][0]["module"] == "tests/test_a.py"
    text = (result.folder / "report.md").read_text()
    assert text.index("7 by the framework") < text.index("## Totals")


def test_an_unreachable_source_suggests_the_root_option(runner, python, tmp_path):
    folder = tmp_path / "far"
    folder.mkdir()
    (folder / "suite.json").write_text(json.dumps({
        "format": 1, "name": "far", "source": {"git": "https://localhost:1/nowhere.git", "rev": "v1"},
        "layout": {"tests": "tests"}, "framework": "unittest"}))
    result = runner(folder, "--python", python, "--shim", "off", env={"COMPAT_CACHE": str(tmp_path / "cache")})
    assert result.code == 2 and "the source of far" in result.err and "--root DIR" in result.err
    assert not list((tmp_path / "cache/sources").glob("*.complete"))


def test_a_mistyped_suite_leaves_nothing_behind(runner, tmp_path):
    result = runner("suites/einop")
    assert result.code == 2 and "einops" in result.err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_test_is_named(runner, python):
    result = runner(STATES, "test_states.py::States::test_pass", "test_states.py::States::test_typo", "--python", python, "--shim", "off")
    assert result.code == 2, result.out
    assert "no test is named tests/test_states.py::States::test_typo" in result.err
    assert result.report["totals"]["passed"] == 1


@pytest.mark.parametrize("words, says", [
    (["--jobs", "x"], '--jobs: "x"'), (["--confirm", "x"], '--confirm: "x"'), (["--shard", "3/2"], '--shard: "3/2"'),
    (["--order", "x"], "--order: "), (["--env", "x"], "--env x"), (["--", "--no-option"], "arguments after -- go to pytest"),
])
def test_a_bad_value_is_refused_before_the_suite_is_described(runner, tmp_path, words, says):
    (tmp_path / "project/tests").mkdir(parents=True)
    (tmp_path / "project/tests/test_a.py").write_text("import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self): pass\n")
    result = runner("run", "project", *words)
    assert result.code == 2 and says in result.err and result.out == "", (result.out, result.err)


def test_listing_cases_reports_names_that_match_nothing(runner, python):
    words = ["list", STATES, "--cases", "--python", python, "--shim", "off"]
    wrong = runner(*words, "test_states.py::States::test_pas")
    assert wrong.code == 2 and wrong.out == ""
    assert 'no test is named tests/test_states.py::States::test_pas: did you mean "tests/test_states.py::States::test_pass"' in wrong.err
    none = runner(*words, "test_states.py", "-k", "no_such_name")
    assert none.code == 5 and none.out == "" and "-k no_such_name matches no test" in none.err
    some = runner(*words, "test_states.py::States::test_pass")
    assert some.code == 0 and some.err == "" and some.out == "tests/test_states.py::States::test_pass\n"


def test_unknown_targets_get_suggestions_and_are_not_stored(runner, python, tmp_path):
    words = ["--python", python, "--shim", "off", "-q"]
    good = runner(STATES, "test_states.py::States::test_pass", *words)
    assert good.code == 0
    folder = good.folder
    for target, meant in [("States::test_pas", "States::test_pass"), ("Stats::test_pass", "States::test_pass"), ("State", "States")]:
        result = runner(STATES, "test_states.py::" + target, *words)
        assert result.code == 2
        assert 'no test is named tests/test_states.py::%s: did you mean "tests/test_states.py::%s"' % (target, meant) in result.err
    deselected = runner(STATES, "test_states.py::States::test_pass", "-k", "no_such_name", *words)
    assert deselected.code == 2
    assert "tests/test_states.py::States::test_pass is deselected by -k" in deselected.err and "no test is named" not in deselected.err
    deselected = runner(SUITES / "pytest_states", "test_states.py::test_pass", *words, "--", "-m", "slow")
    assert deselected.code == 2
    assert "tests/test_states.py::test_pass is deselected by -k or by an option after --" in deselected.err
    nothing = runner(STATES, "test_states.py", "-k", "no_such_name", *words)
    assert nothing.code == 5 and "-k no_such_name matches no test" in nothing.err
    assert (tmp_path / "results/latest").resolve() == folder
    assert runner("show", "latest").out.startswith(folder.name)
    assert len(runner("runs").out.splitlines()) == 1  # runs that selected no test are not stored


def test_a_closed_or_full_stdout_is_handled(runner, program, python, tmp_path):
    runner(STATES, "test_unexpected_success.py", "--python", python, "--shim", "off")
    for words in (["show", "latest"], ["runs"], ["list", STATES, "--python", python, "--json"]):
        with open("/dev/full", "w") as full:
            ended = subprocess.run([program, *words], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
        assert ended.returncode == 4 and "No space left" in ended.stderr
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run([program, *words], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert ended.returncode == 0 and ended.stderr == ""


def test_git_variables_of_a_hook_are_ignored(runner, python, tmp_path):
    def repository(name, text):
        folder = tmp_path / name
        (folder / "tests").mkdir(parents=True)
        (folder / "tests/test_a.py").write_text(text)
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "m"]):
            subprocess.run(["git", "-C", folder, *words], check=True)
        return folder
    source = repository("source", "import unittest\n\nclass A(unittest.TestCase):\n    def test(self):\n        pass\n")
    other = repository("other", "raise SystemExit\n")
    before = subprocess.run(["git", "-C", other, "status", "-sb"], text=True, capture_output=True).stdout
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "suite.json").write_text(json.dumps({"format": 1, "name": "s", "framework": "unittest", "source": {
        "git": f"file://{source}", "rev": "HEAD"}}))
    result = runner(suite, "--python", python, "--shim", "off",
                    env={"GIT_DIR": str(other / ".git"), "COMPAT_CACHE": str(tmp_path / "cache")})
    assert result.code == 0, result.err
    assert subprocess.run(["git", "-C", other, "status", "-sb"], text=True, capture_output=True).stdout == before


def test_a_database_that_cannot_be_written_stops_the_run(program, python, tmp_path):
    import sqlite3
    words = [program, STATES, "test_hang.py", "test_states.py", "test_fixtures.py", "-j1", "--timeout", "3s", "--python", python, "--shim", "off"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "test_hang.py" not in line and "test_states.py" not in line and "test_fixtures.py" not in line:
        line = process.stdout.readline()
    with sqlite3.connect(tmp_path / "results/runner.db", isolation_level=None, timeout=30) as db:
        db.execute("drop table result")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 4 and "no such table: result)" in err, (out, err)
    assert "; not started: " in out, out


def test_a_process_group_started_by_a_test_is_killed(runner, running, unique_sleep_seconds, python, tmp_path):
    tests = tmp_path / "leaks" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_a.py").write_text(
        "import os, subprocess, unittest\n\nclass A(unittest.TestCase):\n    def test(self):\n"
        "        subprocess.Popen(['sleep', '%s'], preexec_fn=os.setpgrp)\n" % unique_sleep_seconds)
    result = runner(tests.parent, "--framework", "unittest", "--python", python, "--shim", "off")
    assert result.code == 0, result.err
    assert [p["command"] for p in result.report["leaked_processes"]] == ["sleep " + unique_sleep_seconds]
    assert running("sleep " + unique_sleep_seconds) == []


def test_an_unknown_target_suggests_similar_names(runner, python, tmp_path):
    result = runner(STATES, "test_stats.py", "--python", python, "--shim", "off")
    assert result.code == 2 and "test_states.py" in result.err and not list((tmp_path / "results/runs").iterdir())


@pytest.mark.parametrize("target, ids", [
    ("tests/test_unexpected_success.py", {"Success::test_passes_after_all"}),
    ("test_unexpected_success.py", {"Success::test_passes_after_all"}),
    ("tests.test_unexpected_success", {"Success::test_passes_after_all"}),
    ("tests/test_u*.py", {"Success::test_passes_after_all"}),
    ("tests/test_states.py::States::test_pass", {"States::test_pass"}),
    ("tests/test_fixtures.py::TearDownFails", {"TearDownFails::test_one", "TearDownFails::<tearDownClass>"}),
])
def test_each_form_of_target_selects_its_tests(runner, python, target, ids):
    result = runner(STATES, target, "--python", python, "--shim", "off", "-q")
    assert {c["id"].partition("::")[2] for m in result.report["modules"] for c in m["cases"]} == ids, result.err


def test_a_keyword_that_matches_nothing_is_exit_5(runner, python):
    result = runner(STATES, "test_states.py", "-k", "no_such_name", "--python", python, "--shim", "off")
    assert result.code == 5, result.out


def test_dry_run_and_list_run_nothing(runner, python, tmp_path):
    dry = runner(STATES, "--dry-run", "--python", python, "--shim", "off")
    assert dry.code == 0 and "tests/test_crash.py" in dry.out and not (tmp_path / "results").exists()
    listed = runner("list", STATES, "--python", python, "--shim", "off")
    assert listed.code == 0
    assert listed.out.splitlines() == sorted(str(p.relative_to(STATES)) for p in STATES.glob("tests/test_*.py"))
    cases = runner("list", STATES, "test_crash.py", "--cases", "--json", "--python", python, "--shim", "off")
    assert cases.code == 0, cases.err
    assert [c["id"] for c in json.loads(cases.out)["modules"][0]["cases"]] == [
        f"tests/test_crash.py::Crash::{name}" for name in ("test_1_before", "test_2_crash", "test_3_after")]


def test_runs_and_show_list_the_history(runner, python):
    for _ in range(2):
        assert runner(STATES, "test_unexpected_success.py", "--python", python, "--shim", "off").code == 1
    runs = runner("runs").out.splitlines()
    assert len(runs) == 2 and all("1 xpassed" in line for line in runs)
    words = "device cpu, fallback on, shim off, only test_unexpected_success.py"
    assert all(re.search(rf"  1 module  1 xpassed  [\d.]+ KiB  \({words}\)$", line) for line in runs), runs
    assert runner("show", "latest").out.splitlines()[1] == words
    shown = runner("show", "tests/test_unexpected_success.py::Success::test_passes_after_all")
    assert shown.code == 0 and shown.out.count("xpassed") == 2
    assert runner("show", "latest").out.splitlines()[0].startswith(runs[0].split()[0])
    out = runner("report", "latest~1", "--format", "json", "--out", "again")
    assert out.code == 0 and out.out.strip().endswith("again/report.json")


def test_show_explains_each_failure_and_its_cause(runner, python):
    ran = runner(STATES, "test_states.py", "--python", python, "--shim", "off")
    lines = runner("show", "latest").out.splitlines()
    why = "    failed tests/test_states.py::States::test_subtests: AssertionError: 1 == 1"
    assert why in lines, "of a test whose sub-tests alone failed, the first of them"
    assert any(re.fullmatch(r"\d tests of suite_assertion: an assertion that is not about devices failed", line) for line in lines), lines
    page = (ran.folder / "report.md").read_text()
    assert re.search(r"\| \d \| `suite_assertion` \| an assertion that is not about devices failed \|", page)
    assert "docs/reference/diagnosis.md" in page


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR2])
def test_an_interrupted_run_is_stored_and_reported(program, running, python, tmp_path, how):
    process = subprocess.Popen(
        [program, STATES, "test_hang.py", "test_states.py", "-j1", "--python", python, "--shim", "off"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        events = list(tmp_path.glob("results/runs/*/modules/tests/test_hang.py/1.written/1.events.jsonl"))
        if events and '"start"' in events[0].read_text() and "test_2_hangs" in events[0].read_text().rpartition('"start"')[2]:
            break
        time.sleep(0.1)
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    report = json.loads((tmp_path / "results/latest/report.json").read_text())
    assert report["run"]["complete"] is False
    states = {c["id"].rpartition("::")[2]: c["state"] for m in report["modules"] for c in m["cases"]}
    assert states["test_1_before"] == "passed" and states["test_2_hangs"] == "not_run"
    modules = {m["path"]: m["outcome"] for m in report["modules"]}
    assert modules["tests/test_hang.py"] == "interrupted"
    assert running(str(tmp_path)) == []


@pytest.mark.parametrize("command, after", [(["list", "--cases"], []), (["run"], ["--", "--strict-markers"])])
def test_an_interrupted_collection_ends_the_command(program, python, tmp_path, command, after):
    (tmp_path / "project/tests").mkdir(parents=True)
    (tmp_path / "project/tests/test_a.py").write_text("import pathlib, time\npathlib.Path('began').touch()\ntime.sleep(600)\n")
    process = subprocess.Popen([program, *command, "project", "--framework", "pytest", "--python", python, "--shim", "off", *after],
                               cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "project/began").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err.endswith("runner: interrupted by SIGINT\n"), (out, err)
    assert not list(tmp_path.glob("results/runs/*"))


def test_a_project_without_suite_json_runs_by_convention(runner, python, tmp_path):
    project = tmp_path / "plain_project"
    (project / "src/thing").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / "src/thing/__init__.py").write_text("answer = 42\n")
    (project / "tests/test_thing.py").write_text("import thing\n\n\ndef test_answer():\n    assert thing.answer == 42\n")
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    result = runner(project, "--python", python, "--shim", "off")
    assert result.code == 0, result.out + result.err
    assert result.report["totals"]["passed"] == 1
    assert "pytest" in result.out
    # Its own environment, where it has one, and the first line says so. Results are not committed.
    environment = project / ".venv/bin"
    environment.mkdir(parents=True)
    (environment / "python").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    (environment / "python").chmod(0o755)
    result = runner(project, "--shim", "off", env={"HOME": str(tmp_path)})
    assert result.code == 0, result.out + result.err
    assert " (~/plain_project/.venv/bin/python), device cpu\n" in result.out
    assert (tmp_path / "results/.gitignore").read_text() == "*\n"


def test_a_terminal_shows_a_progress_bar(on_terminal, python, tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR") and not k.startswith("COMPAT_")}
    code, seen = on_terminal(STATES, "test_states.py", "--python", python, "--shim", "off", cwd=tmp_path, env={**env, "TERM": "xterm"})
    assert code == 1
    assert b"1 module running" in seen and b"0 modules running" not in seen and b"about 0s" not in seen
    assert b"\r\x1b[J" in seen and b"[0/1]" in seen and b"\x1b[31m" in seen
    # The bar is gone at the end, and what stays is the same as in a pipe.
    assert seen.rstrip().splitlines()[-1].startswith(b"report: ")


def test_secrets_of_the_environment_are_not_stored(runner, python, tmp_path):
    result = runner(STATES, "test_unexpected_success.py", "--python", python, "--shim", "off",
                    "--env", "MY_API_TOKEN=hunter2", "--env", "SESSION_COOKIE=hunter2", "--env", "PLAIN=visible",
                    "--env", "DATABASE=postgres://me:hunter2@visible.example/db")
    assert result.code == 1
    stored = "".join(p.read_text(errors="replace") for p in result.folder.rglob("*") if p.is_file())
    stored += (tmp_path / "results/runner.db").read_bytes().decode(errors="replace")
    assert "visible" in stored
    assert "hunter2" not in stored + result.out + result.err


def test_every_shipped_suite_is_installed(program):
    shipped = {p.parent.name for p in (program.parents[1] / "share/runner/suites").glob("*/suite.json")}
    assert shipped == {p.parent.name for p in ROOT.glob("suites/*/suite.json")}


def test_doctor_lists_the_devices_of_torch(runner, python, tmp_path):
    import torch

    assert "devices that torch" not in runner("doctor").out, "no environment is known"
    assert runner("prepare", "suites/conformance", "--python", python, timeout=900).code == 0
    shown = runner("doctor", "--python", python)
    lines = shown.out.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("devices that torch")]
    assert torch.__version__ in lines[at] and lines[at + 1].startswith("  cpu     ")
    assert torch.backends.cpu.get_cpu_capability() in lines[at + 1] and "fp32" in lines[at + 1]
    # The torch of these tests has all that the shim replaces.
    assert "not in this torch" not in shown.out and "the shim:" not in shown.out


def test_doctor_lists_devices_without_building_the_shim(runner, tmp_path):
    subprocess.run(["python3", "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "torch").mkdir()
    (packages / "torch/__init__.py").touch()
    (packages / "torch/version.py").write_text("__version__ = '9.9.9'\ngit_version = 'abc'\n")
    shown = runner("doctor", "--python", tmp_path / "env", env={"COMPAT_CACHE": str(tmp_path / "cache")})
    assert "devices that torch 9.9.9 of" in shown.out and "unknown until the shim is built for it" in shown.out
    assert not (tmp_path / "cache").exists()


def test_doctor_names_a_missing_gil_once_and_only_for_the_shim(runner, tmp_path):
    python = tmp_path / "python"
    python.write_text("""#!/bin/sh
echo '{"soabi": "cpython-314t-x86_64-linux-gnu", "torch": {"version": "9.9.9"}, "packages": {}}'
""")
    python.chmod(0o755)
    refused = runner("doctor", "--python", python)
    assert refused.code == 2 and refused.out.count("GIL") == 2, refused.out  # its line, and the advice
    plain = runner("doctor", "--python", python, "--shim", "off")
    assert "GIL" not in plain.out and "device-probe" not in plain.out, plain.out
