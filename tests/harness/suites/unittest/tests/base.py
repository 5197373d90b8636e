import functools
import unittest


class Inherited(unittest.TestCase):
    def test_inherited(self):
        self.assertIn(self.value, (1, 2))

    value = 1


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def with_argument(
    _argument,
):
    return wrapped
