"""Tests `runner compare` on real runs: two equal ones, and one with a planted change of each class."""
import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys

import jsonschema
import pytest

from conftest import ROOT, make_runner

BEFORE = '''
import os, pathlib, unittest

SEEN = pathlib.Path(__file__).parents[2] / "seen"

def check(i):
    assert i >= 0

class T(unittest.TestCase):
    def test_regresses_0(self): check(0)
    def test_regresses_1(self): check(1)
    def test_mended(self): self.assertEqual(1, 2)
    def test_removed(self): pass
    def test_skips(self): pass
    @unittest.skip("too slow")
    def test_runs(self): pass
    def test_still(self): self.assertEqual(3, 4)
    def test_other(self): self.assertEqual(5, 6)
    def test_hangs(self): pass
    def test_same(self): pass
    def test_noisy(self):
        SEEN.mkdir(exist_ok=True)
        n = len(os.listdir(SEEN))
        (SEEN / str(n)).touch()
        self.assertEqual(n % 2, 1)
'''
# From a line of BEFORE to the line after it.
EDITS = {
    "assert i >= 0": "raise RuntimeError(f'no rule for {i}')",
    "test_mended(self): self.assertEqual(1, 2)": "test_mended(self): pass",
    "    def test_removed(self): pass\n": "    def test_added(self): pass\n    def test_added_broken(self): self.fail('never worked')\n",
    "test_skips(self): pass": "test_skips(self): self.skipTest('not today')",
    '    @unittest.skip("too slow")\n': "",
    "self.assertEqual(5, 6)": "{}['key']",
    "test_hangs(self): pass": "test_hangs(self): __import__('time').sleep(60)",
}
CLASSES = {
    "test_regresses_0": "regressed", "test_regresses_1": "regressed", "test_added_broken": "new_failing", "test_other": "still_failing_changed",
    "test_removed": "gone", "test_skips": "newly_skipped", "test_mended": "fixed", "test_added": "new_passing", "test_runs": "newly_run",
    "test_noisy": "flaky", "test_hangs": "spurious", "test_whole_module_0": "gone", "test_whole_module_1": "gone",
    "test_unloaded": "gone", "<module>": "new_failing",
}


def install(site, version):
    """A package `planted` of this version, as pip would leave it."""
    for old in site.glob("planted-*.dist-info"):
        shutil.rmtree(old)
    folder = site / f"planted-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: planted\nVersion: {version}\n")


PARTS = {"format": 1, "name": "parts", "framework": "unittest", "layout": {"pythonpath": ["."]}}
TWO_TESTS = "import unittest\n\n\nclass P(unittest.TestCase):\n    def test_one(self): pass\n\n    def test_two(self): pass\n"


@pytest.fixture(scope="module")
def history(program, tmp_path_factory):
    """Two equal runs, and a third after an edit; the ids, oldest first."""
    folder = tmp_path_factory.mktemp("compare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    site = next((folder / "venv").glob("lib/python*/site-packages"))
    tests = folder / "suite" / "tests"
    tests.mkdir(parents=True)
    (folder / "suite" / "suite.json").write_text(json.dumps(
        {"format": 1, "name": "small", "framework": "unittest", "layout": {"pythonpath": ["."]}}))
    (tests / "__init__.py").touch()
    (tests / "test_a.py").write_text(BEFORE)
    (tests / "test_b.py").write_text("import unittest\n\nclass B(unittest.TestCase):\n" + "".join(
        f"    def test_whole_module_{i}(self): pass\n" for i in range(2)))
    runner = make_runner(program, folder)
    words = (folder / "suite", "--python", folder / "venv/bin/python", "--shim", "off", "--warm", "off", "--test-timeout", "4s")
    (tests / "test_c.py").write_text("import unittest\n\nclass C(unittest.TestCase):\n    def test_unloaded(self): pass\n")
    install(site, "1.0")
    assert runner(*words, "--repeat", "2").code == 1
    (tests / "test_b.py").unlink()
    (tests / "test_c.py").write_text("import no_such_package\n")
    text = BEFORE
    for old, new in EDITS.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tests / "test_a.py").write_text(text)
    install(site, "2.0")
    assert runner(*words).code == 1
    listed = runner("runs").out.splitlines()
    return runner, [line.split()[0] for line in reversed(listed)]


def written(runner, *words, code=0):
    result = runner("compare", "--format", "json", *words)
    assert result.code == code, result.err
    document = json.loads(result.out)
    jsonschema.validate(document, json.loads((ROOT / "reports/schemas/compare.schema.json").read_text()))
    return document


def test_each_planted_change_has_its_class(history):
    runner, ids = history
    document = written(runner)
    assert (document["baseline"]["id"], document["comparisons"][0]["run"]["id"]) == (ids[1], ids[2])
    comparison = document["comparisons"][0]
    assert {t["id"].split("::")[-1]: t["class"] for t in comparison["tests"]} == CLASSES
    counts = comparison["classes"]
    assert {name: n for name, n in counts.items() if n} == {
        **{name: list(CLASSES.values()).count(name) for name in CLASSES.values()}, "unchanged": 1, "still_failing_same": 1}
    # One cause, though two tests have it.
    regressed = [g for g in comparison["groups"] if g["class"] == "regressed"]
    assert [(g["tests"], g["title"].partition(" for ")[0]) for g in regressed] == [(2, "RuntimeError: no rule")]
    assert comparison["noise"] == {"runs": 2, "tests": 1}


def test_the_environment_comes_first_and_lost_tests_are_reported(history):
    runner, ids = history
    comparison = written(runner)["comparisons"][0]
    changed = {c["name"]: (c["baseline"], c["run"]) for c in comparison["environment"]}
    assert changed["packages.planted"] == ("1.0", "2.0")
    assert not any(name.startswith(("volatile", "settings")) for name in changed), changed
    assert [(d["what"], d["baseline"], d["run"]) for d in comparison["drops"]] == [("module", 3, 2), ("test", 14, 13)]
    text = runner("compare").out
    places = [text.index(words) for words in ("baseline  " + ids[1], "run       " + ids[2], "packages.planted: 1.0 → 2.0",
                                              "warning: 1 module fewer", "regressed: 2 tests, 1 cause", "fixed: 1 test, 1 cause",
                                              "before: suite_assertion: AssertionError: 1 != 2")]
    assert places == sorted(places)
    assert "its module is not there" in text and "2 regressed, 2 new_failing, " in text
    assert "its module ended as load_error: ModuleNotFoundError: No module named 'no_such_package'" in text


def test_a_run_of_some_tests_is_no_baseline_of_all(runner, python, write_suite):
    suite = write_suite("parts", {"tests/test_p.py": TWO_TESTS, "suite.json": json.dumps(PARTS)})

    def run(*words):
        result = runner(suite, "--python", python, "--shim", "off", *words)
        return result.report["run"]["id"], result

    def baseline(of):
        return json.loads(runner("compare", "--format", "json", of).out)["baseline"]["id"]

    whole, _ = run()
    part, _ = run("-k", "test_one")
    again, after_part = run("tests/test_p.py", "-k", "test_one")
    assert after_part.report["changes"]["baseline"]["id"] == whole
    last, result = run()
    assert result.report["changes"]["baseline"]["id"] == whole == baseline(last) == baseline(part)
    assert result.report["changes"]["comparisons"][0]["classes"]["gone"] == 0
    same_part, result = run("-k", "test_one")
    assert result.report["changes"]["baseline"]["id"] == last, "the newest that ran the part"
    assert result.report["changes"]["comparisons"][0]["not_asked_for"] == 1
    isolated, result = run("--isolate", "tree")
    assert result.report["changes"] is None and "isolation" in runner("compare", isolated).err

    rows = {line.split()[0]: line for line in runner("runs").out.splitlines()}
    assert rows[whole].endswith("shim off)") and rows[isolated].endswith("isolation tree)")
    assert rows[again].endswith(", only tests/test_p.py -k test_one)")
    pruned = runner("prune", "--keep", "1", "--dry-run").out
    assert {name for name in rows if name in pruned.split()} == {whole, part, again}, pruned


def test_a_dry_run_of_prune_leaves_an_older_database_as_it_is(runner, python, write_suite, tmp_path):
    suite = write_suite("aged", {"tests/test_p.py": TWO_TESTS, "suite.json": json.dumps(PARTS)})
    runner(suite, "--python", python, "--shim", "off")

    def version(change=""):
        with contextlib.closing(sqlite3.connect(tmp_path / "results/runner.db")) as database:
            database.execute("PRAGMA user_version" + change)
            return database.execute("PRAGMA user_version").fetchone()[0]

    older = version() - 1
    version(f" = {older}")
    looked = runner("prune", "--keep", "1", "--dry-run")
    assert looked.code != 0 and f"version {older}, older than {older + 1}: `runner reparse`" in looked.err
    assert version() == older


def test_blame_names_a_run_that_stands_alone(runner, python, write_suite):
    suite = write_suite("alone", {"tests/test_p.py": TWO_TESTS, "tests/test_q.py": TWO_TESTS,
                                  "suite.json": json.dumps(PARTS)})
    part = runner(suite, "--python", python, "--shim", "off", "tests/test_q.py").report["run"]["id"]
    test = "tests/test_q.py::P::test_one"
    (suite / "tests/test_q.py").unlink()
    runner(suite, "--python", python, "--shim", "off")
    blamed = runner("blame", test)
    assert blamed.code == 2 and f"no run with a history has the test {test}; {part} has it: " in blamed.err


def test_runs_that_differ_in_nothing_show_only_noise(history):
    runner, ids = history
    comparison = written(runner, ids[0], ids[1], "--fail-on", "bad,fixed")["comparisons"][0]
    assert [(t["id"].split("::")[-1], t["class"]) for t in comparison["tests"]] == [("test_noisy", "flaky")]
    assert [c["name"] for c in comparison["environment"]] == [] and comparison["drops"] == []


@pytest.mark.parametrize("classes, code", [("regressed,new_failing", 1), ("bad", 1), ("spurious", 1), ("still_failing_same", 1),
                                           ("worse", 2)])
def test_the_exit_code_follows_fail_on(history, classes, code):
    runner, _ = history
    result = runner("compare", "--fail-on", classes)
    assert result.code == code, result.err
    assert ("--fail-on" in result.out) == (code == 1)


def test_without_such_tests_fail_on_passes(history):
    runner, ids = history
    assert written(runner, ids[2], ids[2], "--fail-on", "bad")["fails"] is False


def test_a_run_before_which_there_is_none_says_so(history):
    runner, ids = history
    result = runner("compare", ids[0])
    assert result.code == 2
    assert f"nothing to compare {ids[0]} with" in result.err and result.err.count("\n") == 1
    assert runner("compare", *ids).code == 2


def test_a_baseline_of_another_database_is_matched_by_id(history, tmp_path):
    runner, ids = history
    there = written(runner)
    shutil.copytree(runner("runs").results, tmp_path / "copy", symlinks=True)
    for words in ([ids[1], ids[2]], []):
        other = written(runner, *words, "--baseline-results", tmp_path / "copy")
        assert other["comparisons"][0]["tests"] == there["comparisons"][0]["tests"]
        assert other["comparisons"][0]["classes"] == there["comparisons"][0]["classes"]


def test_several_runs_stand_side_by_side(history, tmp_path):
    runner, ids = history
    columns = written(runner, "--by", "device", *ids)["comparisons"]
    assert [c["run"]["id"] for c in columns] == ids[1:]
    assert runner("compare", "--by", "device").code == 2, "only one device"
    page = tmp_path / "changes.md"
    assert runner("compare", "--by", "device", *ids, "--format", "md", "--out", page).code == 0
    text = page.read_text()
    assert text.startswith("# `small`, compared\n") and "| `regressed` | 0 | 2 |" in text
    assert "<summary>2 tests: " in text and "test_regresses_1` passed → errored" in text
