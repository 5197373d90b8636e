import unittest


class Documented(unittest.TestCase):
    def test_passes(self):
        """A first line of a docstring."""

    def test_fails(self):
        """A line that ends in ... ok"""
        self.fail("documented")
