import pytest


def test_a():
    pass


def test_b():
    pytest.exit("enough")


def test_c():
    pass
