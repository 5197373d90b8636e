import pytest


@pytest.mark.xfail(reason="known")
def test_xfailed():
    assert False


@pytest.mark.xfail
def test_xfailed_without_a_reason():
    assert False


def test_xfailed_by_a_call():
    pytest.xfail("known")


@pytest.mark.xfail(run=False, reason="not run")
def test_xfailed_unrun():
    assert False


@pytest.mark.xfail(raises=ValueError)
def test_fails_otherwise():
    raise KeyError("other")


@pytest.mark.xfail(reason="fixed")
def test_xpassed():
    pass


@pytest.mark.xfail(strict=True, reason="fixed")
def test_xpassed_strictly():
    pass
