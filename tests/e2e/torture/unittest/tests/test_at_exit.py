"""Says at its exit what its tests did not say."""

import atexit
import os
import unittest

atexit.register(os._exit, 9)


class AtExit(unittest.TestCase):
    def test_x(self):
        pass
