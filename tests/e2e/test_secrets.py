"""Secrets in what a run prints and writes for people: whoever gave them, and wherever a test repeats them."""
import json
import re

import pytest

from test_results import report_text

TESTS = """
import os, sys, unittest

PASSWORD = "source-value-1"

class Tells(unittest.TestCase):
    def test_tells(self):
        print("login --api-key option-value-1 done", file=sys.stderr)
        self.fail("{SERVICE_TOKEN} {API_KEY} {DB_PASSWORD} https://me:url-value-1@host/".format(**os.environ))
"""
VALUES = ("suite-value-1", "given-value-1", "own-value-1", "url-value-1", "source-value-1", "option-value-1")


GIVEN = {"env": {"DB_PASSWORD": "own-value-1"}}


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests/test_tells.py").write_text(TESTS)
    define(folder, {"env": {"SERVICE_TOKEN": "suite-value-1"}})
    return folder


def define(folder, keys):
    (folder / "suite.json").write_text(json.dumps(
        {"format": 1, "name": "tells", "framework": "unittest", "layout": {"pythonpath": ["."]}, **keys}))


def test_a_run_shows_no_secret_that_it_was_given(runner, python, suite):
    ran = runner(suite, "--python", python, "--shim", "off", "--env", "API_KEY=given-value-1", "-v", **GIVEN)
    assert ran.code == 1, ran.out + ran.err
    assert "test_tells: AssertionError: <set> <set> <set> https://me:<set>@host/" in ran.out, ran.out
    shown = {"output": ran.out + ran.err}
    for file in ("run.log", "report.md", "report.json", "report.html"):
        shown[file] = report_text(ran.folder / file)
    for name, text in shown.items():
        assert [value for value in VALUES if value in text] == [], name
    log = next(ran.folder.glob("modules/**/1.log")).read_text()
    assert [value for value in VALUES if value in log] == [v for v in VALUES if v != "source-value-1"], "it stays as it was written"


def test_a_program_that_follows_a_run_gets_no_secret(runner, python, suite):
    """Not half of one either, where a line is cut."""
    source = (suite / "tests/test_tells.py").read_text()
    (suite / "tests/test_tells.py").write_text(source.replace('"{SERVICE', '"x" * 280 + " {SERVICE')
                                                + "\n    def test_z_gives_time_to_tell(self):\n        __import__('time').sleep(1)\n")
    ran = runner(suite, "--python", python, "--shim", "off", "--env", "API_KEY=given-value-1", "--progress", "json", **GIVEN)
    events = [json.loads(line) for line in ran.out.splitlines()]
    (broken,) = [event for event in events if event.get("why")]
    assert re.search(r"x <s?e?t?$", broken["why"]) and broken["why_cut"], broken["why"]
    assert "suite-v" not in ran.out + ran.err


def test_the_password_of_a_source_is_not_printed(runner, python, suite):
    define(suite, {"source": {"git": "https://me:source-value-1@127.0.0.1:9/none.git", "rev": "0" * 40}})
    ran = runner(suite, "--python", python, "--shim", "off")
    assert ran.code != 0 and "https://me:<set>@127.0.0.1:9/none.git" in ran.out + ran.err, ran.out + ran.err
    assert "source-value-1" not in ran.out + ran.err
