import pytest


@pytest.mark.skip(reason="by a mark")
def test_mark():
    pass


@pytest.mark.skipif(True, reason="by a condition")
def test_condition():
    pass


def test_call():
    pytest.skip("by a call")


@pytest.mark.skip(reason="a class")
class TestSkipped:
    def test_one(self):
        pass

    def test_two(self):
        pass
