import os
import unittest


class Exit(unittest.TestCase):
    def test_1_leaves(self):
        os._exit(7)

    def test_2_after(self):
        pass
