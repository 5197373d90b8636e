"""Deaths in a test, in a fixture's set-up and in its tear-down."""

import ctypes
import os

import pytest


def test_before():
    pass


def test_segfault():
    ctypes.string_at(0)


@pytest.fixture
def dies():
    os._exit(3)


def test_fixture_dies(dies):
    pass


@pytest.fixture
def dies_after():
    yield
    os._exit(0)


def test_fixture_dies_after(dies_after):
    pass


def test_after():
    pass
