"""The command, run in the process of a test."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import watch


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in this process: exit status and output."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(*arguments):
        status = watch.main(arguments)
        return status, capsys.readouterr().out

    return run
