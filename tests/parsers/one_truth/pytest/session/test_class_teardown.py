import pytest


class TestTeardownFails:
    @classmethod
    def teardown_class(cls):
        raise OSError("no class tear-down")

    def test_one(self):
        pass

    def test_two(self):
        pass


class TestFailsAndTeardownFails:
    @classmethod
    def teardown_class(cls):
        raise OSError("no class tear-down")

    def test_one(self):
        assert False


class TestTeardownSkips:
    @classmethod
    def teardown_class(cls):
        pytest.skip("in class tear-down")

    def test_one(self):
        pass
