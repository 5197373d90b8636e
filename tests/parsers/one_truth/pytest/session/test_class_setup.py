import pytest


class TestSetupFails:
    @classmethod
    def setup_class(cls):
        raise OSError("no class set-up")

    def test_one(self):
        pass

    def test_two(self):
        pass


class TestFixtureFails:
    @pytest.fixture(scope="class", autouse=True)
    def broken(self):
        raise OSError("no class fixture")

    def test_one(self):
        pass

    def test_two(self):
        pass


class TestSetupSkips:
    @classmethod
    def setup_class(cls):
        pytest.skip("in class set-up")

    def test_one(self):
        pass

    def test_two(self):
        pass


class TestMethodSetupFails:
    def setup_method(self):
        raise OSError("no method set-up")

    def test_one(self):
        pass
