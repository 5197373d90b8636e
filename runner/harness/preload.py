"""Prints what most test modules of a project import, for warm start, as JSON.

    python preload.py ROOT FRAMEWORK MODULE...

Reads import statements in syntax trees and imports nothing: those at the top level of the modules, of
their conftest.py, and of the project's own files that these import. The answer names installed packages
alone. Importing the project's own code early could change what its tests see. A package that is imported
after an environment variable was set is left out, too: it may read that variable.

Not here: the imports themselves (_compat_harness/zygote.py).
"""
import ast
import json
import os
import re
import site
import sys
import sysconfig
from importlib.machinery import PathFinder, all_suffixes

MODULES_READ = 100  # of a large project, evenly spaced
FILES_BYTES = 1 << 20  # parsed of the project's other files, half a second
# Files with these words are parsed in addition.
_SETS_VARIABLES = re.compile(rb"\benviron\b|\b(put|unset|set|del)env\b")
_SUFFIXES = all_suffixes()
_CHANGING = {"setdefault", "update", "pop", "popitem", "clear", "__setitem__"}


class Import:
    def __init__(self, name, members=(), level=0):
        self.name, self.members, self.level = name, members, level


class Project:
    def __init__(self, root):
        self.root = os.path.realpath(root)
        self.packages = [os.path.realpath(path) for path in _site_packages()]
        self.path = [path for path in sys.path if path and os.path.isdir(path)]
        self.own_path = [self.root] + [path for path in self.path if self.is_own(path)]
        self.steps, self.specs, self.listed = {}, {}, {}
        self.bytes_left = FILES_BYTES

    def is_own(self, path):
        path = os.path.realpath(path)
        if any(_under(path, folder) for folder in self.packages):
            return False
        return _under(path, self.root)

    def installed(self, top):
        """The folders of an installed package, [] of a module in one file; None: it is not installed."""
        if top not in self.specs:
            found = None
            spec = PathFinder.find_spec(top, self.path)
            # A folder without __init__.py has no origin.
            origin = os.path.realpath(spec.origin) if spec and spec.origin else ""
            if any(_under(origin, folder) for folder in self.packages):
                found = list(spec.submodule_search_locations or ())
            self.specs[top] = found
        return self.specs[top]

    def file_of(self, folder, name):
        """The file of the module `name` in `folder`; empty: there is none."""
        package = os.path.join(folder, name)
        if "__init__.py" in self.list(package):
            return os.path.join(package, "__init__.py")
        names = self.list(folder)
        return next((package + suffix for suffix in _SUFFIXES if name + suffix in names), "")

    def list(self, folder):
        if folder not in self.listed:
            try:
                self.listed[folder] = frozenset(os.listdir(folder))
            except OSError:
                self.listed[folder] = frozenset()
        return self.listed[folder]

    def steps_of(self, file, always=False):
        """The steps of executing a file, in order: Import, or the line that sets an environment
        variable."""
        if file not in self.steps:
            try:
                with open(file, "rb") as opened:
                    text = opened.read()
                if not always and not _SETS_VARIABLES.search(text):
                    self.bytes_left -= len(text)
                    text = text if self.bytes_left >= 0 else b""
                tree = ast.parse(text, file)
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.Module([], [])
            self.steps[file] = list(_steps(tree.body))
            if os.path.basename(file) == "conftest.py":
                # Hooks run before modules are collected.
                for hook in tree.body:
                    if isinstance(hook, ast.FunctionDef) and hook.name.startswith("pytest_"):
                        self.steps[file] += [node.lineno for node in ast.walk(hook) if _sets_variable(node)]
        return self.steps[file]


class Walk:
    """One module's imports, as its process would execute them."""

    def __init__(self, project):
        self.project = project
        self.seen = set()    # own files
        self.early = set()   # installed modules
        self.late = {}       # those that are first imported after a variable was set → where
        self.set_at = None   # "file:line" at which the first variable was set

    def file(self, file, folders, always=False):
        """`folders`: searched for own modules, as sys.path is."""
        if file in self.seen:
            return
        self.seen.add(file)
        for step in self.project.steps_of(file, always):
            if isinstance(step, Import):
                self.imported(step, file, folders)
            elif self.set_at is None:
                self.set_at = "%s:%d" % (os.path.relpath(file, self.project.root), step)

    def imported(self, step, file, folders):
        parts = step.name.split(".") if step.name else []
        if step.level:
            base = os.path.dirname(file)
            for _ in range(step.level - 1):
                base = os.path.dirname(base)
            self.own(base, parts, step.members, folders)
            return
        for folder in folders:
            if self.project.file_of(folder, parts[0]):
                self.own(folder, parts, step.members, folders)
                return
        inside = self.project.installed(parts[0])
        if inside is None:
            for folder in folders:  # packages without __init__.py
                self.own(folder, parts, step.members, folders)
            return
        for n in range(1, len(parts) + 1):
            self.add(".".join(parts[:n]))
        for member in step.members:
            if any(self.project.file_of(os.path.join(place, *parts[1:]), member) for place in inside):
                self.add("%s.%s" % (step.name, member))

    def add(self, name):
        if self.set_at is None or name in self.early:
            self.early.add(name)
        else:
            self.late.setdefault(name, self.set_at)

    def own(self, folder, parts, members, folders):
        for part in parts:
            file = self.project.file_of(folder, part)
            folder = os.path.join(folder, part)
            if file:
                self.file(file, folders)
        for member in members:
            file = self.project.file_of(folder, member)
            if file:
                self.file(file, folders)


def _site_packages():
    paths = sysconfig.get_paths()
    return {paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()}


def _under(path, folder):
    return path == folder or path.startswith(folder + os.sep)


def _steps(body):
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "os" and any(alias.asname and alias.name == "environ" for alias in node.names):
                yield node.lineno  # under another name it may be set anywhere
            yield Import(node.module or "", [alias.name for alias in node.names], node.level)
        elif isinstance(node, (ast.Try, ast.With)):
            yield from _steps(node.body + getattr(node, "orelse", []) + getattr(node, "finalbody", []))
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from [inner.lineno for inner in ast.walk(node) if _sets_variable(inner)]


def _sets_variable(node):
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, (ast.Store, ast.Del)) and _last_name(node.value) == "environ"
    if isinstance(node, ast.AugAssign):
        return _last_name(node.target) == "environ"
    if not isinstance(node, ast.Call):
        return False
    name = _last_name(node.func)
    if name in ("putenv", "unsetenv", "setenv", "delenv"):  # of os, and of pytest's MonkeyPatch
        return True
    return name in _CHANGING and isinstance(node.func, ast.Attribute) and _last_name(node.func.value) == "environ"


def _last_name(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def walk_module(project, module, framework):
    walk = Walk(project)
    file = os.path.join(project.root, module)
    parents = [project.root]
    for part in os.path.dirname(module).split(os.sep):
        if part:
            parents.append(os.path.join(parents[-1], part))
    # pytest puts the first folder above a module that is no package on sys.path.
    base = parents[-1]
    while os.path.isfile(os.path.join(base, "__init__.py")) and base != project.root:
        base = os.path.dirname(base)
    folders = [base, *project.own_path]
    if framework == "pytest":
        for folder in parents:
            conftest = os.path.join(folder, "conftest.py")
            if os.path.isfile(conftest):
                walk.file(conftest, folders, always=True)
    for folder in parents[1:]:
        package = os.path.join(folder, "__init__.py")
        if os.path.isfile(package):
            walk.file(package, folders)
    walk.file(file, folders, always=True)
    return walk


def _sample(root, modules):
    step = max(1, -(-len(modules) // MODULES_READ))
    chosen = modules[::step]
    setting = []
    for module in modules:
        try:
            with open(os.path.join(root, module), "rb") as text:
                if _SETS_VARIABLES.search(text.read()):
                    setting.append(module)
        except OSError:
            pass
    return chosen, sorted(set(setting) - set(chosen))


def derive(root, framework, modules):
    project = Project(root)
    chosen, setting = _sample(project.root, modules)
    counts, late = {}, {}
    for module in chosen + setting:
        walk = walk_module(project, module, framework)
        late.update(walk.late)
        if module in chosen:
            for name in walk.early | walk.late.keys():
                counts[name] = counts.get(name, 0) + 1
    # The process that imports has imported the framework.
    most = sorted(name for name, n in counts.items() if 2 * n > len(chosen) and _top(name) != framework)
    left_out = {_top(name): place for name, place in late.items()}
    names = [name for name in most if _top(name) not in left_out]
    return {
        "read": len(chosen),
        # A module's parents are imported with it.
        "names": [name for name in names if not any(other.startswith(name + ".") for other in names)],
        "packages": [{"name": name, "modules": counts[name]} for name in names if _top(name) == name],
        "left_out": [{"name": name, "set_at": left_out[name]} for name in most if name in left_out],
    }


def _top(name):
    return name.partition(".")[0]


if __name__ == "__main__":
    # Python put this file's folder first on sys.path.
    del sys.path[0]
    print(json.dumps(derive(sys.argv[1], sys.argv[2], sys.argv[3:])))
