"""docs/examples/traffic, as docs/guide/worked-example.md says: what the scan prints, and that the port is
what --fix and the patch make of it."""

import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "docs" / "examples"
GUIDE = (ROOT / "docs" / "guide" / "worked-example.md").read_text()


def printed(command):
    """The output that the guide shows below a command."""
    return re.search(rf"^\$ {re.escape(command)}\n(.*?)^```", GUIDE, re.M | re.S).group(1)


@pytest.fixture
def traffic(tmp_path):
    return shutil.copytree(EXAMPLES / "traffic", tmp_path / "traffic")


def test_the_scan_prints_what_the_guide_shows(runner, traffic):
    assert runner("scan", ".", cwd=traffic).out == printed("runner scan .")


def test_the_fixes_and_the_patch_make_a_port(runner, traffic):
    fixed = runner("scan", ".", "--fix", "--device", "device", "--write", "--python", sys.executable, cwd=traffic)
    assert (fixed.code, fixed.err.splitlines()[-1]) == (0, "runner: 18 changes in 6 files, written")
    subprocess.run(["git", "apply", str(EXAMPLES / "traffic.patch")], cwd=traffic, check=True)
    check = runner("scan", ".", "--check", cwd=traffic)
    assert (check.code, check.out) == (0, printed("runner scan . --check"))
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=traffic,
                         env={"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert re.search(r"^14 passed, 2 skipped", ran.stdout, re.M), ran.stdout


def test_the_device_is_an_expression(runner, traffic):
    wrong = runner("scan", ".", "--fix", "--device", "a device", "--python", sys.executable, cwd=traffic)
    assert (wrong.code, wrong.err) == (2, "runner: scan --fix: --device a device: not a Python expression\n")
