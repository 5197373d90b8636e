"""Finds the Python files under paths. Nothing is left out silently: what cannot be read is reported."""
import os

SKIPPED = {"__pycache__", "node_modules", "site-packages"}
# A virtual environment; the runner's results and a run's, with copies of sources (suites/tree.h).
MARKS = ("pyvenv.cfg", "runner.db", "record.jsonl")


def is_skipped(folder, name):
    path = os.path.join(folder, name)
    return name.startswith(".") or name in SKIPPED or any(os.path.exists(os.path.join(path, file)) for file in MARKS)


def own_package(path):
    """The name of the top-level package that a file is in; None: it is in no package."""
    folder, name = os.path.dirname(os.path.abspath(path)), None
    while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.basename(folder):
        folder, name = os.path.split(folder)
    return name


def python_files(paths, report):
    """Each file once, sorted within its path. report(file, line, reason): what cannot be listed."""
    seen = set()

    def is_new(path):
        real = os.path.realpath(path)
        return not (real in seen or seen.add(real))

    for path in paths:
        if not os.path.isdir(path):
            if is_new(path):
                yield os.path.normpath(path)
            continue
        found = []
        for folder, folders, names in os.walk(path, onerror=lambda error: report(error.filename, 0, error.strerror)):
            folders[:] = sorted(name for name in folders if not is_skipped(folder, name))
            found += [os.path.join(folder, name) for name in names if name.endswith(".py") and not name.startswith(".")]
        for file in sorted(found):
            if is_new(file):
                yield os.path.normpath(file)
