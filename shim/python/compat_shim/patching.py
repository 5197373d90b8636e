"""Replaces functions of torch's Python. Functions that this torch lacks are skipped and listed."""

import functools
import sys

replaced = []  # (original, ours) of each function
missing = []  # what this torch lacks: full names, and features that are off without a C++ function


def find(path):
    """The object with this dotted path in the imported modules; None if this torch lacks it."""
    names = path.split(".")
    for end in range(len(names), 0, -1):
        found = sys.modules.get(".".join(names[:end]))
        if found is not None:
            for name in names[end:]:
                found = getattr(found, name, None)
            return found
    return None


def patch(owner, name, wrapper):
    """`owner`.`name` becomes wrapper(original). `owner` is the dotted path of a module or class."""
    holder = find(owner)
    original = getattr(holder, name, None)
    if original is None:
        missing.append(f"{owner}.{name}")
        return
    replacement = wrapper(original)
    if callable(original) and not isinstance(replacement, (property, type)):
        replacement = functools.wraps(original)(replacement)
        replaced.append((original, replacement))
    setattr(holder, name, staticmethod(replacement) if name == "__new__" else replacement)
