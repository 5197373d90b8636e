import unittest


class Outer:
    class Inner(unittest.TestCase):
        def test_passes(self):
            pass

        def test_fails(self):
            self.fail("inside")


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(Outer.Inner)
