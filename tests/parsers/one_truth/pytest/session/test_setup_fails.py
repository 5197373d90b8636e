import pytest


@pytest.fixture
def broken():
    raise OSError("no set-up")


def test_setup_fails(broken):
    pass


def test_fixture_unknown(nobody_has_this):
    pass


@pytest.mark.xfail(reason="known")
def test_xfailed_in_setup(broken):
    pass
