"""Tests what the harness does around torch's import: the collector, and what a suite sees of it."""

import re
import sys

import pytest
import support

# A cycle that its test drops is freed, whether the test imports torch or its module has.
SUITE = """
import gc, importlib.util, unittest, weakref
AT_TOP

class Cycle:
    def __init__(self):
        self.me = self

class A(unittest.TestCase):
    def test_cycle(self):
        there = importlib.util.find_spec("torch")
        cycle = Cycle()
        seen = weakref.ref(cycle)
        import torch
        self.assertEqual((there.name, there.loader.name), ("torch", "torch"))
        self.assertIs(type(torch.__loader__), type(torch.__spec__.loader))
        self.assertIs(type(torch.__loader__), type(unittest.__loader__))
        del cycle
        gc.collect()
        self.assertIsNone(seen())
        print("frozen", gc.get_freeze_count(), gc.isenabled())
"""
PRETENDED = {"torch.py": "import gc\nassert not gc.isenabled()\nlist = [[] for n in range(1000)]\n"}


def frozen(root, files, at_top):
    support.write(root, {**files, "test_a.py": SUITE.replace("AT_TOP", at_top)})
    result = support.run(sys.executable, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_cycle": "passed"}, result.log
    count, enabled = re.search(r"frozen (\d+) (\w+)", result.log).groups()
    return int(count), enabled


@pytest.mark.parametrize(
    "files, least", [(PRETENDED, 1000), pytest.param({}, 100_000, id="torch")], ids=["pretended", None]
)
def test_what_a_module_has_imported_is_left_to_the_collector_no_more(root, files, least):
    if not files:
        pytest.importorskip("torch")
    count, enabled = frozen(root, files, "import torch")
    assert count > least and enabled == "True"
    assert frozen(root, files, "") == (0, "True"), "a test imports it: its objects stay collectable"


def test_a_suite_that_switched_the_collector_off_finds_it_off(root):
    assert frozen(root, PRETENDED, "gc.disable(); import torch") == (0, "False")


def test_an_import_that_fails_switches_the_collector_on_again(root):
    files = {"torch.py": "import there_is_no_such_module\n"}
    top = "try: import torch\nexcept ImportError: ENABLED = gc.isenabled()\n"
    support.write(root, {**files, "test_a.py": SUITE.partition("AT_TOP")[0] + top + "class A(unittest.TestCase):\n    def test_it(self): self.assertTrue(ENABLED)\n"})
    result = support.run(sys.executable, "unittest", root, "test_a.py")
    assert result.states() == {"A::test_it": "passed"}, result.log
