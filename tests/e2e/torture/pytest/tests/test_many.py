"""More tests than anyone reads; one of them dies."""

import os

import pytest


@pytest.mark.parametrize("n", range(2000))
def test_many(n):
    if n == 1234:
        os._exit(3)
    assert n != 1500
