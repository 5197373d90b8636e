"""Fixtures for tests of the installed runner: it is installed once and started as a process."""
import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import threading
import zlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = pathlib.Path(__file__).resolve().parent / "suites"
collect_ignore = ["suites", "torture"]  # only the runner runs these


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """bin/runner of an installation that was moved to another folder."""
    build = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner")).parents[1]
    prefix = tmp_path_factory.mktemp("prefix") / "installed"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    moved = prefix.with_name("moved")
    prefix.rename(moved)
    # As after its first use: otherwise each process compiles what it imports where Python may not write.
    subprocess.run([sys.executable, "-m", "compileall", "-q", moved / "share" / "runner"], stdout=subprocess.DEVNULL)
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


def make_runner(program, folder):
    """runner(*words, env={}): runs the runner in `folder`, without the caller's settings."""

    def call(*words, env=(), cwd=folder, timeout=300):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("COMPAT_") or k in ("COMPAT_CACHE",)}
        for name in ("VIRTUAL_ENV", "ACTIVATE_TORCH_DEVICE", "PYTHONPATH"):
            clean.pop(name, None)
        process = subprocess.run([program, *map(str, words)], cwd=cwd, env={**clean, "XDG_CONFIG_HOME": str(folder / "config"), **dict(env)}, text=True,
                                 capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        return Result(process, folder / "results")

    return call


@pytest.fixture
def runner(program, tmp_path):
    return make_runner(program, tmp_path)


@pytest.fixture
def on_terminal(program):
    """on_terminal(words, **of_popen): runs the runner on a terminal; its exit code and what it wrote there."""

    def call(*words, **of_popen):
        terminal, end = pty.openpty()
        child = subprocess.Popen([program, *map(str, words)], stdin=end, stdout=end, stderr=end, **of_popen)
        # A terminal may drop what is unread as its last end closes: this end stays open, and says when all is read.
        threading.Thread(target=lambda: (child.wait(), os.write(end, b"\0"))).start()
        seen = b""
        while not seen.endswith(b"\0"):
            seen += os.read(terminal, 65536)
        os.close(terminal)
        os.close(end)
        return child.returncode, seen[:-1]

    return call


@pytest.fixture(scope="session")
def states_run(program, tmp_path_factory):
    """One run of suites/unittest_states under the shim, which takes 30 s. For tests that only read it."""
    return make_runner(program, tmp_path_factory.mktemp("states"))(SUITES / "unittest_states", "--python", sys.executable)


@pytest.fixture
def states_copy(states_run, tmp_path):
    """The folder of that run, in a copy of its results at tmp_path/results."""
    shutil.copytree(states_run.results, tmp_path / "results", symlinks=True)
    return (tmp_path / "results" / "latest").resolve()


@pytest.fixture
def running():
    """running(words): command lines of live processes that contain `words`."""

    def call(words):
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                ended = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            except OSError:  # the process ended
                continue
            if words in command and not ended and int(folder.name) != os.getpid():
                found.append(command)
        return found

    return call


@pytest.fixture
def unique_sleep_seconds(tmp_path):
    """An argument for sleep that identifies this test's processes by their command lines."""
    return f"4321.{zlib.crc32(str(tmp_path).encode())}"


@pytest.fixture
def write_suite(tmp_path):
    """write_suite(name, files, …): a unittest suite with tests in tests/; `files`: {path: text}, `more`:
    further keys of suite.json."""

    def write(name, files, **more):
        folder = tmp_path / "suite"
        (folder / "tests").mkdir(parents=True, exist_ok=True)
        definition = {"format": 1, "name": name, "framework": "unittest", "layout": {"pythonpath": ["."]}, **more}
        for path, text in {"suite.json": json.dumps(definition), "tests/__init__.py": "", **files}.items():
            (folder / path).write_text(text)
        return folder

    return write


@pytest.fixture
def python():
    """The interpreter that runs these tests. It has torch; the runner uses its environment."""
    return sys.executable


@pytest.fixture(scope="module")
def browser():
    """Chromium; a module's tests share it."""
    from playwright.sync_api import sync_playwright  # not for the tests that need no browser
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()
