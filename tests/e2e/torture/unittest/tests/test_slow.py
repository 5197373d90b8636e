"""No test is too slow, all of them together are."""

import time
import unittest


def slow(self):
    time.sleep(2.2)


Slow = type("Slow", (unittest.TestCase,), {"test_%d" % i: slow for i in range(5)})
