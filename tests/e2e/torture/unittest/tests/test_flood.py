"""Prints far more than limits.log_bytes."""

import sys
import unittest


class Flood(unittest.TestCase):
    def test_1_floods(self):
        print("the first words")
        for i in range(40_000):
            print("flood", i, "x" * 80)
        sys.stdout.flush()

    def test_2_fails(self):
        self.fail("the last words")
