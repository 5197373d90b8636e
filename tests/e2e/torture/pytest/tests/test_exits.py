import sys

import pytest


def test_sys_exit():
    sys.exit(0)


def test_pytest_exit():
    pytest.exit("enough", returncode=0)


def test_between():
    pass


def test_interrupt():
    raise KeyboardInterrupt("from a test")


class Own(BaseException):
    pass


def test_own():
    raise Own("no Exception")


def test_last():
    pass
