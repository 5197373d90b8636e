import unittest


class Sub(unittest.TestCase):
    def test_all_pass(self):
        for i in range(2):
            with self.subTest(i=i):
                pass

    def test_one_fails(self):
        for i in range(3):
            with self.subTest("a message", i=i):
                self.assertNotEqual(i, 1)

    def test_one_raises(self):
        for i in range(2):
            with self.subTest(i=i):
                if i:
                    raise ValueError("not an assertion")

    def test_one_skips(self):
        for i in range(2):
            with self.subTest(i=i):
                if i:
                    self.skipTest("in a sub-test")

    def test_fails_beside_them(self):
        with self.subTest(i=0):
            self.fail("in the sub-test")
        self.fail("in the test")

    def test_skips_beside_them(self):
        with self.subTest(i=0):
            self.fail("in the sub-test")
        self.skipTest("in the test")
