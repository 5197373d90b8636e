"""Runs two suites that crash, hang, leak, flood, fork and lie: each test has the expected state, and
no process is left."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

TORTURE = pathlib.Path(__file__).resolve().parent / "torture"
sys.path.insert(0, str(TORTURE))
from expected import LEFT, PYTEST, UNITTEST, WARM  # noqa: E402

EXPECTED = {"unittest": UNITTEST, "pytest": PYTEST}


def expected(framework, warm):
    model = {module: (outcome, dict(cases)) for module, (outcome, cases) in EXPECTED[framework].items()}
    for module, (outcome, cases) in WARM[framework].items() if warm else ():
        model[module][1].update(cases)
        model[module] = (outcome or model[module][0], model[module][1])
    return model


class Run:
    def __init__(self, process, folder, seconds):
        self.code, self.out, self.err, self.seconds = process.returncode, process.stdout, process.stderr, seconds
        self.folder = (folder / "results" / "latest").resolve()
        self.report = json.loads((self.folder / "report.json").read_text())

    def log(self, module, attempt=1):
        return (self.folder / ("modules/tests/%s.py/%d.log" % (module, attempt))).read_text(errors="replace")


KINDS = {framework + (" warm" if warm else ""): (framework, warm) for warm in (False, True) for framework in EXPECTED}


@pytest.fixture(scope="module", params=KINDS)
def torture(request, program, tmp_path_factory):
    framework, warm = KINDS[request.param]
    folder = tmp_path_factory.mktemp("torture")
    env = {k: v for k, v in os.environ.items() if not k.startswith("COMPAT_") or k == "COMPAT_CACHE"}
    for name in ("TORTURE_MARKS", "TMPDIR"):
        env[name] = str(folder / name)
        os.mkdir(env[name])
    command = [program, TORTURE / framework, "--python", sys.executable, "--shim", "off", "-j2"]
    command += ["--warm", "on" if warm else "off"]
    begin = time.monotonic()
    process = subprocess.run(command, cwd=folder, env=env, text=True, capture_output=True, timeout=400)
    return framework, warm, Run(process, folder, time.monotonic() - begin)


def rows(report):
    """{module: (outcome, {test: (state, why, marks)})} of a report."""
    seen = {}
    for module in report["modules"]:
        cases = {}
        for case in module["cases"]:
            path, _, name = case["id"].partition("::")
            assert path == module["path"] and name not in cases
            died = case["state"] in ("crashed", "timed_out")
            why = case["failure"]["key_line"] if case["failure"] and not died else case["reason"] or ""
            marks = [mark for mark in ("flaky", "fork_sensitive") if case[mark]]
            cases[name] = (case["state"], why, marks)
        seen[pathlib.Path(module["path"]).stem] = (module["outcome"], cases)
    return seen


def differences(model, seen):
    """One line for each row that is missing, unexpected or different."""
    found = []
    for module in sorted(model.keys() | seen.keys()):
        outcome, wanted = model.get(module, (None, {}))
        was, cases = seen.get(module, (None, {}))
        if was != outcome:
            found.append("%s: %s, not %s" % (module, was, outcome))
        for name in [*wanted, *(name for name in cases if name not in wanted)]:
            state, why, marks = (*wanted.get(name, (None, "")), [])[:3]
            row = cases.get(name, (None, "", []))
            if row[0] != state or not re.fullmatch(why, row[1], re.DOTALL) or row[2] != marks:
                found.append("%s::%s: %s, not %s" % (module, name[:80], row, (state, why, marks)))
    return found


def test_each_test_has_the_expected_state(torture):
    framework, warm, run = torture
    assert differences(expected(framework, warm), rows(run.report)) == []
    assert run.code == 1 and run.report["accounting"] == {"closed": True, "mismatches": []}
    assert run.report["run"]["complete"] is True


def test_the_run_ends_within_its_limits(torture):
    assert torture[2].seconds <= 90


def test_leaked_processes_are_named_and_killed(torture):
    framework, _, run = torture
    left = {}
    for process in run.report["leaked_processes"]:
        for words, module in LEFT.items():
            if process["command"].rstrip("' ").endswith(words):
                left[words] = pathlib.Path(process["module"]).stem
    assert left == {w: m for w, m in LEFT.items() if (w == "time.sleep(611)") == (framework == "pytest")}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").strip("\0").split("\0")
        except OSError:
            continue
        assert not any(words[-1].endswith(word) for word in left), words


def test_logs_show_where_a_test_hung_and_keep_the_last_lines(torture):
    framework, _, run = torture
    if framework == "pytest":
        assert "in slow" in run.log("test_hang") and "test_hang.py" in run.log("test_hang")
        return
    hang = run.log("test_hang")
    assert "in wait_beside" in hang and "in test_2_sleeps" in hang
    flood = run.log("test_flood")
    assert len(flood) < 300_000 and "the first words" in flood and "the last words" in flood
    (module,) = [m for m in run.report["modules"] if m["path"] == "tests/test_flood.py"]
    assert module["dropped_log_bytes"] > 3_000_000
    # Modules that died without output, with output, and with faulthandler's stacks.
    said = {c["id"].rpartition("::")[2]: c["failure"] for m in run.report["modules"] for c in m["cases"] if c["failure"]}
    assert said["test_01_segfault"]["key_line"] == "SIGSEGV: Fatal Python error: Segmentation fault"
    assert "about to read what is not there" in said["test_01_segfault"]["traceback"]
    assert said["test_01_segfault"]["frames"][-2]["function"] == "test_01_segfault"
    assert said["test_09_fatal_error"]["message"].endswith("nothing works")
    assert said["test_2_sleeps"]["key_line"].startswith("timed out: in test_2_sleeps (")


def test_each_attempt_is_stored(torture):
    framework, warm, run = torture
    if framework == "pytest":
        assert "Fatal Python error: Aborted" in run.log("test_flaky", 1)
    if framework == "pytest" or warm:
        return
    attempts = {pathlib.Path(m["path"]).stem: m["attempts"] for m in run.report["modules"]}
    assert attempts["test_kinds"] == attempts["test_eraser"] == 1
    # 12 crashes in tests: a fresh process after each but the last, and each crashed test again.
    assert attempts["test_death"] == 1 + 11 + 12
    # The sleep in C ends with the signal that asks for the stacks: the last test may run before the process is ended.
    assert attempts["test_hang"] in (1 + 2 + 3, 1 + 3 + 3)
