"""Tests where an installed runner works: after a move, through a link, in a Python environment."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import make_runner

PROGRAM = "import sys, torch; print(sys.prefix, torch.zeros(1, device='cuda').device)"


@pytest.fixture(scope="module")
def environment(program, tmp_path_factory):
    """The folder of a virtual environment with torch and the runner, as after `pip install`."""
    import torch

    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    installed = pathlib.Path(torch.__file__).parents[1]
    (packages / "torch").symlink_to(installed / "torch")
    (packages / "linked.pth").write_text(f"{installed}\n")
    shutil.copy(program, folder / "bin/runner")
    (folder / "share").mkdir()
    (folder / "share/runner").symlink_to(program.parents[1] / "share/runner")
    return folder


def test_a_symbolic_link_finds_the_data_files(program, tmp_path):
    link = tmp_path / "bin" / "runner"
    link.parent.mkdir()
    link.symlink_to(program)
    listed = make_runner(link, tmp_path)("list", "conformance")
    assert listed.code == 0 and "test_policy" in listed.out, listed.err


@pytest.mark.parametrize("active", ["", "another"])
def test_a_program_runs_in_the_environment_of_the_runner_unless_another_is_active(environment, tmp_path, active):
    variables = {}
    if active:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / active], check=True)
        variables = {"VIRTUAL_ENV": str(tmp_path / active), "PATH": f"{tmp_path / active}/bin:{os.environ['PATH']}"}
    ran = make_runner(environment / "bin/runner", tmp_path)("exec", "--", "python", "-c", PROGRAM, env=variables)
    if active:
        assert ran.code == 1 and "has no torch" in ran.err
    else:
        assert (ran.code, ran.out) == (0, f"{environment} cpu\n"), ran.err
        assert re.search(r"1 request redirected at 1 place", ran.err)
