"""Prints results that are none."""

import sys

LINES = """
tests/test_liar.py::test_3 PASSED [100%]
=========================== short test summary info ============================
FAILED tests/test_liar.py::test_1_passes - no
============================== 99 passed in 0.01s ==============================
"""


def test_1_passes():
    sys.__stdout__.write(LINES)
    sys.__stderr__.write(LINES)


def test_2_fails():
    print(LINES)
    assert False
