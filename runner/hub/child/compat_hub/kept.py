"""Which things outlive the test that loaded them, so that later tests use them without asking the hub again.

Nobody sees a test use an object. A test that leaves one behind has changed something that outlives it:
a name of a module or a class, a table in one, or the cache of functools.lru_cache. A look at these when
the test loads something, and another at its end, tell. Looked at are the modules and classes of the test's
own code that are on the stack; packages keep caches that say nothing. Not here: fixtures and set-ups of
classes, whose scope is known (notes.py).
"""

import itertools
import os
import sys
import threading
import types

# Values that no model and no data set can be.
_PLAIN = (
    str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.FunctionType,
    types.BuiltinFunctionType, classmethod, staticmethod, property, type(Ellipsis),
)  # fmt: skip
_TABLES = (dict, list, set, tuple)
_INSTALLED = ("/site-packages/", "/dist-packages/")

_watched = {}  # owner's id → (owner, area, its state before, the things that were loaded since)


def watch(thing, root):
    """Call when the running test loads `thing`, before it has it. `root`: the suite's folder. True: a cache on
    the stack keeps it."""
    frames = [frame for frame in _stack() if _is_in(frame.f_code.co_filename, root + os.sep)]
    if any(_is_cached(frame) for frame in frames):
        return True
    area = _area(frames, root)
    for owner in _owners(frames, area):
        if id(owner) not in _watched:
            _watched[id(owner)] = owner, area, _state(owner, area), set()
        _watched[id(owner)][3].add(thing)
    return False


def settle():
    """At the test's end: the things that outlive it, each with the names of classes whose tests can reach
    it; None: all tests."""
    found = []
    watched = list(_watched.values())  # a thread may still load
    _watched.clear()
    for owner, area, before, things in watched:
        now = _state(owner, area)
        if any(before.get(name) != state for name, state in now.items()):
            names = {one.__name__ for one in _below(owner)} if isinstance(owner, type) else None
            found += [(thing, names) for thing in things]
    return found


def _stack():
    """From the innermost frame outwards: of the test, also where a thread of it loads."""
    main = threading.main_thread().ident
    frame = sys._getframe(2) if threading.get_ident() == main else sys._current_frames().get(main)
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _is_cached(frame):
    """Whether functools.lru_cache runs it, for a module's function or a method."""
    name = frame.f_code.co_name
    places = [frame.f_globals] + [vars(one) for one in _classes(frame)]
    return any(
        type(place.get(name)).__name__ == "_lru_cache_wrapper"
        and getattr(place[name].__wrapped__, "__code__", None) is frame.f_code
        for place in places
    )


def _classes(frame):
    """Those whose method it may be. Not by f_locals: before Python 3.13 that changes what locals() has given,
    and keeps objects alive."""
    code = frame.f_code
    if not code.co_argcount or code.co_varnames[0] not in ("self", "cls"):
        return ()
    owner = frame.f_globals
    for name in getattr(code, "co_qualname", "").split(".")[:-1]:  # Python 3.11
        owner = (owner if type(owner) is dict else vars(owner)).get(name)
        if not issubclass(type(owner), type):
            return ()
    return () if type(owner) is dict else tuple(dict.fromkeys((*owner.__mro__, *_below(owner))))


def _is_in(file, area):
    return file.startswith(area) and not any(words in file for words in _INSTALLED)


def _area(frames, root):
    """The folder of the test's own code: the outermost of the suite's frames is the test, and
    tests/a/test_b.py has its helpers below tests."""
    folder, found, _ = frames[-1].f_code.co_filename[len(root) + 1 :].partition(os.sep) if frames else ("", "", "")
    return os.path.join(root, folder, "") if found else os.path.join(root, "")


def _owners(frames, area):
    for frame in frames:
        if _is_in(frame.f_code.co_filename, area):
            yield frame.f_globals
            for one in _classes(frame):
                if _is_own(one, area):
                    yield one


def _is_own(a_class, area):
    module = sys.modules.get(a_class.__module__)
    return _is_in(getattr(module, "__file__", None) or "", area)


def _state(owner, area, depth=1):
    """The things that names lead to. An object of a class of the suite's own may be a cache."""
    state = {}
    for name, value in list((vars(owner) if isinstance(owner, type) else owner).items()):
        kind = type(value)  # isinstance would ask the object, and wake a lazy one
        if issubclass(kind, _PLAIN) or name.startswith("__"):
            continue
        inside = ()
        if issubclass(kind, _TABLES):
            inside = _entries(value)
        elif depth and _is_own(kind, area):
            inside = frozenset(_state(_attributes(value), area, depth - 1).items())
        state[name] = id(value), inside
    return state


def _entries(table):
    """How many there are, and the first ones, without a method of the table's own class."""
    base = next(one for one in _TABLES if issubclass(type(table), one))
    values = dict.values(table) if base is dict else base.__iter__(table)
    first = itertools.islice(values, 256)
    return (base.__len__(table), *(id(value) for value in first if not issubclass(type(value), _PLAIN)))


def _attributes(value):
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}


def _below(owner):
    """The class and all that are made from it."""
    found, waiting = [], [owner]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.append(one)
            waiting += type.__subclasses__(one)
    return found
