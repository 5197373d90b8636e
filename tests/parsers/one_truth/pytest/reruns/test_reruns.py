"""Tests that pass when they are repeated. How often each ran stands in files, since a process may run one test once."""
import os
import pathlib

import pytest


def times(name):
    count = pathlib.Path(os.environ["COUNTS"], name)
    count.touch()
    count.write_text(count.read_text() + "+")
    return len(count.read_text())


def test_passes_at_once():
    pass


def test_passes_second():
    assert times("second") >= 2


def test_passes_third():
    assert times("third") >= 3


def test_never_passes():
    assert times("never") > 9


@pytest.fixture
def set_up():
    assert times("set_up") >= 2, "no set-up"


def test_set_up_passes_second(set_up):
    pass


@pytest.fixture
def torn_down():
    yield
    assert times("torn_down") >= 2, "no tear-down"


def test_tear_down_passes_second(torn_down):
    pass


@pytest.fixture
def never_torn_down():
    yield
    raise OSError("no tear-down")


def test_tear_down_never_passes(never_torn_down):
    pass


def test_fails_then_skips():
    assert times("skips") >= 2
    pytest.skip("the second time")


@pytest.mark.xfail(reason="known")
def test_xfails():
    assert False


@pytest.mark.parametrize("i", [1, 2])
def test_one_parameter_passes_second(i):
    assert i == 1 or times("parameter") >= 2


class TestClass:
    def test_passes_second(self):
        assert times("in a class") >= 2
