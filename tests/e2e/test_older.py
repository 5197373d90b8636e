"""Tests that results, archives and files of settings of an older version still open, with the same verdicts. older/ holds them:
results.tar.gz (database of version 18) and run.tar.zst of two runs of one suite, as that version wrote them, and keys.json, the keys
that its schemas allowed."""
import json
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OLDER = pathlib.Path(__file__).resolve().parent / "older"
FIRST, SECOND = "older_20261129-011059-a198", "older_20261129-011100-b1dc"
TOTALS = {FIRST: {"passed": 4, "failed": 2}, SECOND: {"passed": 5, "failed": 1}}
SCHEMAS = {"suite.json": "suites/suite.schema.json", "settings": "runner/config/config.schema.json", "nightly": "suites/nightly.schema.json"}
REMOVED = {"settings": {"tpu_batch_factor", "cost_cpu", "cost_gpu", "cost_tpu"}}  # each is an error that says what to use


@pytest.fixture
def results(tmp_path):
    subprocess.run(["tar", "xzf", OLDER / "results.tar.gz", "-C", tmp_path], check=True)
    return tmp_path / "results"


def test_a_database_opens_with_the_same_verdicts(runner, results):
    refused = runner("runs")
    assert refused.code == 4 and "version 18" in refused.err and "`runner reparse` brings it up to date" in refused.err
    for run in TOTALS:
        parsed = runner("reparse", run)
        assert parsed.code == 0 and parsed.out.endswith(": 0 differ\n"), parsed.out + parsed.err
    for run, totals in TOTALS.items():
        assert runner("report", run).code == 0
        found = json.loads((results / "runs" / run / "report.json").read_text())["totals"]
        assert found.items() >= {"collected": 11, "errored": 2, "skipped": 1, "xfailed": 1, "crashed": 1, "flaky": 1, **totals}.items()
    compared = runner("compare", FIRST, SECOND)
    assert "1 fixed, 1 flaky, 4 still_failing_same, 5 unchanged" in compared.out, compared.out
    with sqlite3.connect(results / "runner.db") as database:
        flaky = database.execute("SELECT DISTINCT case_id FROM result JOIN test ON test.id = result.test WHERE flaky").fetchall()
    assert flaky == [("tests/test_ends.py::Flaky::test_second_time",)]


def test_a_rebuilt_database_has_the_same_runs(runner, results):
    (results / "runner.db").unlink()
    rebuilt = runner("reparse", "--all")
    assert rebuilt.code == 0, rebuilt.out + rebuilt.err
    listed = runner("runs").out
    assert all(run in listed for run in TOTALS) and "5 passed, 1 failed, 2 errored, 1 skipped, 1 xfailed, 1 crashed" in listed


def test_an_archive_is_read(runner, tmp_path):
    shutil.copy(OLDER / "run.tar.zst", tmp_path)
    shown = runner("show", "run.tar.zst")
    assert shown.out.startswith(FIRST) and "failed tests/test_states.py::States::test_fails: AssertionError: 1 != 2" in shown.out, shown.out
    assert runner("compare", "run.tar.zst", "run.tar.zst").code == 0


def keys_of(schema, prefix=""):
    for key, rule in schema.get("properties", {}).items():
        if key != "$schema":
            yield prefix + key
            yield from keys_of(rule, f"{prefix}{key}.")


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_key_is_still_allowed_or_removed_with_advice(runner, tmp_path, name):
    older = set(json.loads((OLDER / "keys.json").read_text())[name])
    today = set(keys_of(json.loads((ROOT / SCHEMAS[name]).read_text())))
    assert older - today == REMOVED.get(name, set())
    for key in REMOVED.get(name, ()):
        (tmp_path / "runner.json").write_text(json.dumps({key: 1}))
        refused = runner("doctor")
        assert refused.code == 2 and f'"{key}" was removed: set COMP' in refused.err, refused.err
