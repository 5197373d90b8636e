"""Tests tests/versions.sh without a network and without building a shim: arguments, what a run leaves, the newest torch."""

import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

import result_files
import versions
from test_result_files import ABOUT, commit, tree  # noqa: F401

ROOT = result_files.ROOT
TESTS = """
import pytest, unittest
def test_passes(): pass
def test_fails(): assert 0
@pytest.mark.skip(reason="no GPU in /work/env/x")
def test_skips(): pass
@pytest.mark.xfail(reason="known")
def test_known(): assert 0
@pytest.fixture
def ending(): yield; raise OSError
def test_ends_badly(ending): pass
@pytest.mark.parametrize("n", [1, 2])
def test_twice(n): pytest.skip("no GPU in /work/env/x")
"""


@pytest.mark.parametrize("words, status, error", [
    ([], 2, "versions, --newest, or --check alone"),
    (["--check", "2.15.0"], 2, "versions, --newest, or --check alone"),
    (["--smoke"], 2, "versions, --newest, or --check alone"),
    (["--newest", "2.15.0"], 2, "VERSION=ENVIRONMENT is needed"),
    (["=/tmp"], 2, "VERSION=ENVIRONMENT is needed"),
    (["--wrong"], 2, "unrecognized arguments"),
    ([f"9.9.9={sys.executable}"], 2, "not 9.9.9"),
    (["2.15.0=/usr/bin/false"], 2, "has no torch: no reason given"),
    (["2.15.0=/no/such/place"], 2, "/no/such/place"),
])
def test_arguments(words, status, error):
    if "not 9" in error:
        pytest.importorskip("torch")
    done = subprocess.run([ROOT / "tests/versions.sh", *words], capture_output=True, text=True)
    assert done.returncode == status and error in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.fixture
def version(tree, monkeypatch, tmp_path_factory):  # noqa: F811
    monkeypatch.setattr(versions, "ROOT", tree)
    monkeypatch.setattr(versions, "PLACE", tmp_path_factory.mktemp("place"))
    made = versions.Version("2.15.0")
    made.folder.mkdir()
    made.about = ABOUT
    made.python = pathlib.Path(sys.executable)
    return made


GOOD = {"passed": 2, "failed": 0, "skipped": 0, "skips": {}, "failures": []}


def stored(root):
    return {part: figure["passed"] for result in result_files.read(root) for part, figure in result["parts"].items()}


def test_a_part_that_ends_early_leaves_the_last_figure(version, tree):  # noqa: F811
    def cut(part):
        raise versions.Stop("pytest ended with -9")

    assert version.run("smoke", lambda part: GOOD) and stored(tree) == {"smoke": 2} and not version.bad
    assert "| 2 passed (20" in (tree / result_files.PAGE).read_text()
    assert not version.run("smoke", cut) and not version.run("tests", cut)
    assert stored(tree) == {"smoke": 2} and version.bad
    assert version.rows[-1][-1] == "no result: pytest ended with -9"


def test_code_that_changes_during_a_run_leaves_no_figure(version, tree):  # noqa: F811
    def changing(part):
        (tree / "shim/code.txt").write_text("2\n")
        commit(tree)
        return GOOD

    assert version.run("smoke", changing) and stored(tree) == {}
    assert version.rows[-1][-1] == "not stored: the code changed meanwhile"


def test_uncommitted_code_is_run_and_not_stored(version, tree):  # noqa: F811
    (tree / "shim/code.txt").write_text("2\n")
    assert version.run("smoke", lambda part: GOOD) and stored(tree) == {} and not version.bad
    assert version.rows[-1][-1] == "not stored: uncommitted changes: shim/code.txt"


def test_pytests_results_are_counted(version, tree, monkeypatch):  # noqa: F811
    (tree / "t").mkdir()
    (tree / "t/test_a.py").write_text(TESTS)
    (tree / "t/test_b.py").write_text("import nothing_such\n")
    monkeypatch.setitem(versions.PYTEST, "smoke", ("t", ["."]))
    monkeypatch.setattr(version, "library", "none")
    found = version.pytest("smoke")
    assert found == {"passed": 1, "failed": 3, "skipped": 4, "skips": {"expected failure: known": 1, "no GPU in /work/env/x": 3},
                     "failures": ["test_a::test_ends_badly", "test_a::test_fails", "test_b"]}
    (tree / "t/test_a.py").write_text("import os\ndef test_dies(): os._exit(7)\n")
    with pytest.raises(versions.Stop, match="pytest ended with 7"):
        version.pytest("smoke")


def test_paths_of_this_machine_are_not_stored(version, tree):  # noqa: F811
    python = version.python.parents[1]
    assert version.clean(f"  {python}/lib and {version.folder}/x and {tree}/shim\nmore") == "ENVIRONMENT/lib and BUILD/x and ./shim"
    assert version.clean("") == "no reason given"


SUITE = {"format": 1, "name": "small", "source": {"path": "."}, "layout": {"tests": "."}, "framework": "unittest"}
SUITE_TESTS = """
import unittest
class A(unittest.TestCase):
    def test_passes(self): pass
    def test_known(self): self.fail()
    def test_new(self): self.fail()
    def test_repaired(self): pass
    @unittest.skip("no GPU")
    def test_skips(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
"""


def test_a_suites_results_are_compared_with_its_expectations(version, tree, monkeypatch):  # noqa: F811
    if not os.access(versions.RUNNER, os.X_OK):
        pytest.skip(f"{versions.RUNNER} is missing")
    small = tree / "suites/small"
    small.mkdir()
    (small / "suite.json").write_text(json.dumps(SUITE))
    (small / "test_a.py").write_text(SUITE_TESTS)
    expectations = tree / "tests/releases/expectations/small.json"
    entries = [{"test": f"test_a.py::A::test_{name}", "expect": "failed"} for name in ("known", "repaired")]
    expectations.write_text(json.dumps(entries))
    monkeypatch.setitem(versions.WAYS, "quick", ("--shim", "off"))
    found = version.suite(sys.executable, "small, quick")
    assert found == {"passed": 1, "failed": 2, "skipped": 2, "expected": 1, "skips": {"expected failure: no reason given": 1, "no GPU": 1},
                     "failures": ["test_a.py::A::test_new (failed)", "test_a.py::A::test_repaired (passed)"]}


@pytest.mark.parametrize("suite", result_files.SUITES)
def test_expectations_are_as_the_runner_reads_them(suite):
    jsonschema = pytest.importorskip("jsonschema")
    text = (ROOT / f"tests/releases/expectations/{suite}.json").read_text()
    content = json.loads(re.sub(r"^ *//.*", "", text, flags=re.M))
    jsonschema.validate(content, json.loads((ROOT / "suites/expectations.schema.json").read_text()))


def wheel(folder, version, tag):
    with zipfile.ZipFile(folder / f"torch-{version}-{tag}.whl", "w") as file:
        for name, text in (("METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"), ("WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")):
            file.writestr(f"torch-{version}.dist-info/{name}", text)


def test_the_newest_torch_is_what_pip_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for number in ("2.9.1", "2.15.0", "2.10.0"):
        wheel(tmp_path, number, "py3-none-any")
    assert versions.newest_torch(sys.executable) == "2.15.0"
    later = f"cp3{sys.version_info[1] + 2}"
    wheel(tmp_path, "2.16.0", f"{later}-none-any")
    with pytest.raises(versions.Stop, match=rf"torch 2.16.0 needs Python 3.{sys.version_info[1] + 2} or another one"):
        versions.newest_torch(sys.executable)


@pytest.mark.parametrize("status, word, bad", [(0, "nothing to decide", False), (1, "something to decide, below", True), (2, "no result: ended with 2", True)])
def test_changes_of_torch_since_the_newest_committed_result(tree, monkeypatch, status, word, bad):  # noqa: F811
    for torch in ("2.9.1+cu128", "2.14.1+cu130"):
        result_files.store(tree, {**ABOUT, "torch": torch}, "build", {"passed": 1})
    commit(tree)
    result_files.store(tree, ABOUT, "build", {"passed": 1})  # last week's, which nobody has judged
    script = tree / "watch.sh"
    script.write_text(f"#!/bin/sh\necho changed: $1 $2\nexit {status}\n")
    script.chmod(0o755)
    monkeypatch.setattr(versions, "WATCH", script)
    row, lines, decides = versions.watch(versions.known_torch(tree), "2.15.0+cpu")
    assert row[:2] == ["2.15.0", "watch, since 2.14.1"] and row[-1] == f"{word}: changed: 2.14.1 2.15.0"
    assert lines == "\nchanged: 2.14.1 2.15.0\n" * bad and decides == bad
    for newest in ("2.15.0+cpu", "2.14.1"):  # a mirror may be behind
        assert versions.watch("2.15.0", newest)[1:] == ("", False)


def test_a_program_that_is_missing_ends_its_part_alone(version, tree, monkeypatch):  # noqa: F811
    monkeypatch.setattr(version, "python", pathlib.Path("/no/such/python"))
    monkeypatch.setattr(version, "library", "none")
    assert not version.run("smoke", version.pytest) and version.bad and stored(tree) == {}
    assert "no result: " in version.rows[-1][-1] and "/no/such/python" in version.rows[-1][-1]
