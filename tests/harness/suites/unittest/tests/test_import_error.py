import unittest

import not_installed_anywhere


class A(unittest.TestCase):
    def test_x(self):
        pass
