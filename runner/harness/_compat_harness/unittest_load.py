"""Finds a module by its path as `python -m unittest` would by its name, and walks suites of tests.

Not here: what a module that cannot be loaded means (unittest_driver.py).
"""

from _compat_harness import own_builtins as __builtins__  # as said there

import importlib.util
import os
import sys
import unittest


def dotted_name(path):
    return os.path.splitext(os.path.normpath(path))[0].replace(os.sep, ".")


def import_module(dotted, file):
    """The module at `file`, under the name that `python -m unittest` gives it. Where that name
    leads elsewhere (no package on the way, another library's `test` package) it is loaded from its
    file as `unittest discover` would, its folder on the search path."""
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
    """Whether importing `dotted` gives `file`. Imports the packages on the way, as importing
    does."""
    try:
        spec = importlib.util.find_spec(dotted)
    except ModuleNotFoundError as error:
        if error.name and (dotted + ".").startswith(error.name + "."):
            return False
        raise  # a package on the way lacks something of its own
    except ValueError:  # a module without a spec is there under that name
        return False
    origin = spec.origin if spec is not None else None
    return origin is not None and os.path.realpath(origin) == os.path.realpath(file)


def tests_in(suite):
    """The tests of a suite in order, whatever they are: unittest tells suites by their being
    iterable."""
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
