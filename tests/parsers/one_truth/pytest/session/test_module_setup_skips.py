import pytest


def setup_module():
    pytest.skip("in module set-up")


def test_one():
    pass


def test_two():
    pass
