"""expectations.json: what a run says of its results, and `runner expect`."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import jsonschema
import pytest

TESTS = """
import os
import unittest


class Parts(unittest.TestCase):
    def test_good(self):
        pass

    def test_bad(self):
        if os.environ.get("FIXED") != "1":
            self.fail("known")

    def test_errors(self):
        raise ValueError("known, too")

    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
"""
BAD, ERRORS, SUBTESTS = ("tests/test_parts.py::Parts::test_bad", "tests/test_parts.py::Parts::test_errors",
                         "tests/test_parts.py::Parts::test_subtests")
ALL = [{"test": BAD, "expect": "failed", "reason": "known for long", "issue": "https://example.org/7"},
       {"test": ERRORS, "expect": "errored"},
       {"test": SUBTESTS + " (i=1)", "expect": "failed"}]


@pytest.fixture
def suite(write_suite):
    return write_suite("parts", {"tests/test_parts.py": TESTS})


@pytest.fixture
def run(runner, suite):
    """run(*words, entries=None): runs the suite, with these entries in expectations.json."""

    def call(*words, entries=None, env=()):
        if entries is not None:
            (suite / "expectations.json").write_text(json.dumps(entries, indent=1))
        return runner(suite, "--python", sys.executable, "--shim", "off", "-q", *words, env=env)

    return call


def closing(result):
    return next(line for line in result.out.splitlines() if line.startswith("expectations: "))


def case(report, test):
    return next(c for m in report["modules"] for c in m["cases"] if c["id"] == test)


def test_expected_failures_exit_0_in_every_format(run, runner, tmp_path):
    assert run().code == 1
    result = run("--junit", tmp_path / "junit.xml", "--ctrf", tmp_path / "ctrf.json", "--github", entries=ALL)
    assert result.code == 0, result.out + result.err
    assert closing(result).startswith("expectations: 3 failures as expected, 0 unexpected passes, 0 unexpected failures (")

    report = result.report
    assert report["run"]["exit_code"] == 0
    assert report["totals"]["failed"] == 2 and report["totals"]["errored"] == 1, "states stay as they are"
    assert report["expectations"]["expected_failures"] == 3 and report["expectations"]["notes"] == []
    assert case(report, BAD)["expectation"] == {
        "fit": "as_expected", "test": BAD, "expect": ["failed"], "reason": "known for long", "issue": "https://example.org/7"}
    assert case(report, SUBTESTS)["expectation"]["test"] == SUBTESTS + " (i=1)"
    schema = pathlib.Path(__file__).resolve().parents[2] / "reports/schemas/report.schema.json"
    jsonschema.validate(report, json.loads(schema.read_text()))

    page = (result.folder / "report.md").read_text()
    assert "## Failures as expected" in page and "nothing needs attention" in page
    assert "## Failures by cause" not in page and "## What to do first" not in page, "what is expected is no work"

    suites = ET.parse(tmp_path / "junit.xml").getroot()
    assert (suites.get("failures"), suites.get("errors")) == ("0", "0")
    bad = suites.find(".//testcase[@name='test_bad']")
    assert bad.find("skipped").get("message") == "failed as expected: known for long (https://example.org/7)"
    assert bad.find("failure") is None and "[[PROPERTY|state=failed]]" in bad.find("system-out").text
    imported = runner("import", tmp_path / "junit.xml", "--results", tmp_path / "imported")
    assert imported.code == 1, "the states are those of the tests"
    assert "2 failed, 1 errored" in imported.out, imported.out
    ctrf = json.loads((tmp_path / "ctrf.json").read_text())["results"]
    assert (ctrf["summary"]["failed"], ctrf["summary"]["skipped"]) == (0, 3)
    assert {t["name"]: t["status"] for t in ctrf["tests"]}["test_bad"] == "skipped"
    assert "::error" not in (result.folder / "annotations.txt").read_text()


def test_an_unexpected_pass_and_an_unexpected_failure_exit_1(run, runner, tmp_path):
    result = run("--junit", tmp_path / "junit.xml", "--github", entries=ALL, env={"FIXED": "1"})
    assert result.code == 1
    assert "2 failures as expected, 1 unexpected pass, 0 unexpected failures" in closing(result)
    assert f"{BAD}: all its tests passed: no longer needed" in result.out
    assert f"unexpected pass: {BAD}" in result.out
    assert "; 3 entries in " in (result.folder / "report.md").read_text()
    assert "4 tests, 1 test to look at" in (result.folder / "report.md").read_text().replace("`", "")
    bad = ET.parse(tmp_path / "junit.xml").getroot().find(".//testcase[@name='test_bad']")
    assert bad.find("failure").get("message") == "passed; expected was failed: known for long (https://example.org/7)"
    assert (result.folder / "annotations.txt").read_text().count("::error") == 1
    assert case(result.report, BAD)["expectation"]["fit"] == "unexpected_pass"
    assert "Passes that were expected to fail" in (result.folder / "report.md").read_text()
    shown = runner("show", "latest", BAD)
    assert "expectation: passed; expected was failed: known for long" in shown.out

    result = run(entries=[ALL[0], {"test": ERRORS, "expect": "failed"}, ALL[2]])
    assert result.code == 1 and "2 failures as expected, 0 unexpected passes, 1 unexpected failure (" in closing(result)


def test_what_is_unexpected_stays_work(run):
    result = run(entries=ALL[:1])
    assert result.code == 1
    page = (result.folder / "report.md").read_text()
    work = page[page.index("## What to do first"):page.index("## Totals")]
    causes = page[page.index("## Failures by cause"):page.index("## Failures as expected")]
    for text in work, causes:
        assert ERRORS in text and BAD not in text
    assert "; 1 entry in " in page
    clusters = {cluster["example"].split(" ")[0]: cluster for cluster in result.report["clusters"]}
    assert {test: (clusters[test]["tests"], clusters[test]["expected"]) for test in (BAD, ERRORS)} == {BAD: (1, 1), ERRORS: (1, 0)}


def test_an_expected_xpassed_is_green_everywhere(runner, write_suite, tmp_path):
    suite = write_suite("marked", {"tests/test_marked.py": "import unittest\nclass M(unittest.TestCase):\n    @unittest.expectedFailure\n"
                                                           "    def test_marked(self):\n        pass\n"})
    words = (suite, "--python", sys.executable, "--shim", "off", "-q", "--junit", tmp_path / "junit.xml", "--ctrf", tmp_path / "ctrf.json", "--github")

    def failures():
        result = runner(*words)
        page = (result.folder / "report.md").read_text()
        assert "## Tests marked as expected failures that passed" in page and "## Unexpected passes" not in page
        return (result.code, int(ET.parse(tmp_path / "junit.xml").getroot().get("failures")),
                json.loads((tmp_path / "ctrf.json").read_text())["results"]["summary"]["failed"],
                (result.folder / "annotations.txt").read_text().count("::error"), "nothing needs attention" not in page)

    assert failures() == (1, 1, 1, 1, True)
    (suite / "expectations.json").write_text(json.dumps([{"test": "*::test_marked", "expect": "xpassed"}]))
    assert failures() == (0, 0, 0, 0, False)


def annotations(result):
    text = (result.folder / "annotations.txt").read_text()
    return text.count("::error "), text.count("::notice ")


def test_annotations_compare_with_what_the_run_before_expected(run):
    assert run("--github", entries=ALL).code == 0
    gone = run("--github", entries=ALL[1:2])
    assert gone.code == 1 and annotations(gone) == (2, 0), "both failed as expected in the run before"
    still = run("--github")
    assert still.code == 1 and annotations(still) == (0, 1), "now they failed in the run before, too"
    expired = run("--github", entries=[ALL[0], {**ALL[1], "until": "2020-01-31"}, ALL[2]])
    assert expired.code == 1 and annotations(expired) == (1, 0)


def test_an_unexpected_pass_is_annotated_once(run):
    for expected in ((1, 0), (0, 1)):
        result = run("--github", entries=ALL, env={"FIXED": "1"})
        assert result.code == 1 and annotations(result) == expected


def test_update_escapes_what_is_a_wildcard(runner, tmp_path, python):
    (tmp_path / "suite/tests").mkdir(parents=True)
    (tmp_path / "suite/suite.json").write_text(json.dumps({"format": 1, "name": "globs", "framework": "pytest"}))
    body = "import pytest\n@pytest.mark.parametrize('glob', ['*', 'a?', 'ab', '\\u202e'])\ndef test_glob(glob):\n    assert glob not in {}\n"
    module = tmp_path / "suite/tests/test_globs.py"
    words = ("suite", "--python", python, "--shim", "off", "-q")
    module.write_text(body.format("('*', 'a?', '\\u202e')"))
    assert runner(*words).code == 1
    assert runner("expect", "update").code == 0
    tests = [entry["test"] for entry in json.loads((tmp_path / "suite/expectations.json").read_text())["expectations"]]
    assert tests == [f"tests/test_globs.py::test_glob[{id}]" for id in (r"\*", r"\u202e", r"a\?")]
    assert runner(*words).code == 0
    module.write_text(body.format("('*', 'a?', '\\u202e', 'ab')"))
    result = runner(*words)
    assert result.code == 1 and "1 unexpected failure (" in closing(result), "no entry is for test_glob[ab]"


def test_a_project_may_have_another_programs_file(runner, tmp_path):
    project = tmp_path / "project"
    (project / "tests").mkdir(parents=True)
    (project / "tests/test_parts.py").write_text(TESTS)
    file = project / "expectations.json"
    words = (project, "--framework", "unittest", "--python", sys.executable, "--shim", "off")
    file.write_text('{"expect_column_to_exist": {"column": "a"}}')
    result = runner(*words)
    assert result.code == 1, result.err
    said = result.out + result.err
    assert said.count(f"{file} was not read: it is not the runner's; pass --expectations FILE to name another") == 1
    update = runner("expect", "update")
    assert update.code == 2 and "--expectations FILE" in update.err and "expect_column" in file.read_text()
    file.write_text(json.dumps(ALL))
    assert runner(*words).code == 0
    without = runner(*words, "--expectations", "none")
    assert without.code == 1 and "expectations:" not in without.out
    assert runner("rerun", "--failed", "-q").code == 1, "a rerun expects nothing, too"
    assert runner(*words, env={"COMPAT_EXPECTATIONS": "none"}).code == 1
    file.write_text('[{"test": "a", "expct": "failed"}]')
    invalid = runner(*words)
    assert invalid.code == 2 and 'did you mean "expect"?' in invalid.err
    assert invalid.err.strip().endswith(": if this file is not the runner's, pass --expectations FILE")
    named = runner(*words, "--expectations", file)
    assert named.code == 2 and "if this file is not the runner's" not in named.err, "the user named it"


def test_a_part_of_a_large_suite_starts_at_once(runner, write_suite):
    """Each entry is compared with each module that the run leaves out."""
    many = 2000
    suite = write_suite("large", {f"tests/test_modeling_{i:04}.py": "import unittest\nclass T(unittest.TestCase):\n    def test_t(self):\n        pass\n"
                                  for i in range(many)})
    (suite / "expectations.json").write_text(json.dumps([{"test": f"tests/test_modeling_{i:04}.py::T::test_gone", "expect": "failed"} for i in range(many)]))
    began = time.monotonic()
    result = runner(suite, "tests/test_modeling_0000.py", "--python", sys.executable, "--shim", "off", "-q")
    assert result.code == 0, result.out + result.err
    assert [note["test"] for note in result.report["expectations"]["notes"]] == ["tests/test_modeling_0000.py::T::test_gone"]
    assert time.monotonic() - began < 60


def test_the_most_specific_entry_wins_and_conditions_choose(run):
    specific = [{"test": "*", "expect": "passed"}, {"test": "*::test_bad", "expect": "failed"},
                {"test": "*::Parts::test_[!b]*", "expect": "crashed"},  # brackets are no wildcard
                {"test": ERRORS, "expect": ["failed", "errored"]}, {"test": SUBTESTS, "expect": "failed"}]
    result = run(entries=specific)
    assert result.code == 0, result.out
    assert "*::Parts::test_[!b]*: matches no test" in result.out

    for when, code in ((({"device": "cpu", "simulated": "off", "shim": False, "framework": "unittest", "os": ["linux", "macos"],
                          "python": ">=3.8,<4"}), 0),
                       ({"device": "mps"}, 1), ({"shim": True}, 1), ({"python": "<3"}, 1)):
        assert run(entries=[{**entry, "when": when} for entry in ALL]).code == code, when


def test_an_expired_entry_no_longer_applies(run):
    result = run(entries=[{**ALL[0], "until": "2020-01-31"}, *ALL[1:]])
    assert result.code == 1 and f"{BAD}: expired on 2020-01-31: no longer applies" in result.out
    assert run(entries=[{**ALL[0], "until": "2999-12-31"}, *ALL[1:]]).code == 0


def test_only_a_run_that_selected_everything_says_that_an_entry_matches_nothing(run, runner, suite):
    (suite / "tests/test_other.py").write_text(TESTS)
    others = [{**entry, "test": entry["test"].replace("test_parts", "test_other")} for entry in ALL]
    gone = [{"test": "tests/test_other.py::Parts::test_gone", "expect": "failed"}, {"test": "*::test_nowhere", "expect": "failed"},
            {"test": "tests/test_parts.py::Parts::test_gone", "expect": "failed"}]
    entries = [*ALL, *others, *gone]

    def unmatched(result):
        assert result.code == 0, result.out
        return {n["test"] for n in result.report["expectations"]["notes"] if n["kind"] == "unmatched"}

    assert unmatched(run(entries=entries)) == {entry["test"] for entry in gone}
    assert unmatched(run("tests/test_parts.py", entries=entries)) == {gone[2]["test"]}
    assert unmatched(run(BAD, entries=entries)) == set()
    assert unmatched(run("-k", "bad", entries=entries)) == set()
    for shard in ("1/2", "2/2"):
        runner(suite, "--python", sys.executable, "--shim", "off", "-q", "--shard", shard, "--results", shard[0])
    merged = runner("merge", "1", "2")
    assert merged.code == 0, merged.out + merged.err
    assert unmatched(merged) == {entry["test"] for entry in gone}


def test_module_and_crash_are_expected_like_tests(runner, write_suite):
    suite = write_suite("broken", {
        "tests/test_load.py": "import no_such_module\n",
        "tests/test_dies.py": "import os, unittest\nclass D(unittest.TestCase):\n    def test_dies(self):\n        os.abort()\n"
                              "    def test_lives(self):\n        pass\n"})
    words = (suite, "--python", sys.executable, "--shim", "off", "-q")
    assert runner(*words).code == 1
    (suite / "expectations.json").write_text(json.dumps([
        {"test": "tests/test_load.py::<module>", "expect": "errored"}, {"test": "tests/test_dies.py::D::test_dies", "expect": "crashed"}]))
    result = runner(*words)
    assert result.code == 0, result.out
    assert "2 failures as expected" in closing(result)


def test_update_makes_the_next_run_exit_0_and_is_minimal(run, runner, suite):
    file = suite / "expectations.json"
    assert run().code == 1
    assert runner("expect", "check").code == 1
    dry = runner("expect", "update", "--dry-run")
    assert dry.code == 0 and not file.exists()
    updated = runner("expect", "update")
    assert updated.code == 0, updated.err
    assert [line[0] for line in updated.out.splitlines()] == ["+", "+", "+"]
    entries = json.loads(file.read_text())["expectations"]
    assert entries == [{"test": test, "expect": state, "when": {"device": "cpu", "simulated": "off"}}
                       for test, state in ((BAD, "failed"), (ERRORS, "errored"), (SUBTESTS, "failed"))]
    assert runner("expect", "check").code == 0
    assert run().code == 0
    before = file.read_text()
    again = runner("expect", "update")
    assert again.out == "" and "nothing to change" in again.err and file.read_text() == before


def test_update_keeps_what_is_written_and_prints_a_patch_that_applies(run, runner, suite, tmp_path):
    file = suite / "expectations.json"
    here = '"when": {"device": "cpu", "simulated": "off"}'
    text = ('// Known failures.\n[\n'
            f'  {{"test": "{BAD}",   "expect": "failed",\n   {here}, "reason": "fixed soon"}}, // see the issue\n'
            f'  {{"test": "{ERRORS}", "expect": "failed", {here}, "reason": "keeps its reason"}},\n'
            f'  {{"test": "{SUBTESTS}", "expect": "failed", "when": {{"device": "mps"}}, "reason": "another device"}}\n]\n')
    file.write_text(text)
    assert run(env={"FIXED": "1"}).code == 1
    patch = runner("expect", "update", "--dry-run")
    assert file.read_text() == text and "dry run, nothing was written" in patch.err
    updated = runner("expect", "update")
    assert [line[0] for line in updated.out.splitlines()] == ["-", "~", "+"], updated.out
    expected = ('// Known failures.\n[\n'
                f'  {{"test": "{ERRORS}", "expect": "errored", {here}, "reason": "keeps its reason"}},\n'
                f'  {{"test": "{SUBTESTS}", "expect": "failed", "when": {{"device": "mps"}}, "reason": "another device"}},\n'
                f'  {{"test": "{SUBTESTS}", "expect": "failed", {here}}}\n]\n')
    assert file.read_text() == expected
    copy = tmp_path / "copy.json"
    copy.write_text(text)
    subprocess.run(["patch", "--silent", copy], input=patch.out, text=True, check=True)
    assert copy.read_text() == expected
    assert run(env={"FIXED": "1"}).code == 0


def test_a_stored_run_keeps_what_was_expected_of_it(run, runner, suite):
    result = run(entries=ALL)
    assert result.code == 0
    id = result.folder.name
    summary = result.report["expectations"]
    (suite / "expectations.json").write_text("[]")
    assert runner("report", id).code == 0
    assert result.report["expectations"] == summary
    assert closing(runner("show", id)) == closing(result)
    assert runner("reparse", id, "--apply").code == 0
    assert json.loads((result.results / "runs" / id / "record.jsonl").read_text().splitlines()[-1])["exit_code"] == 0
    assert runner("reparse", "--all").code == 0
    assert runner("report", id).code == 0
    assert result.report["expectations"] == summary
    assert runner("expect", "check", id).code == 1, "the file is another one now"
    assert runner("rerun", "--failed", id, "-q").code == 1, "a new run reads the file as it is"
    (suite / "expectations.json").write_text(json.dumps(ALL))
    assert runner("rerun", "--failed", id, "-q").code == 0


def test_a_resumed_run_keeps_them(program, runner, write_suite, tmp_path):
    suite = write_suite("long", {
        "tests/test_a.py": TESTS,
        "tests/test_b.py": "import pathlib, time, unittest\nclass B(unittest.TestCase):\n    def test_waits(self):\n"
                           "        pathlib.Path('started').touch()\n        time.sleep(0 if pathlib.Path('go').exists() else 600)\n"})
    entries = [{**entry, "test": entry["test"].replace("test_parts", "test_a")} for entry in ALL]
    (suite / "expectations.json").write_text(json.dumps(entries))
    words = [program, suite, "--python", sys.executable, "--shim", "off", "-q", "-j1", "--order", "as-listed"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 60
    while not (suite / "started").exists() and time.monotonic() < until:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    (suite / "go").touch()
    (suite / "expectations.json").write_text("[]")
    resumed = runner("resume", "-q")
    assert resumed.code == 0, resumed.out + resumed.err
    assert "3 failures as expected" in closing(resumed)


def test_bad_files_are_refused_before_anything_runs(run, runner, suite, tmp_path):
    file = suite / "expectations.json"
    for text, error in (('[\n  {"test": "a", "expect": "fail"}\n]', r'expectations\.json:2:27: "fail": expected a state'),
                        ('[{"tests": "a", "expect": "failed"}]', r'expectations\.json:1:3: unknown key "tests"; did you mean "test"\?'),
                        ("{", r"expectations\.json:1:2: not JSON"),
                        ('{"format": 2, "expectations": []}', "format 2 is newer than this runner supports")):
        file.write_text(text)
        result = run()
        assert result.code == 2 and re.search(error, result.err), result.err
        assert not (tmp_path / "results" / "runs").exists()
    file.unlink()
    result = run("--expectations", "none.json")
    assert result.code == 2 and "no such file of expectations" in result.err and "expect update" in result.err
    (tmp_path / "mine.json").write_text(json.dumps(ALL))
    assert run("--expectations", "mine.json").code == 0
    assert run(env={"COMPAT_EXPECTATIONS": str(tmp_path / "mine.json")}).code == 0


def test_a_suite_names_its_file(run, suite):
    definition = json.loads((suite / "suite.json").read_text())
    (suite / "suite.json").write_text(json.dumps({**definition, "expectations": "known/cpu.json"}))
    assert run().code == 2
    (suite / "known").mkdir()
    (suite / "known/cpu.json").write_text(json.dumps(ALL))
    assert run().code == 0


def test_a_simulated_device_has_expectations_of_its_own(runner, write_suite):
    suite = write_suite("devices", {"tests/test_double.py": """
import torch
import unittest


class Double(unittest.TestCase):
    def test_float64(self):
        torch.ones(2, dtype=torch.float64, device="mps" if torch.backends.mps.is_available() else "cpu")
"""})
    words = (suite, "--python", sys.executable, "-q")
    assert runner(*words).code == 0
    assert runner(*words, "--simulate", "mps").code == 1
    assert runner("expect", "update").code == 0
    assert json.loads((suite / "expectations.json").read_text())["expectations"][0]["when"] == {"device": "mps", "simulated": "mps"}
    assert runner(*words, "--simulate", "mps").code == 0
    assert runner(*words).code == 0, "nothing is expected of the CPU"
    going = runner(*words, "--simulate", "mps", "--keep-going")
    assert going.code == 0 and "expectations:" not in going.out, "where nothing is judged, nothing is expected"
    assert runner("expect", "update", runner("runs").out.split()[0]).code == 2, "`latest` is the run before"
