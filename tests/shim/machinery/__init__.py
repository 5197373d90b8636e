"""torch's machinery as cases: what gives the same on "cuda" under the shim as on "cpu" without it.

A module here is a group, run in one process; each of its public functions is a case. A case takes
the device's name and returns what is to be compared: tensors, numbers, strings, lists of these.
test_machinery.py runs each group twice and compares exactly, so that a case must not depend on
where a generator stands: harness.data() and set_weights() make values that are the same everywhere.

This file imports no torch: the cases are listed where tests are collected.
"""

import ast
import pathlib

HERE = pathlib.Path(__file__).parent
_SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from machinery import harness
if __name__ == "__main__":
    harness.run({group!r}, {device!r})
"""


def script(group, device):
    """The program that runs the group's cases for a device, and prints their answers."""
    return _SCRIPT.format(folder=str(HERE.parent), group=group, device=device)


def cases(group):
    """The group's cases, in order, and whether each asks for its device at all."""
    tree = ast.parse((HERE / f"{group}.py").read_text())
    return {
        node.name: any(isinstance(n, ast.Name) and n.id == "device" for n in ast.walk(node))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
