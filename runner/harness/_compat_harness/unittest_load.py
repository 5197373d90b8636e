"""Imports a module by its path as `python -m unittest` would by its name, and walks test suites.

Not here: reporting a module that cannot be loaded (unittest_driver.py).
"""

from _compat_harness import own_builtins as __builtins__

import importlib.util
import os
import sys
import unittest


def dotted_name(path):
    return os.path.splitext(os.path.normpath(path))[0].replace(os.sep, ".")


def import_module(dotted, file):
    """The module at `file`, under the name that `python -m unittest` gives it.

    If that name means another file (a folder is not a package, or another library has a package
    `test`), loads the file as `unittest discover` would, with its folder on the search path."""
    if _leads_to(dotted, file):
        __import__(dotted)
        return sys.modules[dotted]
    folder, base = os.path.split(file)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(base)[0]
    if name not in sys.modules and _leads_to(name, file):
        __import__(name)
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(dotted, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[dotted] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(dotted, None)
        raise
    return sys.modules.get(dotted, module)


def _leads_to(dotted, file):
    """Whether importing `dotted` gives `file`. Imports the parent packages."""
    try:
        spec = importlib.util.find_spec(dotted)
    except ModuleNotFoundError as error:
        if error.name and (dotted + ".").startswith(error.name + "."):
            return False
        raise  # a parent package failed to import something else
    except ValueError:  # sys.modules has a module without a spec under that name
        return False
    origin = spec.origin if spec is not None else None
    return origin is not None and os.path.realpath(origin) == os.path.realpath(file)


def tests_in(suite):
    """The tests of a suite in order. As in unittest, whatever is iterable is a suite."""
    try:
        children = iter(suite)
    except TypeError:
        yield suite
        return
    for child in children:
        if child is not None:
            yield from tests_in(child)


def suites_in(suite):
    if isinstance(suite, unittest.BaseTestSuite):
        yield suite
        for child in suite:
            yield from suites_in(child)
