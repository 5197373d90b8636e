"""Tests --default-dtype with a real torch: what a suite sets does not count, and what it names does."""
import sys

import pytest
import support

pytest.importorskip("torch")

TESTS = """
import unittest
import torch

torch.set_default_dtype(torch.float64)

class A(unittest.TestCase):
    def test_default(self):
        torch.set_default_dtype(torch.float64)
        self.assertEqual(torch.ones(1).dtype, torch.float32)
        self.assertEqual(torch.get_default_dtype(), torch.float32)

    def test_tensor_type(self):
        for name in ("torch.DoubleTensor", torch.DoubleTensor):
            torch.set_default_tensor_type(name)
            self.assertEqual(torch.ones(1).dtype, torch.float32)

    def test_named(self):
        self.assertEqual(torch.ones(1, dtype=torch.float64).dtype, torch.float64)
"""


@pytest.mark.parametrize("words, default", [([], "failed"), (["--default-dtype", "float32"], "passed")])
def test_the_suite_cannot_change_it(root, words, default):
    support.write(root, {"test_a.py": TESTS})
    result = support.run(sys.executable, "unittest", root, "test_a.py", *words)
    assert result.states() == {"A::test_default": default, "A::test_tensor_type": default, "A::test_named": "passed"}, result.log
