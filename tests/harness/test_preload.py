"""Tests what preload.py reads from import statements, in trees that are never imported."""

import importlib.util
import sys

import pytest
import support

SPEC = importlib.util.spec_from_file_location("preload", support.MAIN.parent / "preload.py")
preload = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(preload)

INSTALLED = ["big/__init__.py", "big/sub/__init__.py", "big/sub/deep.py", "big/other.py", "small.py"]


@pytest.fixture
def derived(root, tmp_path, monkeypatch):
    """derived({path: text}): the answer for the test modules among these files of a project."""
    packages = tmp_path / "site-packages"
    for path in INSTALLED:
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).write_text("raise SystemExit('imported')\n")
    monkeypatch.setattr(preload, "_site_packages", lambda: {str(packages)})
    monkeypatch.setattr(sys, "path", [str(root), str(packages), *sys.path])

    def call(files, framework="pytest"):
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        modules = sorted(p for p in files if p.rpartition("/")[2].startswith("test_"))
        return preload.derive(str(root), framework, modules)

    return call


# Each is the whole text of two of three modules; the third imports nothing.
STATEMENTS = {
    "import big": ["big"],
    "import big.sub.deep as d": ["big.sub.deep"],
    "from big import sub, name": ["big.sub"],
    "from big.sub import deep": ["big.sub.deep"],
    "import big, small, json": ["big", "small"],
    "try:\n    import small\nexcept ImportError:\n    small = None": ["small"],
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import big": [],
    "def test():\n    import big": [],
    "import missing": [],
    "import own": ["small"],
    "from own.part import x": ["big.other", "small"],
    "import helpers": ["big"],
    "import namespace.module": ["small"],
    "this is no Python": [],
    "import os\nimport big\nos.environ['A'] = 'b'": ["big"],
    "import os\nA = os.environ['A']\nB = os.environ.get('B')\nimport big": ["big"],
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_installed_packages_that_most_modules_import(derived, statement):
    answer = derived({
        "tests/test_a.py": statement, "tests/test_b.py": statement, "tests/test_c.py": "",
        "own/__init__.py": "import small\n", "own/part.py": "from . import again\nimport big.other\n",
        "own/again.py": "import own\n", "tests/helpers.py": "import big\n", "namespace/module.py": "import small\n",
    })
    assert answer["names"] == STATEMENTS[statement]
    tops = {name.partition(".")[0] for name in STATEMENTS[statement]}
    assert answer["packages"] == [{"name": name, "modules": 2} for name in sorted(tops)]
    assert (answer["read"], answer["left_out"]) == (3, [])


def test_half_of_the_modules_are_not_most(derived):
    assert derived({"test_a.py": "import big\n", "test_b.py": ""})["names"] == []


@pytest.mark.parametrize("setting", [
    "os.environ['A'] = 'b'", "del os.environ['A']", "os.environ.setdefault('A', 'b')", "os.putenv('A', 'b')",
    "pytest.MonkeyPatch().setenv('A', 'b')", "if True:\n    os.environ['A'] = 'b'"])
def test_a_package_that_may_read_a_variable_set_before_is_left_out(derived, setting):
    answer = derived({
        "tests/test_a.py": "import small\nimport os\n" + setting + "\nimport big.sub\n",
        "tests/test_b.py": "import big, small\n", "tests/test_c.py": "import big, small\n"})
    assert answer["names"] == ["small"]
    assert [left["name"] for left in answer["left_out"]] == ["big"]
    assert answer["left_out"][0]["set_at"].startswith("tests/test_a.py:")


@pytest.mark.parametrize("conftest, names", [
    ("import big\n", ["big", "small"]),
    ("import os\nos.environ['A'] = 'b'\n", []),
    ("import os, big\nos.environ['A'] = 'b'\n", ["big"]),
    ("import os\ndef pytest_configure():\n    os.environ['A'] = 'b'\n", []),
    ("import os\ndef fixture():\n    os.environ['A'] = 'b'\n", ["small"]),
])
def test_a_conftest_runs_before_its_modules(derived, conftest, names):
    files = {"tests/conftest.py": conftest, "tests/test_a.py": "import small\n", "tests/test_b.py": "import small\n"}
    assert derived(files)["names"] == names
    assert derived(files, "unittest")["names"] == ["small"]


def test_of_a_large_project_a_sample_is_read_and_what_sets_variables(derived):
    files = {"tests/test_%03d.py" % n: "import big, small\n" for n in range(preload.MODULES_READ * 2)}
    answer = derived(files)
    assert (answer["read"], answer["names"]) == (preload.MODULES_READ, ["big", "small"])
    files["tests/test_001.py"] = "import os\nos.environ['A'] = 'b'\nimport big\n"
    answer = derived(files)
    assert answer["names"] == ["small"]
    assert answer["left_out"] == [{"name": "big", "set_at": "tests/test_001.py:2"}]
