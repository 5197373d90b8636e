"""Tests what a report says first: what changed since the last run, what to do, what its counts do not say; and its size and its tables."""
import html.parser
import json
import re
import shutil
import subprocess
import sys
import threading

import jsonschema
import pytest

from conftest import ROOT, make_runner

# 76 tests fail for one reason, each with a long traceback and a name of its own.
CAUSE = '''
import os, unittest
import pytest

HOSTILE = ["a|b", "`", "``|", "\\\\|", "<b>", "](http://evil.example)", "*_#", "x" * 200, "&lt;", "|" * 9]

def load(depth):
    padding = "not interesting " * 20
    if depth:
        return load(depth - 1)
    raise OSError("We couldn't connect to 'https://huggingface.co' to load this file")

@pytest.mark.parametrize("name", HOSTILE + [f"model_{i}_of_a_long_family_of_models" for i in range(66)])
def test_needs_the_network(name):
    load(30)

def test_good():
    pass
'''


@pytest.fixture(scope="module")
def history(program, tmp_path_factory):
    """Three runs: all passes, 76 tests need the network, all passes again."""
    folder = tmp_path_factory.mktemp("first_screen")
    tests = folder / "suite" / "tests"
    tests.mkdir(parents=True)
    (folder / "suite" / "suite.json").write_text(json.dumps({"format": 1, "name": "screen", "framework": "pytest", "layout": {"pythonpath": ["."]}}))
    runner = make_runner(program, folder)
    ran = []
    for broken in (False, True, False):
        (tests / "test_a.py").write_text(CAUSE if broken else CAUSE.replace("    load(30)", "    pass"))
        shutil.rmtree(tests / "__pycache__", ignore_errors=True)
        result = runner(folder / "suite", "--python", sys.executable, "--shim", "off")
        assert result.code == (1 if broken else 0), result.out + result.err
        ran.append((result.out, result.folder))
    return runner, ran


def report_of(folder):
    document = json.loads((folder / "report.json").read_text())
    jsonschema.validate(document, json.loads((ROOT / "reports/schemas/report.schema.json").read_text()))
    return document


def test_the_report_for_programs_has_first_steps_changes_and_history(history):
    _, ran = history
    first, broken, last = (report_of(folder) for _, folder in ran)
    assert first["changes"] is None and [h["id"] for h in first["history"]] == [first["run"]["id"]]
    assert first["first_steps"] == [] and first["blind_spots"] == []
    assert [(s["name"], s["tests"]) for s in broken["blind_spots"]] == [("network", 76)]
    (step,) = broken["first_steps"]
    assert (step["tests"], step["modules"], step["cause"]) == (76, 0, "hub") and "network" in step["title"] and step["advice"]
    assert step["signatures"] and set(step["signatures"]) <= {c["signature"] for c in broken["clusters"]}
    # As `runner compare` says it.
    assert broken["changes"]["baseline"]["id"] == first["run"]["id"]
    (comparison,) = broken["changes"]["comparisons"]
    assert comparison["classes"]["spurious"] == 76 and comparison["classes"]["unchanged"] == 1
    assert [g["tests"] for g in comparison["groups"]] == [76] and "tests" not in comparison
    schema = json.loads((ROOT / "reports/schemas/compare.schema.json").read_text())
    jsonschema.validate({**comparison, "tests": []}, {"definitions": schema["definitions"], "$ref": "#/definitions/comparison"})
    assert [h["id"] for h in last["history"]] == [r["run"]["id"] for r in (first, broken, last)]
    assert [h["states"]["errored"] + h["states"]["failed"] for h in last["history"]] == [0, 76, 0]
    assert last["changes"]["baseline"]["id"] == broken["run"]["id"]


def test_the_comparison_is_the_first_section_and_grouped_by_cause(history):
    runner, ran = history
    text = (ran[1][1] / "report.md").read_text()
    sections = re.findall(r"^## (.*)$", text, re.M)
    assert sections[:4] == ["What changed", "What to do first", "Totals", "Failures by cause"]
    first_section = text.partition("## What changed")[2].partition("## ")[0]
    assert first_section.count("<details>") == 1 and "76 tests spurious: hub: OSError" in first_section
    head = text.partition("## ")[0]
    assert "- 76 tests needed the network: " in head
    assert "the counts do not say: 76 needed the network\n" in ran[1][0]
    compared = runner("compare", ran[0][1].name, ran[1][1].name).out
    assert "\n          76 needed the network\n" in compared
    assert "\n  - 76 needed the network\n" in runner("compare", ran[0][1].name, ran[1][1].name, "--format", "md").out


class Tables(html.parser.HTMLParser):
    """The number of cells of each row, by table, and the texts of the code spans."""

    def __init__(self):
        super().__init__()
        self.tables, self.code, self.tags, self.in_code = [], [], set(), 0

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in ("td", "th"):
            self.tables[-1][-1] += 1
        elif tag == "code":
            self.in_code += 1
            self.code.append("")

    def handle_endtag(self, tag):
        if tag == "code":
            self.in_code -= 1

    def handle_data(self, data):
        if self.in_code:
            self.code[-1] += data


def test_76_failures_are_short_and_hostile_names_break_no_table(history):
    _, ran = history
    text = (ran[1][1] / "report.md").read_text()
    assert len(text.encode()) <= 60_000
    assert text.count("```sh") == 1 and text.count("raise OSError(") == 1
    renderer = shutil.which("cmark-gfm")
    if not renderer:
        pytest.skip("cmark-gfm is not installed (bootstrap.sh names the packages)")
    page = subprocess.run([renderer, "--unsafe", "--extension", "table", "--extension", "autolink"], input=text, text=True, capture_output=True,
                          check=True).stdout
    parser = Tables()
    parser.feed(page)
    assert len(parser.tables) >= 4 and all(len(set(table)) == 1 for table in parser.tables), parser.tables
    # A name is all text of a code span, whatever it holds; the raw bar stays a bar.
    shown = set(parser.code)
    for name in ("a|b", "<b>", "](http://evil.example)", "*_#"):
        assert f"tests/test_a.py::test_needs_the_network[{name}]" in shown, name
    assert "b" not in parser.tags and 'href="http://evil.example' not in page
    # The page says what is left out to keep it small.
    small = ran[1][1].parent.parent.parent / "small"
    runner = history[0]
    assert runner("report", ran[1][1].name, "--out", small, "--format", "md", "--max-bytes", "6000").code == 0
    shortened = (small / "report.md").read_text()
    assert len(shortened.encode()) <= 6000 and "Left out to stay within 6000 bytes: " in shortened
    assert "## What changed" in shortened and "## What to do first" in shortened


def test_a_report_is_written_while_another_run_goes_on(history, tmp_path):
    runner, ran = history
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "test_slow.py").write_text("import time, unittest\nclass T(unittest.TestCase):\n    def test_slow(self): time.sleep(8)\n")
    other = threading.Thread(target=lambda: runner(tmp_path / "slow", "--python", sys.executable, "--shim", "off"))
    other.start()
    try:
        assert runner("report", ran[1][1].name, "--out", tmp_path / "out").code == 0
        assert other.is_alive()
        assert report_of(tmp_path / "out")["changes"]["baseline"]["id"] == ran[0][1].name
    finally:
        other.join()
