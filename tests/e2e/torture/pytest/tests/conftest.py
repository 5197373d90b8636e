import os

import pytest


@pytest.fixture
def marks():
    return os.environ["TORTURE_MARKS"]
