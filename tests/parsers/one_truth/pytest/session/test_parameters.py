import pytest

ODD = ["[", "a]b", "a::b", "two words", " blank ", "a/b.py", "a-b", "a b - c", "ü", "日本", "x\ny", "", "100%", "<tag>&", "'\"", "PASSED", "\\"]


@pytest.mark.parametrize("text", ODD)
def test_passes(text):
    pass


@pytest.mark.parametrize("text", ODD[:8])
def test_fails(text):
    assert not text


@pytest.mark.parametrize("i", [1, 2])
@pytest.mark.parametrize("name", ["a", "b"])
class TestBoth:
    def test_passes(self, i, name):
        pass


@pytest.mark.parametrize("i", [1, pytest.param(2, marks=pytest.mark.skip(reason="this one")), pytest.param(3, marks=pytest.mark.xfail)])
def test_marks(i):
    assert i == 1


@pytest.mark.parametrize("i", [])
def test_no_parameters(i):
    pass
