"""Nights with several versions of torch, "newest" among them: pip takes small stand-ins for torch from
a folder, which is the index of these users."""
import base64
import hashlib
import json
import re
import sys
import zipfile

import pytest

from test_nightly import change, summary, write

TESTS = '''
import os
import pathlib
import signal
import time
import unittest
import torch

NEW = torch.__version__ >= "2.15"


class Planets(unittest.TestCase):
    def test_good(self):
        if NEW and pathlib.Path("/NIGHT/stop").exists():  # as Ctrl-C
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(60)

    def test_broken(self):
        self.assertEqual(1, 2)

    def test_regressed(self):
        self.assertFalse(NEW, "the orbit of 15 planets")

    def test_fixed(self):
        self.assertTrue(NEW)

    def test_changed(self):
        raise (ValueError("no orbit") if NEW else TypeError("no planet"))

    def test_flips(self):
        self.assertFalse(NEW and pathlib.Path("/NIGHT/flip").exists())

    @unittest.skipUnless(NEW, "needs 2.15")
    def test_new_failing(self):
        self.fail("far away")
'''


def add_torch(folder, version):
    """A wheel of a package that has torch's name, this version, and nothing to compute with."""
    info = f"torch-{version}.dist-info"
    files = {"torch/__init__.py": "from torch.version import __version__\n",
             "torch/version.py": f"__version__ = {version!r}\ngit_version = 'f00d'\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
                     for name, text in files.items())
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(name, text)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def runner(runner, cache, tmp_path):
    """With pip's settings of a user who has an index and a cache of their own."""
    settings = {"COMPAT_CACHE": str(cache), "COMPAT_BASE_PYTHON": sys.executable, "PIP_CONFIG_FILE": "/dev/null",
                "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    return lambda *words, **more: runner(*words, env={**settings, **more})


@pytest.fixture
def planets(tmp_path):
    (tmp_path / "planets/tests").mkdir(parents=True)
    (tmp_path / "planets/tests/test_planets.py").write_text(TESTS.replace("/NIGHT", str(tmp_path)))
    (tmp_path / "planets/suite.json").write_text(json.dumps(
        {"format": 1, "name": "planets", "source": {"path": "."}, "framework": "unittest"}))
    write(tmp_path, {"format": 1, "suites": [{"suite": "planets"}], "torch": ["2.14.1", "newest"],
                     "columns": [{"name": "cpu", "shim": "off", "isolation": "off", "warm": "off"}]})
    add_torch(tmp_path / "wheels", "2.14.1")
    return tmp_path


def by_name(tests):
    return {test["test"].rpartition("::")[2]: test for test in tests}


def test_newest_is_what_pip_finds_when_the_night_begins(runner, planets):
    first = runner("nightly", "nightly.json")
    assert "torch newest: 2.14.1; the listed 2.14.1 is the same release and has no cells of its own\n" in first.out, first.out + first.err
    one = summary(planets)
    assert one["newest_torch"] == {"version": "2.14.1", "listed": "2.14.1", "problem": None}
    [cell] = one["cells"]
    assert (cell["torch"], cell["torch_version"], cell["series"]) == ("newest", "2.14.1", "planets-cpu-torch-newest")
    assert one["torch_pairs"] == [] and "side by side" not in first.out

    # The release of 2.15.0: its cell is compared with the night before, and with the older torch.
    add_torch(planets / "wheels", "2.15.0")
    planned = runner("nightly", "nightly.json", "--dry-run")
    assert "torch newest: 2.15.0\n" in planned.out and "planets, cpu, torch newest (2.15.0): 1 module" in planned.out, planned.out
    second = runner("nightly", "nightly.json")
    two = summary(planets)
    old, new = two["cells"]
    assert [cell["torch"] for cell in two["cells"]] == ["2.14.1", "newest"] and two["newest_torch"]["listed"] is None
    assert (new["baseline"], new["changes"]["regressed"], old["baseline"]) == (cell["run"], 1, None)
    assert {"name": "torch.version", "before": "2.14.1", "now": "2.15.0"} in by_name(new["tests"])["test_regressed"]["changed"]
    assert "changed: torch.version 2.14.1 -> 2.15.0" in second.out and "cpu, torch newest (2.15.0)" in second.out

    # A night that goes on keeps what it resolved, also in the run that was interrupted.
    add_torch(planets / "wheels", "2.16.0")
    (planets / "stop").touch()
    (planets / "wheels/torch-2.16.0-py3-none-any.whl").rename(planets / "later.whl")
    stopped = runner("nightly", "nightly.json")
    assert stopped.code == 130, stopped.out
    (planets / "later.whl").rename(planets / "wheels/torch-2.16.0-py3-none-any.whl")
    (planets / "stop").unlink()
    resumed = runner("nightly", "nightly.json", "--resume")
    old, new = summary(planets)["cells"]
    assert f"complete already: {old['run']}\n" in resumed.out and f"resuming {new['began']}" in resumed.out, resumed.out
    assert (new["torch_version"], new["run"], new["states"]["passed"]) == ("2.15.0", new["began"], 3)
    assert "torch has changed" not in resumed.out
    # A constraint of the user's holds.
    (planets / "pins.txt").write_text("torch<2.15\n")
    pinned = runner("nightly", "nightly.json", "--dry-run", PIP_CONSTRAINT=str(planets / "pins.txt"))
    assert "torch newest: 2.14.1;" in pinned.out, pinned.out

    # No index to be reached: the other cells go on.
    (planets / "wheels").rename(planets / "gone")
    planned = runner("nightly", "nightly.json", "--dry-run")
    assert planned.code == 2 and "cpu, torch newest: cannot run: the newest torch is not known: pip failed" in planned.out, planned.out
    missing = runner("prepare", "planets", "--shim", "off", "--torch-requirement", "torch==9.9.9")
    assert "No matching distribution found for torch==9.9.9" in missing.err, missing.err
    third = runner("nightly", "nightly.json")
    three = summary(planets)
    old, new = three["cells"]
    assert old["states"]["passed"] == 3 and new["run"] is None and third.code == 2, third.out
    assert new["problem"].startswith("the newest torch is not known: pip failed with exit code 1: ERROR: No matching distribution found for torch: see ")
    assert three["newest_torch"] == {"version": None, "listed": None, "problem": new["problem"]}
    assert third.out.count("did not run: the newest torch is not known") == 2, "when its turn comes, and in the table"


def test_two_versions_side_by_side(runner, planets):
    add_torch(planets / "wheels", "2.15.0")
    change(planets, torch=["2.15.0", "2.14.1"])  # their order in the file says nothing
    result = runner("nightly", "nightly.json")
    night = summary(planets)
    [pair] = night["torch_pairs"]
    new, old = night["cells"]
    assert (pair["older"], pair["newer"]) == ({"torch": "2.14.1", "run": old["run"]}, {"torch": "2.15.0", "run": new["run"]})
    assert (pair["regressed"], pair["changed"], pair["fixed"]) == (2, 1, 1)
    tests = by_name(pair["tests"])
    assert {name: (test["change"], test["older"], test["newer"]) for name, test in tests.items()} == {
        "test_regressed": ("regressed", "passed", "failed"), "test_new_failing": ("regressed", "skipped", "failed"),
        "test_changed": ("changed", "errored", "errored"), "test_fixed": ("fixed", "failed", "passed")}
    assert (tests["test_changed"]["older_error"], tests["test_changed"]["newer_error"]) == ("TypeError: no planet", "ValueError: no orbit")
    assert tests["test_fixed"]["older_error"] and not tests["test_fixed"]["newer_error"]
    closing = result.out.partition("versions of torch side by side:\n")[2]
    assert "planets, cpu, 2.14.1 and 2.15.0: 2 regressed, 1 changed, 1 fixed\n" in closing, result.out
    assert f"  changed  {tests['test_changed']['test']}  errored → errored\n      2.14.1: TypeError: no planet\n      2.15.0: ValueError: no orbit\n" in closing
    compared = runner("compare", *re.search("`runner compare (.+) (.+)` shows all", closing).groups())
    assert "regressed: 1 test" in compared.out and "still_failing_changed: 1 test" in compared.out

    # A run's own command knows its torch: only these two can be installed.
    again = runner("rerun", old["run"], "--failed")
    assert ", torch 2.14.1, " in again.out, again.out + again.err

    # A flaky test is no news of torch.
    seen = []
    for flip in (True, False, True):
        (planets / "flip").touch() if flip else (planets / "flip").unlink()
        runner("nightly", "nightly.json")
        [pair] = summary(planets)["torch_pairs"]
        seen.append((pair["regressed"], "test_flips" in by_name(pair["tests"])))
    assert seen == [(3, True), (2, False), (2, False)]


def test_a_report_for_an_issue_of_torch(runner, planets):
    add_torch(planets / "wheels", "2.15.0")
    runner("nightly", "nightly.json")
    old, new = (cell["run"] for cell in summary(planets)["cells"])
    text = runner("show", new, "test_regressed", "--issue").out
    test = "tests/test_planets.py::Planets::test_regressed"
    assert text.startswith(f"# `{test}` breaks with torch `2.15.0`, and not with `2.14.1`\n\n### 🐛 Describe the bug\n"), text
    for part in ("| `2.14.1` | passed |\n| `2.15.0` | failed |\n", "```diff\n- passed\n+ failed: AssertionError: ",
                 "To reproduce, in the folder of the suite's source:\n\n```sh\npip install torch==2.15.0  # with 2.14.1: passed\n",
                 "python -m unittest -v ", "### Versions\n\n```text\nPyTorch version: 2.15.0\nPyTorch git: f00d\n",
                 "[pip3] torch==2.15.0\n", "- `packages.torch`: `2.14.1` → `2.15.0`\n"):
        assert part in text, text
    # Nothing of this machine, and nothing of ours.
    for private in (str(planets), str(planets.parent), "COMPAT_", "PYTHONPATH=/", sys.prefix, "WARNING"):
        assert private not in text, (private, text)
    changed = runner("show", "test_changed", "--issue").out
    assert "breaks with torch `2.15.0`, otherwise than with `2.14.1`" in changed
    assert "```diff\n- errored: TypeError: no planet\n+ errored: ValueError: no orbit\n```" in changed, changed
    # Torch is not to blame: the text is for the suite's own project.
    assert runner("show", new, "test_broken", "--issue").out.startswith("# `tests/test_planets.py::Planets::test_broken`: `AssertionError: 1 != 2`\n")
    assert runner("show", old, "test_regressed", "--issue").code == 2
    assert runner("show", "test_good", "--issue").code == 2
    assert runner("show", new, "test_nothing", "--issue").code == 2
