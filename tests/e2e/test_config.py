"""Tests settings from a user's and a project's configuration file in the installed runner."""
import json
import re

import pytest


def origin(result, name):
    """The value and origin that `doctor` prints for a setting."""
    row = re.search(rf"^  {name} +(\S+) +(.+)$", result.out, re.M)
    assert row, (result.out, result.err)
    return row[1], row[2]


@pytest.fixture
def suite(write_suite):
    return write_suite("configured", {"tests/test_a.py": "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n"})


def test_settings_follow_the_order_of_precedence(runner, suite, tmp_path):
    def retries(*words, **env):
        return origin(runner("doctor", suite, *words, env=env), "retries")

    assert retries() == ("0", "default")
    user = tmp_path / "config/runner/config.json"
    user.parent.mkdir(parents=True)
    user.write_text('{"retries": 1}')
    assert retries() == ("1", f"{user}:1:13")
    definition = json.loads((suite / "suite.json").read_text())
    (suite / "suite.json").write_text(json.dumps({**definition, "retries": 2}))
    assert retries() == ("2", "suite: retries")
    (tmp_path / "pyproject.toml").write_text("[tool.runner]\nretries = 3\n")
    assert retries() == ("3", f"{tmp_path}/pyproject.toml:2:11")
    (tmp_path / "runner.json").write_text('{\n  "retries": 4 // before pyproject.toml\n}')
    assert retries() == ("4", f"{tmp_path}/runner.json:2:14")
    (suite / "runner.json").write_text('{"retries": 5}')
    assert retries() == ("5", f"{suite}/runner.json:1:13")
    assert retries(COMPAT_RETRIES="6") == ("6", "COMPAT_RETRIES")
    assert retries("--retries", "7", COMPAT_RETRIES="6") == ("7", "--retries")
    assert f"configuration file: {suite}/runner.json\nconfiguration file: {user}\n" in runner("doctor", suite).out


def test_a_project_file_sets_python_and_results(runner, suite, python, tmp_path):
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / "deep").mkdir()
    (folder / "pyproject.toml").write_text(
        f'[tool.runner]\npython = "{python}"\nshim = false\nresults = "here"\njobs = 1\n')
    result = runner(suite, cwd=folder / "deep")
    assert result.code == 0, (result.out, result.err)
    assert (folder / "here/runner.db").exists()
    stored = runner("runs", cwd=folder)
    assert "configured_" in stored.out, stored.err
    report = json.loads(next((folder / "here/runs").glob("*/report.json")).read_text())
    assert python in json.dumps(report), "the command that reproduces a run says what a file gave"


@pytest.mark.parametrize("name, text, says", [
    ("runner.json", '{\n  "retires": 1\n}', 'runner.json:2:3: unknown key "retires": did you mean "retries"?'),
    ("runner.json", '{"jobs": 4,}', "runner.json:1:12: not JSON"),
    ("pyproject.toml", "[tool.runner]\njobs = 0\n", 'pyproject.toml:2:8: "jobs": "0" is not a number of jobs'),
    ("pyproject.toml", "[tool.runner]\njobs = \n", "pyproject.toml:2:"),
])
def test_a_broken_configuration_file_is_reported_in_one_line(runner, suite, tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    for words in ((suite,), ("runs",), ("doctor",)):
        result = runner(*words)
        assert result.code == 2 and says in result.err, result.err
        assert result.err.count("\n") == 1
