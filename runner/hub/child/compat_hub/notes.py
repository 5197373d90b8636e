"""Notes which test used what the hub has made up, a line each in the attempt's hub record:
{"test": id, "repository": "models/org/name", "generated": true}, or "missing": true for what the hub could
not give. Once per test and thing.

A test uses something by an answer of the hub that says so, or by opening a file of a client's cache:
the commit of a generated repository begins with "generated" in hexadecimal, and it stands in the
file's path. Not here: what an answer is about (addresses.py).
"""

import os
import sys

_RECORD, _TEST = "COMPAT_HUB_RECORD", "COMPAT_HUB_TEST"
_MARK = "/67656e657261746564"  # "generated"; after a slash a commit of 40 digits
_MOST = 200000  # notes of a process: a test may ask for any number of names

_open, _send, _close, _environ = os.open, os.write, os.close, os.environ

# Kept here, because tests replace variables of the process; those are for the processes it starts.
_now = {"test": None, "record": None, "root": None}
_seen = set()
_waiting = []  # lines of a process that has no record of its own: the zygote
_fixtures = []  # what was used while each of the fixtures that are being set up runs
_shared = set()  # what the next test uses, because the set-up of its class did
_kept = []  # (thing, names of classes or None): left behind by an earlier test


def begin(test):
    _now["test"] = test
    try:
        _environ[_TEST] = test
    except ValueError:  # an encoding without these letters
        _environ.pop(_TEST, None)
    _now["record"] = _environ.get(_RECORD) or _now["record"]
    if _now["root"] is None:
        _now["root"] = _folder()
    if _waiting:
        _append()
    give_shared(test)
    _shared.clear()
    parts = test.split("::")
    for thing, names in _kept:
        if names is None or not names.isdisjoint(parts):
            _write(test, thing)


def _folder():
    """The suite's, before a test enters another."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def give_shared(test):
    for thing in list(_shared):
        _write(test, thing)


def end(test):
    if _now["test"] == test:
        _keep_later()
        _now["test"] = None
        _environ.pop(_TEST, None)


def _test():
    return _now["test"] or (None if _is_fork_server() else _environ.get(_TEST)) or None


def _is_fork_server():
    """Whether this is multiprocessing's, or forked from it: it serves more tests than the one that
    started it."""
    return any("multiprocessing.forkserver import" in word for word in getattr(sys, "orig_argv", ()))


def _keep_later():
    try:
        kept = sys.modules.get("compat_hub.kept")  # none: nothing was loaded
        if kept is not None:
            _kept.extend(one for one in kept.settle() if one not in _kept)
    except Exception:
        pass


def note(kind, name, how):
    """Note that the current test uses something that is "generated", "recorded" or "missing". Never
    raises: the test goes on without the hub's record."""
    thing = (kind, name, how)
    test = _test()
    if _fixtures:
        _fixtures[-1].add(thing)
        if test is None:  # its tests are noted, not all of the module
            return
    if _write(test, thing) and test is not None and test == _now["test"] and how == "generated" and not _fixtures:
        try:
            from compat_hub import kept

            if kept.watch(thing, _now["root"]) and (thing, None) not in _kept:
                _kept.append((thing, None))
        except Exception:
            pass


def _write(test, thing):
    """Whether it is the first time."""
    key = (test,) + thing
    if key in _seen or len(_seen) >= _MOST:
        return False
    _seen.add(key)
    try:
        import json

        kind, name, how = thing
        line = {"test": test, kind: name, "generated": how == "generated"}
        if how == "missing":
            line["missing"] = True
        _waiting.append(json.dumps(line).encode() + b"\n")
        _append()
    except Exception:
        pass
    return True


def _append():
    """Whole lines at once: processes that a test forks write to the same file."""
    path = _now["record"] or _environ.get(_RECORD)
    if not path:
        return
    if not _waiting:
        return
    try:
        file = _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError:
        return  # the next note tries again
    count = len(_waiting)
    lines = _waiting[:count]
    del _waiting[:count]
    try:
        _send(file, b"".join(lines))
    except OSError:
        pass
    finally:
        _close(file)


class Fixture:
    """A fixture that several tests share: each of them uses what its set-up used. `known` belongs to
    the fixture and outlives the set-up."""

    def __init__(self, known):
        self._known = known

    def __enter__(self):
        _fixtures.append(set())

    def __exit__(self, *error):
        self._known |= _fixtures.pop()
        if _fixtures:
            _fixtures[-1].update(self._known)
        self._give()

    def _give(self):
        for thing in list(self._known):
            _write(_test(), thing)


class SetUpOfClass(Fixture):
    """It runs before the first test that shares it begins."""

    def _give(self):
        _shared.clear()
        _shared.update(self._known)


def watch_files():
    sys.addaudithook(_on_event)


def _on_event(event, arguments, mark=_MARK, text=str):
    if event == "open" and arguments[0].__class__ is text and mark in arguments[0]:
        try:
            _note_file(arguments[0])
        except Exception:
            pass


def _note_file(path):
    parts = path.split("/")
    for at in range(1, len(parts)):
        if len(parts[at]) == 40 and parts[at].startswith(_MARK[1:]):
            return note("repository", _owner(parts[:at]), "generated")


def _owner(folders):
    """The repository of a folder in a cache: .../models--org--name/snapshots (huggingface_hub),
    .../datasets/org___name/CONFIG/VERSION (datasets), .../transformers_modules/org/name."""
    for folder in reversed(folders):
        for kind in ("models", "datasets", "spaces"):
            if folder.startswith(kind + "--"):
                return "/".join([kind] + folder.split("--")[1:])
    if "transformers_modules" in folders:
        names = folders[folders.index("transformers_modules") + 1 :]
        return "/".join(["models"] + [n.replace("_hyphen_", "-").replace("_dot_", ".") for n in names])
    if "datasets" in folders[:-1]:
        # Not the first: HF_HOME may lie below a folder of that name.
        at = len(folders) - 1 - folders[::-1].index("datasets")
        if at + 1 < len(folders):
            return "datasets/" + folders[at + 1].replace("___", "/")
    return "models/" + folders[-1]
