import signal
import time

import pytest


def test_before():
    pass


@pytest.fixture
def slow():
    time.sleep(60)


def test_in_a_fixture(slow):
    pass


def test_deaf():
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def test_after():
    pass
