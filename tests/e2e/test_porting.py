"""Tests `porting` with a real torch: a small suite of CUDA code on plain CPU and on simulated CUDA
and MPS, the written page, and missing columns."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = """
import unittest
import torch

DEVICE = "mps" if torch.backends.mps.is_available() else "cuda" if torch.cuda.is_available() else "cpu"

class Ported(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def test_host(self):
        self.assertEqual(torch.ones(3).sum().item(), 3)

    def test_asserts(self):
        self.assertEqual(torch.ones(3, device=DEVICE).device.type, "cpu")

    def test_double(self):
        torch.ones(2, dtype=torch.float64, device=DEVICE)
        torch.zeros(2, dtype=torch.float64, device=DEVICE)

    def test_eig(self):
        torch.linalg.eig(torch.eye(3, device=DEVICE))

    def test_eig_then_double(self):
        torch.linalg.eig(torch.eye(3, device=DEVICE))
        torch.ones(2, dtype=torch.float64, device=DEVICE)

    def test_two_devices(self):
        torch.ones(3, device=DEVICE) + torch.ones(3)

    def test_random(self):
        torch.manual_seed(1)
        self.assertGreater(torch.randn(8, device=DEVICE).sum().item(), -2, "one of four seeds")

    def test_random_generator(self):
        seeded = torch.Generator(DEVICE).manual_seed(1)
        self.assertGreater(torch.randn(8, device=DEVICE, generator=seeded).sum().item(), -2, "one of four seeds")

    def test_numbers(self):
        torch.manual_seed(1)
        noise = torch.rand(8, device=DEVICE) * (DEVICE != "cpu")
        self.assertLess(noise.sum().item(), 1, "never on plain CPU")

    @unittest.skipIf(DEVICE != "cpu", "only on the CPU")
    def test_cpu_alone(self):
        pass

    @unittest.skipUnless(DEVICE == "cuda", "needs CUDA")
    def test_cuda_alone(self):
        self.assertTrue(torch.ones(1, device="cuda").is_cuda)

    @unittest.skipUnless(DEVICE == "cuda", "needs CUDA")
    def test_graph(self):
        torch.cuda.CUDAGraph()

    def test_pinned(self):
        self.assertTrue(DEVICE == "cuda", "memory is pinned for CUDA alone")

    def test_type_error(self):
        len([] if DEVICE == "cuda" else 3)

    def test_broken_anyway(self):
        self.assertEqual(1, 2)

if DEVICE == "cpu":
    class OnCpu(unittest.TestCase):
        def test_collected_on_cpu(self):
            pass
"""
MODULE = """
import unittest
import torch

if torch.backends.mps.is_available():
    torch.zeros(3, dtype=torch.float64, device="mps")

class Module(unittest.TestCase):
    def test_of_a_module(self):
        pass
"""
# {test: expected result by column}: (state, group and verdict of its cause) if not as on plain CPU.
LOSS = {kind: ("loss", kind) for kind in ("device_limit", "device_handling", "device_asserted", "simulator", "unexplained", "random")}
CONDITION, GAIN = ("idle", "suite_condition"), ("gain", None)
# On a bare Mac, which is what code that names mps meets with redirection, too.
MAC = ("mps", "mps_strict", "cuda_on_mps")


def on(kind, *columns):
    return {column: LOSS[kind] for column in columns}


EXPECTED = {
    "test_asserts": on("device_asserted", "cuda", *MAC),
    "test_double": on("device_limit", *MAC),
    "test_eig": on("device_limit", "mps_strict", "cuda_on_mps"),
    "test_eig_then_double": on("device_limit", *MAC),
    "test_two_devices": on("device_handling", "cuda", *MAC),
    "test_random": on("random", "cuda", *MAC),
    "test_random_generator": on("random", "cuda", *MAC),
    "test_numbers": on("unexplained", "cuda", *MAC),
    # Plain CPU breaks so, too, whatever the random numbers.
    "test_pinned": {"cuda": GAIN, **on("unexplained", *MAC)},
    "test_type_error": {"cuda": GAIN, **on("unexplained", *MAC)},
    "test_cpu_alone": {column: CONDITION for column in ("cuda", *MAC)},
    "test_collected_on_cpu": {column: CONDITION for column in ("cuda", *MAC)},
    "test_cuda_alone": {"cuda": GAIN},
    "test_graph": {"cuda": LOSS["simulator"]},
    "test_of_a_module": on("device_limit", *MAC),
    "<module>": on("device_limit", *MAC),
}


@pytest.fixture
def suite(write_suite):
    return write_suite("ported", {"tests/test_port.py": TESTS, "tests/test_module.py": MODULE})


def pages(out):
    """The Markdown page that a command wrote, and its JSON file, checked against the schema."""
    html = pathlib.Path(re.search(r"^page: (.+)$", out, re.M)[1])
    assert html.name == "porting.html" and html.read_text().startswith("<!doctype html>")
    page = html.with_name("porting.md")
    written = json.loads(page.with_name("porting.json").read_text())
    jsonschema.validate(written, json.loads((ROOT / "reports/schemas/porting.schema.json").read_text()))
    return page, written


def differences(written):
    return {test["id"].rsplit("::", 1)[1]: {
        d["column"]: (written["causes"][d["cause"]]["group"], written["causes"][d["cause"]]["judgement"]) for d in test["differences"]}
        for test in written["tests"]}


def test_a_suite_is_compared_on_plain_cpu_and_simulated_devices(runner, python, suite, tmp_path):
    ran = runner("porting", suite, "--python", python, "-j2", "--seeds", "6")
    assert ran.code == 1, ran.out + ran.err
    page, written = pages(ran.out)
    assert differences(written) == EXPECTED
    uses = written["cuda_uses"]
    assert uses["unknown"] is None and uses["root"] == str(suite) and uses["has_record"] and uses["files"] == 3
    assert uses["places"] == sum(group["places"] for group in uses["groups"]) == 8
    assert sum(group["not_run"] for group in uses["groups"]) > 0, "the tests for CUDA alone are skipped on MPS"
    section = page.read_text().partition("## What it uses CUDA for")[2].partition("\n| run |")[0]
    assert "| what to do | places | ran |" in section and section.count("\n") < 30
    assert f"CUDA in its code: {uses['places']} places in 1 of 3 Python files name CUDA" in ran.out
    columns = {c["column"]: c for c in written["columns"]}
    assert [c["complete"] for c in columns.values()] == [True] * 5
    assert written["accounting"] == {"closed": True, "mismatches": []}
    assert (columns["cpu"]["collected"], columns["cpu"]["passed"], columns["cpu"]["failed"]) == (18, 13, 2)
    assert columns["mps"]["broken_alike"] == columns["mps"]["upstream"] == 1, "test_broken_anyway is no difference"
    assert [u["id"].rsplit("::", 1)[1] for u in written["upstream"]] == ["test_broken_anyway"]
    rules = {(t["id"].rsplit("::", 1)[1], d["column"]): d["attribution"]["rule"]
             for t in written["tests"] for d in t["differences"] if d["attribution"]}
    assert rules["test_eig_then_double", "mps_strict"] == "device-only", "it breaks with fallback, too"
    assert rules["test_eig", "mps_strict"] == "passes-with-fallback"
    assert rules["test_two_devices", "cuda"] == "device-only" and rules["test_two_devices", "cuda_on_mps"] == "same-on-cuda"
    assert columns["cuda"]["exercised"] == 10, "all that name DEVICE, but for what is not simulated"

    # Causes that break on CUDA, too, come first; then float64: test_double, the module and
    # test_eig_then_double (with fallback) need it.
    assert [c["judgement"] for c in written["causes"] if c["group"] == "loss" and c["breaks_alike"]] == [
        "device_handling", "device_asserted", "unexplained", "random"]
    first = written["causes"][3]
    assert (first["gap"]["symbol"], first["unblocked_tests"], first["perhaps_unblocked_tests"]) == ("float64", 3, 0)
    behind = 1 + TESTS.splitlines().index("        torch.zeros(2, dtype=torch.float64, device=DEVICE)")
    assert [(p["place"], p["tests"]) for p in first["places_behind"]] == [(f"tests/test_port.py:{behind}", 1)]
    assert f"; also behind it: [`tests/test_port.py:{behind}`](" in page.read_text()
    (eig,) = [c for c in written["causes"] if c["gap"] and "eig" in c["gap"]["symbol"]]
    assert (eig["tests"], eig["unblocked_tests"], eig["perhaps_unblocked_tests"]) == (2, 1, 0), (
        "test_eig_then_double breaks by float64")
    assert [(b["title"], b["tests"]) for b in eig["behind"]] == [("float64 on mps: this dtype is not supported", 1)]
    streams = {t["id"].rsplit("::", 1)[1]: {(d["streams"], d["failed_streams"]) for d in t["differences"]} for t in written["tests"]}
    assert len(streams["test_random"]) == 1 and streams["test_random"] == streams["test_random_generator"]
    (of, failed), = streams["test_random"]
    assert of == 6 and 0 < failed < 6, "the seed decides"
    assert streams["test_numbers"] == {(6, 0)} and streams["test_asserts"] == {(0, 0)}
    assert streams["test_pinned"] == streams["test_type_error"] == {(0, 0)}, "no seeds are spent"
    assert (written["random"]["streams"], "-seeds_" in written["random"]["run"]) == (6, True)
    assert f"fails with {failed} of 6 random streams on plain CPU" in page.read_text()
    assert "does not fail so with any of 6 random streams on plain CPU" in page.read_text()
    assert [kept["simulated"] for kept in written["kept_going"]] == ["cuda", "mps"]
    (fallback,) = written["fallbacks"]
    assert (fallback["symbol"], fallback["depend"], fallback["tests"]) == (eig["gap"]["symbol"], 1, 2)
    text = page.read_text()
    assert "float64" in text[text.index("## What to fix first"):].splitlines()[7]
    assert text.count("*simulated*") >= 3

    # Links lead to existing files.
    links = {link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)}
    assert len(links) >= 6 and [link for link in links if not (page.parent / link).exists()] == []

    # Each column is a run with the command that repeats it. Comparing again gives the same page.
    listed = runner("runs").out
    assert [column["run"] in listed for column in columns.values()] == [True] * 5
    report = json.loads((tmp_path / "results/runs" / columns["mps_strict"]["run"] / "report.json").read_text())
    (broken,) = [t for m in report["modules"] for t in m["cases"] if t["id"].endswith("::test_eig")]
    assert "--policy none --simulate mps --fallback off" in broken["reproduce"]["runner"]
    runs = [column["run"] for column in columns.values()] + [kept["run"] for kept in written["kept_going"]] + [written["random"]["run"]]
    ids = ",".join(reversed(runs))
    again = runner("porting", "--runs", ids, "--out", tmp_path / "results/porting/again")
    assert again.code == 1
    _, same = pages(again.out)
    for key in ("causes", "random", "fallbacks", "decided_by_fallback", "accounting"):
        assert same[key] == written[key]
    assert differences(same) == EXPECTED

    # If a column is missing, the others are compared and the page names it.
    two = runner("porting", "--runs", f"{columns['cpu']['run']},{columns['cuda']['run']}", "--out", tmp_path / "two")
    page, written = pages(two.out)
    assert {c["column"]: c["run"] is None for c in written["columns"]} == {"cpu": False, "cuda": False, **dict.fromkeys(MAC, True)}
    assert "fallback on is missing" in page.read_text()
    assert written["unlike"] == []
    alone = runner("porting", "--runs", columns["cuda"]["run"], "--out", tmp_path / "alone")
    assert alone.code == 2 and "nothing to compare" in alone.out, "the run's own code is 1"
    page, written = pages(alone.out)
    assert not written["compared"] and "fallback on is missing" in page.read_text()
    twice = runner("porting", "--runs", f"{columns['cpu']['run']},{columns['cpu']['run']}")
    assert twice.code == 2 and "does not fit the other runs" in twice.err


def test_a_suite_with_equal_results_on_every_device(runner, python, suite):
    ran = runner("porting", suite, "--python", python, "-q", "--macos", "15", "tests/test_port.py::Ported::test_host")
    assert ran.code == 0, ran.out + ran.err
    assert "no test used CUDA or MPS" in ran.out
    assert max(map(len, ran.out[ran.out.rindex("on simulated devices"):].splitlines()[:-1])) <= 80
    page, written = pages(ran.out)
    assert written["tests"] == [] and "# Porting `ported`: no test used CUDA or MPS" in page.read_text()
    runs = ",".join(column["run"] for column in written["columns"])
    assert runner("porting", "--runs", runs, "--macos", "15").code == 0, "as harmless as other options of a run"


def test_a_suite_that_reads_its_device_from_a_variable(runner, python, suite):
    (suite / "tests/test_port.py").write_text(
        "import os, torch, unittest\nclass T(unittest.TestCase):\n    def test_sum(self):\n"
        "        self.assertEqual(torch.ones(2, device=os.environ['WHERE']).sum().item(), 2)\n")
    ran = runner("porting", suite, "--python", python, "--env", "WHERE={device}", "tests/test_port.py")
    assert ran.code == 0, ran.out + ran.err
    assert "nothing to fix was found on CUDA or MPS" in ran.out
    assert [c["exercised"] for c in pages(ran.out)[1]["columns"]] == [0, 1, 1, 1, 1]


def test_runs_with_different_settings_are_compared_with_a_note(runner, python, suite, tmp_path):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=suite, check=True, capture_output=True)

    git("init", "-q")
    runs = []
    for words in (["--shim", "off"], ["--simulate", "cuda", "-k", "passes"]):
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", "one more")
        assert runner(suite, "--python", python, *words, "tests/test_port.py::Ported::test_passes").code == 0
        runs.append((tmp_path / "results/latest").resolve().name)
    ran = runner("porting", "--runs", ",".join(runs))
    assert ran.code == 0, ran.out + ran.err
    page, written = pages(ran.out)
    assert [u["what"] for u in written["unlike"]] == ["commit", "tests asked for"]
    commits, asked = (u["values"] for u in written["unlike"])
    assert len(commits["cpu"]) == len(commits["cuda"]) == 40 and commits["cpu"] != commits["cuda"]
    assert "-k passes" in asked["cuda"] and "-k" not in asked["cpu"].split() and asked["mps"] is None
    assert "not alike, commit: " in ran.out and f"{commits['cuda']} on CUDA" in " ".join(ran.out.split())
    assert "**The runs are not alike:**" in page.read_text()


def test_a_column_that_ends_with_a_runner_error_is_reported(runner, python, suite, tmp_path):
    """The first column's test puts a folder where the second run creates its lock file."""
    (suite / "tests/test_port.py").write_text(
        "import os, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        f"        os.remove({str(tmp_path / 'results/lock')!r})\n        os.mkdir({str(tmp_path / 'results/lock')!r})\n")
    ran = runner("porting", suite, "--python", python, "tests/test_port.py")
    assert ran.code == 4, ran.out + ran.err
    assert "lock" in ran.err and "nothing to compare" in ran.out
    page, written = pages(ran.out)
    columns = written["columns"]
    assert [(c["complete"], c["run"] is None) for c in columns] == [(True, False)] + [(False, True)] * 4
    assert {c["why_missing"] for c in columns[1:]} == {columns[1]["why_missing"]} and "lock" in columns[1]["why_missing"]
    assert "--simulate cuda" in page.read_text() and f"`runner {suite} tests/test_port.py " in page.read_text()


def test_modules_that_cannot_be_loaded_are_named_at_the_top(runner, python, suite):
    (suite / "tests/test_port.py").write_text("import nosuchpackage\n")
    (suite / "tests/test_module.py").unlink()
    ran = runner("porting", suite, "--python", python)
    assert ran.code == 1, ran.out + ran.err
    summary = ran.out[ran.out.rindex("on simulated devices against plain CPU"):]
    assert "modules not loaded: 1 on CPU, 1 on CUDA, 1 on MPS, 1 on MPS without fallback, 1\n    on CUDA code on MPS\n" \
           "    tests/test_port.py (every run)\n        ModuleNotFoundError: No module named 'nosuchpackage'\n" in summary
    page, written = pages(ran.out)
    assert "1 module could not be loaded" in page.read_text().splitlines()[0] and written["tests"] == []
    (broken,) = written["not_loaded"]
    assert (broken["module"], len(broken["columns"])) == ("tests/test_port.py", 5)


def test_a_misspelled_test_ends_after_the_first_run(runner, python, suite, tmp_path):
    (suite / "tests/test_port.py").write_text(
        "import os, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
        "if os.environ.get('TORCHDEVICE_MODE', 'none') != 'none':\n    class OnCuda(unittest.TestCase):\n        def test_b(self):\n            pass\n")
    ran = runner("porting", suite, "--python", python, "tests/test_port.py::T::test_a", "tests/test_port.py::T::test_aa")
    assert ran.code == 2 and "page:" not in ran.out, ran.out + ran.err
    assert 'did you mean "tests/test_port.py::T::test_a"?' in ran.err
    assert "tests/test_port.py::T::test_aa: porting: no such test on plain CPU or a simulated device" in ran.err
    assert len(list((tmp_path / "results/runs").iterdir())) == 1
    on_cuda = runner("porting", suite, "--python", python, "tests/test_port.py::OnCuda::test_b")
    assert on_cuda.code == 0 and "(5 of 5)" in on_cuda.out, "only plain CPU and a bare Mac lack it"


def test_a_flaky_test_is_not_a_difference(runner, python, suite, tmp_path):
    (suite / "tests/test_port.py").write_text(
        "import os, unittest\nclass T(unittest.TestCase):\n    def test_flaky(self):\n"
        f"        once = {str(tmp_path / 'once')!r} + os.environ.get('TORCHDEVICE_SIMULATE', '')\n"
        "        if not os.path.exists(once):\n            open(once, 'w').close()\n            self.fail('the first time')\n")
    ran = runner("porting", suite, "--python", python, "tests/test_port.py")
    assert ran.code == 0, ran.out + ran.err
    assert pages(ran.out)[1]["tests"] == []
    assert "flaky: 1 test passed only in a later attempt" in ran.out


def interrupted(program, words, cwd, started):
    """The output of porting after a Ctrl-C once a test has made the file `started`."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("COMPAT_") or k == "COMPAT_CACHE"}
    process = subprocess.Popen([program, "porting", *words], cwd=cwd, env=clean,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 120
    while not started.exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    return out


def test_ctrl_c_in_the_second_column_can_be_resumed(runner, program, python, suite, tmp_path):
    started = tmp_path / "started"
    (suite / "tests/test_port.py").write_text(
        "import os, time, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n    def test_b(self):\n"
        f"        if os.environ.get('TORCHDEVICE_SIMULATE'):\n            open({str(started)!r}, 'w').close()\n            time.sleep(100)\n")
    out = interrupted(program, [suite, "--python", python, "--retries", "0", "tests/test_port.py"], tmp_path, started)
    page, written = pages(out)
    columns = {c["column"]: c for c in written["columns"]}
    assert [(name, c["complete"], c["run"] is None) for name, c in columns.items()] == [
        ("cpu", True, False), ("cuda", False, False), *((name, False, True) for name in MAC)]
    assert columns["mps"]["why_missing"] == "interrupted before it began"
    assert written["accounting"]["closed"]
    (test,) = written["tests"]
    assert (test["states"]["cpu"], test["states"]["cuda"], test["differences"][0]["change"]) == ("passed", "not_run", "no_longer")
    text = page.read_text()
    assert f"`runner resume {columns['cuda']['run']}`" in text and f"`runner {suite} tests/test_port.py " in text
    (strict,) = [line for line in text.splitlines() if line.startswith("- bare Mac *simulated*, fallback off is missing")]
    for words in ("--simulate mps", "--policy none", "--fallback off", f"--python {python}", "--retries 0"):
        assert words in strict

    # After `resume` the run is complete and can be compared.
    for sleeping in (suite / "tests").glob("test_port.py"):
        sleeping.write_text(sleeping.read_text().replace("sleep(100)", "sleep(0)"))
    assert runner("resume", columns["cuda"]["run"]).code == 0
    again = runner("porting", "--runs", f"{columns['cpu']['run']},{columns['cuda']['run']}")
    assert again.code == 0, again.out + again.err
    _, written = pages(again.out)
    assert written["tests"] == [] and written["columns"][1]["complete"]


def test_ctrl_c_while_random_streams_run_keeps_the_comparison(runner, program, python, suite, tmp_path):
    # The second time on plain CPU is the run with random streams.
    once, started, finish = tmp_path / "once", tmp_path / "started", tmp_path / "finish"
    (suite / "tests/test_port.py").write_text(
        "import os, time, unittest\nimport torch\n"
        "DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'\nclass T(unittest.TestCase):\n    def test_numbers(self):\n"
        "        if 'TORCHDEVICE_SIMULATE' not in os.environ:\n"
        f"            if os.path.exists({str(once)!r}) and not os.path.exists({str(finish)!r}):\n"
        f"                open({str(started)!r}, 'w').close()\n                time.sleep(100)\n"
        f"            open({str(once)!r}, 'w').close()\n"
        "        self.assertEqual(torch.ones(1, device=DEVICE).item(), 1 + (DEVICE != 'cpu'))\n")
    out = interrupted(program, [suite, "--python", python, "--seeds", "2", "tests/test_port.py"], tmp_path, started)
    page, written = pages(out)
    assert [c["complete"] for c in written["columns"]] == [True] * 5 and written["accounting"]["closed"]
    random = written["random"]["run"]
    assert written["kept_going"] == [] and f"continue with: runner resume {random}" in out
    runs = ",".join([c["run"] for c in written["columns"]] + [random])
    assert f"is not complete: `runner resume {random}`\n\nThen compare again: `runner porting --runs {runs}`" in page.read_text()

    finish.touch()
    assert runner("resume", random).code in (0, 1)
    again = runner("porting", "--runs", runs)
    (test,) = pages(again.out)[1]["tests"]
    assert {(d["streams"], d["failed_streams"]) for d in test["differences"]} == {(2, 0)}


def test_only_named_runs_with_random_streams_count(runner, python, suite):
    (suite / "tests/test_port.py").write_text(
        "import os, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertNotIn('TORCHDEVICE_SIMULATE', os.environ)\n")
    for words in (["--shim", "off"], ["--simulate", "cuda", "--retries", "0"], ["--shim", "off", "--seeds", "2"], ["--shim", "off", "--seeds", "3"]):
        runner(suite, "--python", python, *words, "tests/test_port.py")
    others, seeds, cuda, cpu = (line.split()[0] for line in runner("runs").out.splitlines())
    page, written = pages(runner("porting", "--runs", f"{cpu},{cuda}").out)
    assert written["random"] is None and [d["streams"] for t in written["tests"] for d in t["differences"]] == [0]
    assert "-seeds_" not in page.read_text()
    _, written = pages(runner("porting", "--runs", f"{others},{cpu},{cuda}").out)
    assert written["random"]["run"] == others and written["random"]["streams"] == 3
    two = runner("porting", "--runs", f"{cpu},{cuda},{seeds},{others}")
    assert two.code == 2 and f"{others} does not fit the other runs" in two.err


def test_discovery_and_the_announcement_of_a_retry_are_printed_once(runner, python, tmp_path):
    tests = tmp_path / "project/tests"
    tests.mkdir(parents=True)
    (tests / "test_a.py").write_text(
        "import time\n\ndef test_fails():\n    assert False\n\ndef test_gives_time_to_announce_it():\n    time.sleep(1)\n")
    ran = runner("porting", "project", "--python", python)
    assert ran.code == 1, ran.out + ran.err
    assert ran.out.count("1 test module in tests/") == 1 and ran.out.count("flat layout") == 1
    assert ran.out.count("test_fails, to be retried") == 5, "once a run"


@pytest.mark.parametrize("words, message", [
    ([], "name a SUITE, or stored runs with --runs"),
    (["--runs", "nothing"], "no run is stored here"),
    (["suite", "--simulate", "mps"], "--simulate"),
    (["suite", "--python", "/nowhere/python"], "/nowhere/python"),
])
def test_runs_that_cannot_be_compared_are_refused(runner, suite, words, message):
    ran = runner("porting", *words)
    assert ran.code == 2 and message in ran.err
