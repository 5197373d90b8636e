"""A session's fixture dies when everything is over."""

import os

import pytest


@pytest.fixture(scope="session")
def resource():
    yield
    os._exit(7)


def test_1(resource):
    pass


def test_2(resource):
    pass
