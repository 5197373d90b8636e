import time

import pytest


def test_before():
    pass


@pytest.mark.timeout(0.5)
def test_hangs():
    time.sleep(60)


@pytest.fixture
def hangs():
    time.sleep(60)


@pytest.mark.timeout(0.5)
def test_hangs_in_setup(hangs):
    pass


def test_after():
    pass
