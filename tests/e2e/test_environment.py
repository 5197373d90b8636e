"""Tests Python environments: in one that the runner makes, even processes that ignore PYTHONPATH
have the shim; one that the user names is never modified."""
import base64
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

SITE_FILES = ("_compat_shim_site.py", "compat_shim.pth")
# Asks for CUDA in a new interpreter, with the flags in the test's name.
MODULE = """
import subprocess, sys, unittest

CODE = "import sys, torch; print(torch.zeros(1, device='cuda').device, len(set(sys.path)) == len(sys.path))"


class Child(unittest.TestCase):
    def ask(self, *flags):
        done = subprocess.run([sys.executable, *flags, "-c", CODE], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("cpu True\\n", ""))

    def test_plain(self):
        self.ask()

    def test_E(self):
        self.ask("-E")

    def test_I(self):
        self.ask("-I")

    def test_s(self):
        self.ask("-s")

    def test_I_pytest(self):
        done = subprocess.run([sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", "cuda.py"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
"""


def wheel_that_links(folder, packages):
    """A wheel with only a .pth file, which adds `packages` (with torch) to an environment."""
    path = folder / "linked-1.0-py3-none-any.whl"
    files = {"linked.pth": f"{packages}\n",
             "linked-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: linked\nVersion: 1.0\n",
             "linked-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
                     for name, text in files.items())
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {**files, "linked-1.0.dist-info/RECORD": record + "linked-1.0.dist-info/RECORD,,\n"}.items():
            wheel.writestr(name, text)
    return path


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests/test_child.py").write_text(MODULE)
    (folder / "cuda.py").write_text("import torch\n\n\ndef test_cuda():\n    assert torch.ones(2, device='cuda').sum() == 2\n")
    (folder / "suite.json").write_text(json.dumps(
        {"format": 1, "name": "isolated", "source": {"path": "."}, "framework": "unittest"}))
    return folder


@pytest.fixture
def own_cache(tmp_path):
    """A cache with new environments and shared shims, because building a shim takes minutes."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "runner"
    shims = pathlib.Path(os.environ.get("COMPAT_CACHE") or base) / "shims"
    shims.mkdir(parents=True, exist_ok=True)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "shims").symlink_to(shims)
    return cache


def test_python_processes_that_ignore_pythonpath_have_the_shim(runner, suite, own_cache, tmp_path):
    import torch

    wheel = wheel_that_links(tmp_path, pathlib.Path(torch.__file__).parents[1])
    settings = {"COMPAT_CACHE": str(own_cache), "COMPAT_BASE_PYTHON": sys.executable,
                "COMPAT_TORCH_REQUIREMENT": f"linked @ file://{wheel}"}
    result = runner(suite, env=settings, timeout=900)
    assert result.code == 0, result.out + result.err
    cases = {c["id"].rpartition("::")[2]: c for c in result.report["modules"][0]["cases"]}
    assert {name: case["state"] for name, case in cases.items()} == dict.fromkeys(
        ("test_plain", "test_E", "test_I", "test_s", "test_I_pytest"), "passed")
    record = (result.folder / "modules/tests/test_child.py/1.written/1.devices.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in record]
    # Once for each process: the harness, which imports no torch, and its five children.
    assert sorted(line["event"] for line in lines) == ["device"] * 5 + ["session"] * 5 + ["watch"] * 6

    (packages,) = own_cache.glob("environments/isolated-*/lib/python*/site-packages")
    (python,) = own_cache.glob("environments/isolated-*/bin/python")
    quiet = subprocess.run([python, "-c", "import sys; print([n for n in sys.modules if n.startswith('compat')])"],
                           capture_output=True, text=True, env={})
    assert (quiet.stdout, quiet.stderr) == ("[]\n", ""), "without the variable nothing happens"
    for folder in ("/nowhere", "relative", ""):
        gone = subprocess.run([python, "-c", "print(1)"], capture_output=True, text=True,
                              env={"ACTIVATE_TORCH_DEVICE": "1", "COMPAT_SHIM_PYTHON": folder})
        assert (gone.stdout, gone.stderr) == ("1\n", ""), "a shim that has moved is no error"

    # An environment made by an older runner.
    for name in SITE_FILES:
        (packages / name).unlink()
    assert runner(suite, "tests/test_child.py::Child::test_I", env=settings).code == 0
    assert all((packages / name).is_file() for name in SITE_FILES)


def test_an_environment_named_by_the_user_is_not_modified(runner, suite, tmp_path):
    import torch

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "given"], check=True)
    (packages,) = (tmp_path / "given").glob("lib/python*/site-packages")
    (packages / "linked.pth").write_text(f"{pathlib.Path(torch.__file__).parents[1]}\n")

    def files():
        return {str(p): p.stat().st_mtime_ns for p in (tmp_path / "given").rglob("*") if "__pycache__" not in p.parts}

    before = files()
    result = runner(suite, "--python", tmp_path / "given/bin/python", timeout=900)
    assert files() == before
    states = {c["id"].rpartition("::")[2]: c["state"] for c in result.report["modules"][0]["cases"]}
    assert states == {"test_plain": "passed", "test_s": "passed", "test_E": "failed", "test_I": "failed", "test_I_pytest": "failed"}
