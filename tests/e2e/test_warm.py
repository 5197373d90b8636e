"""Tests warm start in the installed runner, with the shim. tests/harness/test_zygote.py tests the
forked processes, tests/exec/zygote_test.cc how they end."""
import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

SUITE = '{"format": 1, "name": "warmed", "framework": "%s", "layout": {"pythonpath": ["."]}, "preload": [%s]}'

LIBRARY = """
import torch

MADE = torch.zeros(2, device="cuda")  # as it is imported, outside of any test

def make(n):
    return torch.zeros(n, device="cuda")
"""

DEVICES = """
import unittest
import library

class Devices(unittest.TestCase):
    def test_library(self):
        for n in range(3):
            library.make(n)

    def test_own(self):
        library.torch.ones(2, device="cuda:1")

    def test_worker(self):
        import multiprocessing
        worker = multiprocessing.get_context("fork").Process(target=library.make, args=(2,))
        worker.start()
        worker.join()

    def test_none(self):
        pass
"""

# Behaves differently in a fork in the way real suites do: by which modules are already imported.
LAZY = """
import sys, unittest

WAS_THERE = "library" in sys.modules

class Lazy(unittest.TestCase):
    def test_lazy(self):
        self.assertFalse(WAS_THERE)

    def test_always_fails(self):
        self.fail("always")

    def test_passes(self):
        pass
"""

PASSES = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n"


@pytest.fixture
def suite(tmp_path):
    """suite(modules, preload=…, framework=…, **files): a suite's folder."""

    def make(modules, preload=("library",), framework="unittest", **files):
        folder = tmp_path / "suite"
        (folder / "tests").mkdir(parents=True)
        (folder / "tests/__init__.py").touch()
        (folder / "suite.json").write_text(SUITE % (framework, ", ".join(map(json.dumps, preload))))
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        for name, text in modules.items():
            (folder / "tests" / f"{name}.py").write_text(text)
        return folder

    return make


def attempts(results):
    """{module: [(number, kind, forked)]}"""
    with sqlite3.connect(f"file:{results}/runner.db?mode=ro", uri=True) as db:
        rows = db.execute("select path, number, kind, forked from attempt join module on module.id = attempt.module"
                          " where run = (select max(id) from run) order by path, number").fetchall()
    found = {}
    for path, *rest in rows:
        found.setdefault(path, []).append(tuple(rest))
    return found


def record(ran, module):
    """The device record of a module, with processes numbered in order."""
    pids, lines = {}, []
    for line in (ran.folder / "modules" / module / "1.written/1.devices.jsonl").read_text().splitlines():
        line = json.loads(line)
        line["pid"] = pids.setdefault(line["pid"], len(pids))
        lines.append(line)
    return lines


@pytest.mark.parametrize("preload", [["library"], ["torch"], ["json"]])
def test_a_fork_records_the_same_devices_as_a_fresh_process(runner, python, suite, preload):
    """Preloads a library that asks for devices on import, torch only, or neither."""
    folder = suite({"test_devices": DEVICES, "test_passes": PASSES}, preload, library=LIBRARY)
    ran = {}
    for warm in ("on", "off"):
        result = runner(folder, "--python", python, "--warm", warm)
        assert result.code == 0, result.out + result.err
        assert [a[2] for a in attempts(result.results)["tests/test_devices.py"]] == [warm == "on"]
        ran[warm] = record(result, "tests/test_devices.py")
        marks = {c["id"].rpartition("::")[2]: c["marks"] for m in result.report["modules"] for c in m["cases"]}
        assert marks["test_own"] == marks["test_worker"] == ["redirected"] and marks["test_none"] == ["untouched"]
    counts = [{(e["test"], e["op"], e["file"], e["line"], e["pid"]): e["count"] for e in r if e["event"] == "device"}
              for r in ran.values()]
    assert len(counts[0]) == 4 and sum(counts[0].values()) == 6
    assert counts[0] == counts[1]
    assert [e for e in ran["on"] if e["event"] != "device"] == [e for e in ran["off"] if e["event"] != "device"]


IMPORTS_TORCH = "import json, torch\n\ndef test_a():\n    assert torch.ones(2).sum() == 2\n"


def test_a_project_without_a_suite_forks_from_what_most_modules_import(runner, python, tmp_path):
    tests = tmp_path / "project/tests"
    tests.mkdir(parents=True)
    for name in "abc":
        (tests / f"test_{name}.py").write_text(IMPORTS_TORCH)
    (tests / "test_c.py").write_text("import sys\n\ndef test_own():\n    assert 'torch' not in sys.modules\n")
    ran = runner("project", "--python", python, "--shim", "off")
    assert ran.code == 0, ran.out + ran.err
    assert "warm start: imports once what most modules import: torch (2 of 3 modules)\n" in ran.out
    assert attempts(ran.results) == {
        "tests/test_a.py": [(1, "whole", 1)], "tests/test_b.py": [(1, "whole", 1)],
        "tests/test_c.py": [(1, "whole", 1), (2, "again", 0), (3, "whole", 0)]}, "the fork's failure is none of the test's"

    (tests / "conftest.py").write_text("import os\nos.environ['OMP_NUM_THREADS'] = '2'\n")
    ran = runner("project", "--python", python, "--shim", "off")
    assert ran.code == 0, ran.out + ran.err
    assert "warm start: tests/conftest.py:2 sets an environment variable before torch is imported" in ran.out
    assert attempts(ran.results) == {f"tests/test_{m}.py": [(1, "whole", 0)] for m in "abc"}

    (tests / "conftest.py").unlink()
    suite = {"format": 1, "name": "p", "framework": "pytest", "preload": []}
    (tmp_path / "project/suite.json").write_text(json.dumps(suite))
    ran = runner("project", "--python", python, "--shim", "off")
    assert ran.code == 0 and "warm start" not in ran.out, ran.out + ran.err
    assert attempts(ran.results) == {f"tests/test_{m}.py": [(1, "whole", 0)] for m in "abc"}


def test_a_failure_only_in_a_fork_is_discarded(runner, python, suite):
    folder = suite({"test_lazy": LAZY, "test_passes": PASSES, "test_too": PASSES}, library="")
    ran = runner(folder, "--python", python, "--shim", "off")
    assert ran.code == 1, ran.out + ran.err
    cases = {c["id"].rpartition("::")[2]: c for m in ran.report["modules"] for c in m["cases"]}
    assert {name: c["state"] for name, c in cases.items()} == {
        "test_lazy": "passed", "test_always_fails": "failed", "test_passes": "passed", "test": "passed"}
    assert {name for name, c in cases.items() if c["fork_sensitive"]} == {"test_lazy"}
    assert {name for name, c in cases.items() if c["flaky"]} == set()
    found = attempts(ran.results)
    assert found["tests/test_passes.py"] == [(1, "whole", 1)]
    assert found["tests/test_lazy.py"] == [(1, "whole", 1), (2, "again", 0), (3, "whole", 0)]
    assert {c["state"] for c in cold_cases(runner, python, folder)} == {"passed", "failed"}
    ran = runner(folder, "--python", python, "--shim", "off")
    assert attempts(ran.results) == {
        "tests/test_lazy.py": [(1, "whole", 0)], "tests/test_passes.py": [(1, "whole", 1)], "tests/test_too.py": [(1, "whole", 1)],
    }, "a fresh process was needed before"
    assert {c["id"].rpartition("::")[2]: c["state"] for m in ran.report["modules"] for c in m["cases"]} == {
        name: c["state"] for name, c in cases.items()}


HUB = """
def load():
    raise OSError("no hub")
"""

# The same error at the same line of the library: one wherever it runs, the other in a fork alone, where `this` was imported before.
WANTS_HUB = """
import sys, unittest
WAS_THERE = "this" in sys.modules
import hub

class Wants(unittest.TestCase):
    def test_hub(self):
        hub.load()

    def test_passes(self):
        pass
"""
WANTS_HUB_IN_A_FORK = WANTS_HUB.replace("hub.load()", "WAS_THERE and hub.load()")


def test_equal_failures_are_confirmed_once(runner, python, suite):
    folder = suite({f"test_{m}": WANTS_HUB for m in "abc"}, ("this", "hub"), hub=HUB)
    ran = runner(folder, "--python", python, "--shim", "off", "-j2")
    assert ran.code == 1 and ran.report["run"]["complete"] and ran.report["accounting"]["closed"], ran.out + ran.err
    assert sorted(c["state"] for m in ran.report["modules"] for c in m["cases"]) == ["errored"] * 3 + ["passed"] * 3
    found = attempts(ran.results)
    assert found.pop("tests/test_a.py") == [(1, "whole", 1), (2, "again", 0)], "the first by path, whichever ended first"
    assert found == {f"tests/test_{m}.py": [(1, "whole", 1)] for m in "bc"}


def test_what_a_fresh_process_has_shown_in_an_earlier_run_is_not_shown_again(runner, python, suite):
    """A new failure of such a test is, and so are all with --confirm all."""
    fails = "import unittest\nclass T(unittest.TestCase):\n    def test_broken(self):\n        self.assertEqual(%s, 2)\n"
    folder = suite({"test_a": fails % 1, "test_b": fails % 3}, library="")
    args = (folder, "--python", python, "--shim", "off", "-j1")
    confirmed, believed = [(1, "whole", 1), (2, "again", 0)], [(1, "whole", 1)]
    assert attempts(runner(*args).results) == {"tests/test_a.py": confirmed, "tests/test_b.py": confirmed}
    (folder / "tests" / "test_b.py").write_text(fails % "None")
    ran = runner(*args)
    assert attempts(ran.results) == {"tests/test_a.py": believed, "tests/test_b.py": confirmed}
    assert [c["state"] for m in ran.report["modules"] for c in m["cases"]] == ["failed", "failed"]
    assert attempts(runner(*args, "--confirm", "all").results) == {"tests/test_a.py": [(1, "whole", 0)], "tests/test_b.py": [(1, "whole", 0)]}


def test_after_a_failed_confirmation_each_module_confirms_itself(runner, python, suite):
    folder = suite({"test_a": WANTS_HUB_IN_A_FORK, "test_b": WANTS_HUB, "test_c": WANTS_HUB_IN_A_FORK}, ("this", "hub"), hub=HUB)
    ran = runner(folder, "--python", python, "--shim", "off", "-j2")
    assert ran.code == 1 and ran.report["run"]["complete"] and ran.report["accounting"]["closed"], ran.out + ran.err
    cases = {c["id"]: c for m in ran.report["modules"] for c in m["cases"]}
    assert {name for name, c in cases.items() if c["state"] != "passed"} == {"tests/test_b.py::Wants::test_hub"}
    assert {name for name, c in cases.items() if c["fork_sensitive"]} == {f"tests/test_{m}.py::Wants::test_hub" for m in "ac"}
    confirmed = [(1, "whole", 1), (2, "again", 0)]
    differs = [*confirmed, (3, "whole", 0)]
    assert attempts(ran.results) == {"tests/test_a.py": differs, "tests/test_b.py": confirmed, "tests/test_c.py": differs}


def test_confirm_all_makes_each_module_confirm_its_failures(runner, python, suite):
    folder = suite({"test_a": WANTS_HUB, "test_b": WANTS_HUB_IN_A_FORK, "test_c": WANTS_HUB}, ("this", "hub"), hub=HUB)
    ran = runner(folder, "--python", python, "--shim", "off", "-j1", "--order", "as-listed", "--confirm", "all")
    assert ran.code == 1 and ran.report["run"]["complete"] and ran.report["accounting"]["closed"], ran.out + ran.err
    cases = {c["id"]: c for m in ran.report["modules"] for c in m["cases"]}
    assert {name: c["state"] for name, c in cases.items()} == {
        f"tests/test_{m}.py::Wants::test_{t}": "errored" if t == "hub" and m != "b" else "passed" for m in "abc" for t in ("hub", "passes")}
    assert {name for name, c in cases.items() if c["fork_sensitive"]} == {"tests/test_b.py::Wants::test_hub"}
    confirmed = [(1, "whole", 1), (2, "again", 0)]
    assert attempts(ran.results) == {"tests/test_a.py": confirmed, "tests/test_b.py": [*confirmed, (3, "whole", 0)], "tests/test_c.py": confirmed}


@pytest.mark.parametrize("confirm, confirming", [("all", "ab"), ("new", "a")])
def test_an_interrupt_during_confirmation_can_be_resumed(runner, program, python, suite, tmp_path, confirm, confirming):
    """Unconfirmed results count as the fork gave them; `resume` confirms them."""
    hub = HUB.replace("    raise", "    if not os.path.exists('go') and 'this' not in sys.modules:\n        time.sleep(60)\n    raise")
    folder = suite({f"test_{m}": WANTS_HUB for m in "ab"}, ("this", "hub"), hub="import os, sys, time\n" + hub)
    process = subprocess.Popen([program, folder, "--python", python, "--shim", "off", "-j2", "--confirm", confirm], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    begin = time.monotonic()
    while len(list((tmp_path / "results").rglob("2.events.jsonl"))) < len(confirming):
        assert time.monotonic() - begin < 60
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "[2/2]" in out, out
    assert sum(len(of) for of in attempts(tmp_path / "results").values()) == 2 + len(confirming)
    (folder / "go").touch()
    ran = runner("resume")
    assert ran.code == 1 and ran.report["run"]["complete"] and ran.report["accounting"]["closed"], ran.out + ran.err
    assert sorted(c["state"] for m in ran.report["modules"] for c in m["cases"]) == ["errored"] * 2 + ["passed"] * 2
    assert {module: [kind for _, kind, _ in of] for module, of in attempts(ran.results).items()} == {
        f"tests/test_{m}.py": ["whole", "again", "again"] if m in confirming else ["whole"] for m in "ab"}, "what was interrupted, once more"


def cold_cases(runner, python, folder):
    ran = runner(folder, "--python", python, "--shim", "off", "--no-warm", "tests/test_lazy.py")
    assert attempts(ran.results)["tests/test_lazy.py"] == [(1, "whole", 0)]
    return [c for m in ran.report["modules"] for c in m["cases"]]


@pytest.mark.parametrize("library, why, options", ids=("raises", "aborts", "threads", "group", "cuda", "mps"), argvalues=[
    ("raise ImportError('no such accelerator')", "the import process ended: exit code 1: ImportError: no such accelerator",
     ("--shim", "off")),
    ("import os; os.abort()", "the import process ended: SIGABRT", ("--shim", "off")),
    ("import threading, time; threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
     "the imports started threads (2 in all), which a fork would lose", ("--shim", "off")),
    ("import tempfile, torch.distributed as dist\n"
     "dist.init_process_group('gloo', init_method='file://' + tempfile.mktemp(), rank=0, world_size=1)",
     "the imports initialise a process group, which a forked process cannot use", ("--shim", "off")),
    ("import torch; ONE = torch.ones(1, device='cuda')",
     "the imports initialise cuda, which a forked process cannot use", ("--simulate", "cuda")),
    ("import torch; ONE = torch.ones(1, device='mps')",
     "the imports initialise mps, which a forked process cannot use", ("--simulate", "mps")),
])
def test_every_module_runs_when_warm_start_turns_itself_off(runner, python, suite, library, why, options):
    folder = suite({"test_a": PASSES, "test_b": PASSES}, library=library)
    ran = runner(folder, "--python", python, *options)
    assert ran.code == 0, ran.out + ran.err
    assert f"note: warm start disabled: {why}" in ran.out
    assert attempts(ran.results) == {f"tests/test_{m}.py": [(1, "whole", 0)] for m in "ab"}


def test_a_single_module_does_not_use_warm_start(runner, python, suite):
    folder = suite({"test_a": PASSES, "test_b": PASSES}, library="")
    ran = runner(folder, "tests/test_a.py", "--python", python, "--shim", "off")
    assert ran.code == 0 and not (ran.folder / "zygote.log").exists()


def test_pytest_rewrites_assertions_of_the_suite(runner, python, suite):
    folder = suite({"test_a": "from helpers import known\n\ndef test_own():\n    assert [1] == [2]\n\n"
                              "def test_conftest(given):\n    known(given)\n",
                    "conftest": "import pytest\npytest.register_assert_rewrite('helpers')\n\n"
                                "@pytest.fixture\ndef given():\n    return {1: 2}\n",
                    "test_b": "def test_b():\n    pass\n"},
                   framework="pytest", library="", helpers="def known(x):\n    assert x == {1: 3}\n")
    ran = runner(folder, "--python", python, "--shim", "off")
    assert ran.code == 1, ran.out + ran.err
    log = (ran.folder / "modules/tests/test_a.py/1.log").read_text()
    assert "assert [1] == [2]" in log and "{1: 2} != {1: 3}" in log
    assert [a[2] for a in attempts(ran.results)["tests/test_a.py"]] == [1, 0]


def test_an_interrupt_during_the_zygotes_imports(program, python, suite, tmp_path):
    folder = suite({"test_a": PASSES, "test_b": PASSES}, library="import time\ntime.sleep(600)\n")
    process = subprocess.Popen([program, folder, "--python", python, "--shim", "off"], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ)
    begin = time.monotonic()
    while not list((tmp_path / "results").glob("runs/*/zygote.log")):
        assert time.monotonic() - begin < 30
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted by SIGINT" in out, out


def test_each_column_of_porting_uses_the_process_that_the_column_before_it_started(runner, python, suite, tmp_path):
    imports = tmp_path / "imports"
    library = f"import os\nwith open({str(imports)!r}, 'a') as file:\n    print(os.environ['COMPAT_JOB'].rsplit('/', 1)[-1], os.getpid(), file=file)\n"
    folder = suite({"test_a": PASSES, "test_b": PASSES}, library=library)
    ran = runner("porting", folder, "--python", python, "-j2")
    assert ran.code == 0, ran.out + ran.err
    lines = [line.split() for line in imports.read_text().splitlines()]
    # The first column's own process and the second column's start side by side, so either may be the first to write.
    assert sorted(name for name, _ in lines) == ["zygote-before-its-run"] * 4 + ["zygote-of-the-run"], "one import for each column"
    with sqlite3.connect(f"file:{tmp_path}/results/runner.db?mode=ro", uri=True) as db:
        assert db.execute("select count(*), sum(forked) from attempt").fetchone() == (10, 10), "of these processes"
