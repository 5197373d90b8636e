"""Every way in which one test can end, with fixtures of every scope."""

import functools
import unittest

import pytest


@pytest.fixture
def broken():
    raise ValueError("set-up")


@pytest.fixture
def broken_after():
    yield
    raise ValueError("tear-down")


@pytest.fixture(scope="class")
def broken_class():
    raise ValueError("class")


@pytest.fixture(scope="module")
def broken_module():
    raise ValueError("module")


@pytest.fixture(scope="session")
def broken_session():
    raise ValueError("session")


@pytest.fixture
def skipping():
    pytest.skip("by fixture")


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize("a, b", [(1, "x y"), (2, "é\n"), pytest.param(3, "", id="own::id")])
def test_parameters(a, b):
    assert a != 2


@pytest.mark.parametrize("value", [1, 2], ids=["same", "same"])
def test_same_ids(value):
    pass


@wrapped
@wrapped
def test_decorated():
    pass


def test_set_up(broken):
    pass


def test_tear_down(broken_after):
    pass


def test_fails_and_tear_down(broken_after):
    assert 0, "first"


def test_skips_and_tear_down(broken_after):
    pytest.skip("first")


def test_module_fixture(broken_module):
    pass


def test_session_fixture(broken_session):
    pass


class TestClass:
    def test_class_fixture(self, broken_class):
        pass

    def test_class_fixture_again(self, broken_class):
        pass

    class TestInner:
        def test_x(self):
            raise SystemExit(4)


@pytest.mark.skip(reason="by mark")
def test_skipped():
    pass


def test_skips_itself():
    pytest.skip("by itself")


def test_skipped_by_fixture(skipping):
    pass


@pytest.mark.xfail(reason="known")
def test_xfails():
    assert 0


@pytest.mark.xfail(reason="known")
def test_xpasses():
    pass


@pytest.mark.xfail(strict=True, reason="strictly")
def test_xpasses_strictly():
    pass


@pytest.mark.xfail(run=False, reason="not run")
def test_xfail_not_run():
    pass


def test_xfails_itself():
    pytest.xfail("by itself")


@pytest.mark.xfail(raises=KeyError, reason="another")
def test_xfail_of_another_type():
    raise ValueError("not that")


def test_unknown_fixture(no_such_fixture):
    pass


def test_fail_call():
    pytest.fail("by call")


class Case(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_skips(self):
        self.skipTest("by itself")

    @unittest.expectedFailure
    def test_xfails(self):
        self.fail("known")

    @unittest.expectedFailure
    def test_xpasses(self):
        pass


class CaseSetUpBreaks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("class")

    def test_a(self):
        pass

    def test_b(self):
        pass


@pytest.fixture(scope="module")
def broken_at_the_end():
    yield
    raise ValueError("end of module")


def test_last(broken_at_the_end):
    pass
