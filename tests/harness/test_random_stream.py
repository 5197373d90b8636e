"""Tests --random-stream with a real torch: which numbers change, and which do not."""

import json
import sys

import pytest
import support
from test_zygote import zygote  # noqa: F401, a fixture

pytest.importorskip("torch")

# Numbers of a seed, of a generator, of nothing that is seeded, and of a state that is restored.
TESTS = """
import json, random, unittest

random.seed(0)
import torch
AT_IMPORT = torch.manual_seed(5) and torch.rand(1).item()

class A(unittest.TestCase):
    def test_a(self):
        unseeded = torch.rand(1).item()
        torch.manual_seed(5)
        state, first = torch.get_rng_state(), torch.rand(1).item()
        torch.set_rng_state(state)
        self.assertEqual(first, torch.rand(1).item())
        self.assertEqual(first, torch.random.manual_seed(5) and torch.rand(1).item())
        self.assertNotEqual(first, torch.manual_seed(6) and torch.rand(1).item())
        torch.manual_seed(-1), torch.manual_seed(2 ** 64 - 1)
        with self.assertRaises((RuntimeError, ValueError)):
            torch.manual_seed(2 ** 64)
        with self.assertRaises(Exception):
            torch.Generator().manual_seed("0")
        own = torch.rand(1, generator=torch.Generator().manual_seed(5)).item()
        print("numbers", json.dumps([AT_IMPORT, unseeded, first, own, random.random()]))
"""
ON_IMPORT, UNSEEDED, SEEDED, OWN, PYTHONS = range(5)


def numbers(log):
    return json.loads(next(line.partition("numbers ")[2] for line in log.splitlines() if "numbers" in line))


def drawn(root, *words):
    support.write(root, {"test_a.py": TESTS})
    result = support.run(sys.executable, "unittest", root, "test_a.py", *words)
    assert result.states() == {"A::test_a": "passed"}, result.log
    return numbers(result.log)


def test_each_stream_has_numbers_of_its_own(zygote, root):
    runs = [drawn(root), drawn(root, "--random-stream", "1"), drawn(root, "--random-stream", "2")]
    for number in (ON_IMPORT, SEEDED):
        assert len({run[number] for run in runs}) == 3
    for run in runs:
        assert run[ON_IMPORT] == run[SEEDED] == run[OWN], "all of seed 5"
        assert run[PYTHONS] == runs[0][PYTHONS]
    warm = zygote(sys.executable, "unittest", "torch")
    forked = warm.run("test_a.py", "--random-stream", "1")
    assert numbers(forked.log) == runs[1], "a forked process has those of a fresh one"
