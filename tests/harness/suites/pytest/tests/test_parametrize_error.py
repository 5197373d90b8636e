import pytest


@pytest.mark.parametrize("a", [1])
def test_x(b):
    pass


def test_y():
    pass
