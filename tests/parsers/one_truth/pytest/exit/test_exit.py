import pytest


def test_before():
    pass


def test_exits():
    pytest.exit("no more")


def test_after():
    pass
