"""Tests runs during which another process locks the database."""
import os
import signal
import sqlite3
import subprocess
import time

import pytest

FILES = {
    "tests/test_first.py": "import time, unittest\nclass T(unittest.TestCase):\n    def test_slow(self):\n        time.sleep(1)\n",
    "tests/test_second.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n",
    "tests/test_hang.py": "import time, unittest\nclass T(unittest.TestCase):\n    def test_b(self):\n        time.sleep(600)\n",
}
# A run of these tests takes about 4 s. COMPAT_HOLD_SECONDS=40 locks the database for longer.
HOLD_SECONDS = float(os.environ.get("COMPAT_HOLD_SECONDS", "0"))


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def held(program, write_suite, python, tmp_path):
    """A run that has ended its tests while its database is locked: (process, lock, stderr file)."""
    suite = write_suite("busy", FILES)
    env = {k: v for k, v in os.environ.items() if not k.startswith("COMPAT_") or k == "COMPAT_CACHE"}
    with open(tmp_path / "err", "w") as err:
        process = subprocess.Popen(
            [program, suite, "--python", python, "--shim", "off", "-j1", "--timeout", "2s", "--progress", "plain"],
            cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=err)
    database = tmp_path / "results" / "runner.db"
    until(lambda: list(tmp_path.glob("results/runs/*/modules/tests/*")))
    holder = sqlite3.connect(database, isolation_level=None, timeout=30)
    holder.execute("BEGIN IMMEDIATE")
    since = time.monotonic()
    until(lambda: "waiting for another process" in (tmp_path / "err").read_text() or process.poll() is not None)
    assert process.poll() is None
    time.sleep(max(0.0, HOLD_SECONDS - (time.monotonic() - since)))
    yield process, holder
    process.kill()
    process.wait()
    holder.close()


def states(runner):
    report = runner("report", "latest", "--format", "json")
    assert report.code == 0, report.err
    return {m["path"]: (m["outcome"], [c["state"] for c in m["cases"]]) for m in report.report["modules"]}


EXPECTED = {
    "tests/test_first.py": ("completed", ["passed"]),
    "tests/test_hang.py": ("timed_out", ["timed_out"]),
    "tests/test_second.py": ("completed", ["passed"]),
}


def test_a_run_waits_for_a_locked_database(held, runner):
    process, holder = held
    holder.execute("ROLLBACK")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1, out  # from the module that hangs, which was killed in time
    assert states(runner) == EXPECTED
    began = [ms / 1000 for (ms,) in holder.execute("SELECT started_ms FROM result WHERE verdict = 1 ORDER BY started_ms")]
    assert len(began) == 3 and time.time() - 3600 < began[0] and began[0] + 1 <= began[-1] <= time.time()


def test_a_run_interrupted_while_waiting_for_the_database_resumes(held, runner, tmp_path):
    process, holder = held
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert "runner resume" in (tmp_path / "err").read_text()
    holder.execute("ROLLBACK")
    resumed = runner("resume", "latest")
    assert resumed.code == 1, resumed.out + resumed.err
    assert states(runner) == EXPECTED
    assert all(m["attempts"] == 1 for m in resumed.report["modules"] if m["path"] != "tests/test_hang.py")
