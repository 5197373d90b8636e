import pytest


@pytest.fixture
def broken():
    raise RuntimeError("fixture")


@pytest.fixture
def leaves_a_mess():
    yield
    raise RuntimeError("tear-down")


def test_pass():
    print("=== 99 failed in 0.01s ===")


def test_fail():
    assert [1, 2] == [1, 3]


@pytest.mark.parametrize("value", [1, "a/b", "::"])
def test_parametrized(value):
    assert value != 1


def test_skip():
    pytest.skip("not today")


@pytest.mark.xfail(reason="known")
def test_xfail():
    assert False


@pytest.mark.xfail(reason="thought so")
def test_xpass():
    pass


@pytest.mark.xfail(strict=True, reason="thought so")
def test_xpass_strict():
    pass


def test_set_up_breaks(broken):
    pass


def test_tear_down_breaks(leaves_a_mess):
    pass


class TestClass:
    def test_method(self):
        pass
