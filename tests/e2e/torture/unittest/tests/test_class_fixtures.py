"""Class fixtures that die: their class is lost, the others are not."""

import os
import unittest


class ADiesBefore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os._exit(3)

    def test_1(self):
        pass

    def test_2(self):
        pass


class BBetween(unittest.TestCase):
    def test_1(self):
        pass


class CDiesAfter(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        os._exit(4)

    def test_1(self):
        pass

    def test_2(self):
        self.fail("as always")


class DRaises(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no device")

    def test_1(self):
        pass


class ERaisesAfter(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise OSError("still open")

    def test_1(self):
        pass


class FSkips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("not here")

    def test_1(self):
        pass


class GLast(unittest.TestCase):
    def test_1(self):
        pass
