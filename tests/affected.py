"""affected.py BUILD [BASE]: names the tests that a change can affect, for tests/run_all.sh --changed.

A change is what differs from the commit BASE (default: HEAD), new files included. A line of output is
`program NAME`, a test of ctest's, or `file PATH`, a test file for pytest. A program's sources are
read from ninja, and a test file's imports from its syntax tree. For a test that reads files as it
runs, more files count than it reads, never fewer.
"""

import ast
import functools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CPP = (".cc", ".h")
# Tests of these invariants read the whole tree.
ALWAYS = ("tests/test_house.py",)
# Files that a folder's test files run, beside their imports.
RUN = {
    "tests/e2e": ("CMakeLists.txt", "cmake", "parsers", "reports", "runner", "shim", "suites", "tests/children", "tests/parsers/golden", "tests/parsers/one_truth"),
    "tests/harness": ("runner/harness",),
    "tests/shim": ("parsers/diagnosis", "shim", "suites/conformance", "tests/sweep", "tests/cross"),
    "tests/suites": ("suites",),
    "tests/hub": ("runner/harness", "runner/hub"),
    "tests/releases": ("runner", "shim", "suites/conformance", "tests/sweep"),
    "tests/gpu": (),
}
# Test programs that read sources as text, whatever they are compiled from.
READ_SOURCES = ("docs_test",)
EVERYTHING = ("bootstrap.sh", "tests/requirements.txt", "tests/run_all.sh", "runner/prepare/torch.txt")


def lines(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def changed_since(base):
    return {*lines("git", "diff", "--name-only", base, "--"), *lines("git", "ls-files", "-o", "--exclude-standard")}


def is_in(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def sources_of_objects(build):
    """{object: files of the tree that it is compiled from}, from ninja's record of the last build."""
    found, current = {}, None
    for line in lines("ninja", "-C", build, "-t", "deps"):
        if line.endswith("(VALID)") or "#deps" in line:
            current = found.setdefault(line.partition(":")[0], set())
        elif line.strip():
            path = pathlib.Path(build, line.strip()).resolve()
            if path.is_relative_to(ROOT):
                current.add(str(path.relative_to(ROOT)))
    return found


def programs(build, changed):
    """Names of ctest's tests. Without a finished build that is all of them."""
    build = pathlib.Path(build).resolve()
    tests = json.loads("\n".join(lines("ctest", "--test-dir", build, "--show-only=json-v1")))["tests"]
    objects = sources_of_objects(build)
    compiled = functools.cache(lambda program: set().union(*(
        objects.get(each, set()) for each in lines("ninja", "-C", build, "-t", "inputs", program))))
    # ninja's record of an object does not have what was precompiled for it (cmake/precompiled).
    build_files = {path for path in changed if is_in(path, ["cmake"]) or re.search(r"(^|/)CMake\w+\.(txt|json)$|\.cmake$", path)}
    for test in tests:
        program = pathlib.Path(test["command"][0])
        if not program.is_relative_to(build):
            yield test["name"]  # a Python script; takes a second
            continue
        sources = compiled(str(program.relative_to(build)))
        reads_files = any(path.endswith("generated/tests/paths.h") for path in sources)
        folders = {str(pathlib.Path(path).parent) for path in sources}
        # A file that is no source is compiled in by CMake, or lies beside the tests that read it.
        data = {path for path in changed if not path.endswith(CPP)}
        if not sources or build_files or changed & sources or reads_files and data or any(
                is_in(path, folders) for path in data) or changed and test["name"] in READ_SOURCES:
            yield test["name"]


@functools.cache
def names_in(path):
    """The modules that a Python file imports, and the names from them, which may be modules."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@functools.cache
def imported(file):
    """Files of the tree that a Python file imports, itself included."""
    found, waiting = set(), [file, *(p / "conftest.py" for p in file.parents if p.is_relative_to(ROOT))]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for name in names_in(path):
            # A file beside them hides one of the same name, such as conftest.py, that others run.
            waiting += files_of(name, [path.parent, file.parent]) or files_of(name, RUNS_FROM)
    return found


def files_of(module, folders):
    there = [folder.joinpath(*module.split(".")) for folder in folders]
    return [path for at in there for path in (at.with_suffix(".py"), at / "__init__.py") if path.is_file()]


# Folders that test files put on sys.path.
RUNS_FROM = (ROOT / "runner/harness", ROOT / "shim/python", ROOT / "tests/sweep", ROOT / "tests/releases", ROOT / "tests/e2e/torture")


def test_files(changed):
    """Test files of pytest's."""
    known = {"tests", *(path.split("/")[0] for product in RUN.values() for path in product)}
    # Documents and the like, for test files that name them.
    named = {top for path in changed if (top := path.split("/")[0]) not in known}
    for folder, product in RUN.items():
        in_product = any(is_in(path, product) for path in changed)
        # Suites, fixtures, helpers: all that is in the folder and is no test file.
        beside = any(is_in(path, [folder]) and not re.search(r"/test_[^/]+\.py$", path) for path in changed)
        for file in sorted((ROOT / folder).glob("test_*.py")):
            files = imported(file)
            text = "".join(path.read_text() for path in files if path.is_relative_to(ROOT / "tests"))
            if in_product or beside or any(ROOT / path in files for path in changed) or any(
                    re.search(rf"(?<!\w){re.escape(top)}\b", text) for top in named):
                yield str(file.relative_to(ROOT))
    yield from ALWAYS


def main(build, base="HEAD"):
    changed = changed_since(base)
    if changed & set(EVERYTHING):
        print("everything")
        return
    for name in programs(build, changed):
        print("program", name)
    for path in test_files(changed):
        print("file", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
