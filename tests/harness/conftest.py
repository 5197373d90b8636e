"""Fixtures of the harness tests. The suites in suites/ run in child processes only."""

import os
import shlex
import sys

import pytest

collect_ignore = ["suites"]

# Interpreters to run the unittest and the pytest suites under, separated as in a shell.
PYTHONS = shlex.split(os.environ.get("COMPAT_PYTHONS", "")) or [sys.executable]
PYTEST_PYTHONS = shlex.split(os.environ.get("COMPAT_PYTEST_PYTHONS", "")) or [sys.executable]


def pytest_generate_tests(metafunc):
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", PYTHONS)
    if "pytest_python" in metafunc.fixturenames:
        metafunc.parametrize("pytest_python", PYTEST_PYTHONS)
    if "framework" in metafunc.fixturenames:
        under = [("unittest", p) for p in PYTHONS] + [("pytest", p) for p in PYTEST_PYTHONS]
        metafunc.parametrize("framework, interpreter", under)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder
