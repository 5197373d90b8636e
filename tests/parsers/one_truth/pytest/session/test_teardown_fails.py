import pytest


@pytest.fixture
def leaves():
    yield
    raise OSError("no tear-down")


def test_passes(leaves):
    pass


def test_fails(leaves):
    assert False


def test_skips(leaves):
    pytest.skip("in the call")


@pytest.mark.xfail(reason="known")
def test_xfails(leaves):
    assert False


def test_passes_next():
    pass
