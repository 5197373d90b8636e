import time

import pytest


def test_before():
    pass


@pytest.mark.timeout(0.5, method="thread")
def test_hangs():
    time.sleep(60)


def test_after():
    pass
