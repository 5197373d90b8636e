import pytest


def test_pass():
    pass


def test_fail():
    assert 1 == 2


@pytest.fixture
def broken():
    raise ValueError("no fixture")


def test_set_up(broken):
    pass


@pytest.fixture
def broken_after():
    yield
    raise ValueError("no tear-down")


def test_tear_down(broken_after):
    pass


@pytest.mark.skip(reason="for a reason")
def test_skip():
    pass


@pytest.mark.xfail(reason="known")
def test_xfail():
    assert False


@pytest.mark.xfail(strict=True, reason="thought so")
def test_strict():
    pass


@pytest.mark.parametrize("text", ["a\nb", "\0", "\ud800", "x" * 5000, "::", "[", "a/b", "", " "])
def test_names(text):
    pass


class TestClass:
    @classmethod
    def setup_class(cls):
        raise OSError("no class")

    def test_one(self):
        pass

    def test_two(self):
        pass


async def test_async():
    pass
