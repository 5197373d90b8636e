"""The installed runner, as a user has it: installed once under a folder of its own, started as a process."""
import json
import os
import pathlib
import subprocess
import sys
import zlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = pathlib.Path(__file__).resolve().parent / "suites"
collect_ignore = ["suites", "torture"]  # run by the runner, not by us


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """bin/runner of an installed tree that was moved after its installation."""
    build = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner")).parents[1]
    prefix = tmp_path_factory.mktemp("prefix") / "installed"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    moved = prefix.with_name("moved")
    prefix.rename(moved)
    return moved / "bin" / "runner"


class Result:
    def __init__(self, process, results):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.results = results

    @property
    def folder(self):
        return (self.results / "latest").resolve()

    @property
    def report(self):
        return json.loads((self.folder / "report.json").read_text())


@pytest.fixture
def runner(program, tmp_path):
    """runner(*words, env={}, check=None): the process's end. Settings of the caller's shell do not reach it."""

    def call(*words, env=(), cwd=tmp_path, timeout=300):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("COMPAT_") or k in ("COMPAT_CACHE",)}
        for name in ("VIRTUAL_ENV", "ACTIVATE_TORCH_DEVICE", "PYTHONPATH"):
            clean.pop(name, None)
        process = subprocess.run([program, *map(str, words)], cwd=cwd, env={**clean, "XDG_CONFIG_HOME": str(tmp_path / "config"), **dict(env)}, text=True,
                                 capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        return Result(process, tmp_path / "results")

    return call


@pytest.fixture
def running():
    """running(words): the command lines of living processes that contain `words`, which no other test's do."""

    def call(words):
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                ended = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            except OSError:  # it is gone
                continue
            if words in command and not ended and int(folder.name) != os.getpid():
                found.append(command)
        return found

    return call


@pytest.fixture
def own_seconds(tmp_path):
    """A time to sleep that no other test's processes sleep: their command lines tell them apart."""
    return f"4321.{zlib.crc32(str(tmp_path).encode())}"


@pytest.fixture
def write_suite(tmp_path):
    """write_suite(name, files): the folder of a unittest suite whose tests are in tests/; `files` by path, each with its text."""

    def write(name, files):
        folder = tmp_path / "suite"
        (folder / "tests").mkdir(parents=True)
        definition = {"format": 1, "name": name, "framework": "unittest", "layout": {"pythonpath": ["."]}}
        for path, text in {"suite.json": json.dumps(definition), "tests/__init__.py": "", **files}.items():
            (folder / path).write_text(text)
        return folder

    return write


@pytest.fixture
def python():
    """The interpreter with torch that runs these tests; the runner uses its environment as it is."""
    return sys.executable
