"""Completes command lines in a real zsh and a real fish; not part of the ordinary tests, which have
no such shells: python -m pytest tests/shells/completions.py (bash: tests/e2e/test_completions.py)"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner")).resolve()
CASES = [
    ("runner pru", {"prune"}),
    ("runner prune --dr", {"--dry-run"}),
    ("runner run --simulate ", {"off", "mps", "cuda"}),
    ("runner gaps s", {"scan", "show", "set"}),
    ("runner report --format ju", {"junit"}),
    ("runner run x fi", {"file.py"}),
    ("runner run su", {"sub dir/"}),
]


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "file.py").write_text("")
    return {"PATH": f"{RUNNER.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize("line, expected", CASES)
def test_fish(environment, tmp_path, line, expected):
    done = subprocess.run([shutil.which("fish"), "--no-config", "-c", "runner completions fish | source; complete -C $argv[1]", line],
                          cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=60)
    assert not done.stderr
    assert expected <= {row.split("\t")[0] for row in done.stdout.splitlines()}
    if line.startswith("runner prune"):
        assert "list what would be deleted" in done.stdout


@pytest.mark.parametrize("line, expected", CASES)
def test_zsh(environment, tmp_path, line, expected):
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**environment, "PS1": "> ", "COLUMNS": "200"})
    seen = ""

    def read_until(found):
        nonlocal seen
        end = time.monotonic() + 30
        while not found(seen) and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace")
        assert found(seen), seen

    try:
        read_until(lambda text: "> " in text)
        os.write(terminal, b"autoload -Uz compinit; compinit -D; source <(runner completions zsh); echo re''ady\n")
        read_until(lambda text: "ready" in text)
        seen = ""
        os.write(terminal, line.encode() + b"\t")
        # zsh quotes the blank of a path.
        read_until(lambda text: all(re.search(re.escape(word).replace(r"\ ", r"\\? "), text.replace("\r", "")) for word in expected))
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(child, 0)
