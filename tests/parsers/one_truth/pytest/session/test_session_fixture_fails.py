import pytest


@pytest.fixture(scope="session")
def broken():
    raise OSError("no session fixture")


def test_one(broken):
    pass


def test_two(broken):
    pass


def test_three():
    pass
