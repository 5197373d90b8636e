"""Forks that return: from a test, from setUp, many at once; and one whose parent leaves."""

import os
import unittest


class Forks(unittest.TestCase):
    def test_1_returns_twice(self):
        child = os.fork()
        if child:
            os.waitpid(child, 0)

    def test_2_many(self):
        for _ in range(3):
            os.fork()

    def test_3_child_fails(self):
        child = os.fork()
        if child == 0:
            self.fail("in the child alone")
        os.waitpid(child, 0)

    def test_4_parent_leaves(self):
        if os.fork():
            os._exit(8)

    def test_5_after(self):
        pass


class InSetUp(unittest.TestCase):
    def setUp(self):
        child = os.fork()
        if child:
            os.waitpid(child, 0)

    def test_1(self):
        pass

    def test_2(self):
        self.fail("once")
