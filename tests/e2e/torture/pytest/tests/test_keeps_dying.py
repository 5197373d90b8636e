"""More deaths than limits.restarts."""

import os

import pytest


@pytest.mark.parametrize("n", range(8))
def test_dies(n):
    os._exit(n + 10)


def test_last():
    pass
