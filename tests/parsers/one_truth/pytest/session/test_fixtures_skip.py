import pytest


@pytest.fixture
def absent():
    pytest.skip("in set-up")


@pytest.fixture
def leaves():
    yield
    pytest.skip("in tear-down")


def test_setup_skips(absent):
    pass


def test_teardown_skips(leaves):
    pass
