import unittest


class Base(unittest.TestCase):
    def test_inherited(self):
        pass


class States(Base):
    def test_pass(self):
        print("Ran 99 tests in 0.001s")
        print("test_fake (tests.test_states.States.test_fake) ... FAIL")

    def test_fail(self):
        self.assertEqual(1, 2)

    def test_error(self):
        raise ValueError("no | such `value` <b>")

    @unittest.skip("not today")
    def test_skip(self):
        pass

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.fail("known")

    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    def test_failure_and_broken_teardown(self):
        self.addCleanup(lambda: 1 / 0)
        self.fail("first")


del Base
