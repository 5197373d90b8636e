"""Tests `runner site`, `blame` and the site's pages of `serve` with real runs: what a browser shows from
disk, that every link leads somewhere, and that pages keep their bytes."""
import base64
import gzip
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import make_runner

SUITE = """import os, unittest
NIGHT = int(os.environ["NIGHT"])
class Ops(unittest.TestCase):
    def test_breaks(self):
        if NIGHT >= 3: raise ValueError("no <b>float64</b> \\u202e here")
    def test_flaky(self): self.assertNotEqual(NIGHT, 1)
    def test_fixed(self): self.assertEqual(NIGHT, 3)
    def test_good(self): pass
    @unittest.skip("never")
    def test_skipped(self): pass
"""
LATE = "import unittest\nclass Late(unittest.TestCase):\n    def test_late(self): pass\n"
BREAKS, FLAKY = "tests/test_ops.py::Ops::test_breaks", "tests/test_ops.py::Ops::test_flaky"
TABS = ["", "changes", "changes?cell=0&show=fixed", "flaky", "causes", "gaps", "growth"]


def address_of(test):
    return "test/" + urllib.parse.quote(test, safe="")


def part_of(page, name):
    text = re.search(f'id="part-{name}" data-encoding="gzip-base64">([^<]*)<', page.read_text())[1]
    return json.loads(gzip.decompress(base64.b64decode(text)))


def night(runner, folder, number, series, *words):
    result = runner(folder, "--python", sys.executable, "--shim", "off", "--name", series, "--env", f"NIGHT={number}", "-q", *words)
    assert result.code in (0, 1), result.err
    return result


@pytest.fixture(scope="module")
def project(program, tmp_path_factory):
    """Four nights of two series of a suite; the last has a module more."""
    folder = tmp_path_factory.mktemp("site")
    suite = folder / "alpha"
    (suite / "tests").mkdir(parents=True)
    for path, text in {"suite.json": json.dumps({"format": 1, "name": "alpha", "framework": "unittest", "layout": {"pythonpath": ["."]}}),
                       "tests/__init__.py": "", "tests/test_ops.py": SUITE}.items():
        (suite / path).write_text(text)
    runner = make_runner(program, folder)
    for number in range(4):
        if number == 3:
            (suite / "tests/test_late.py").write_text(LATE)
        night(runner, suite, number, "one")
    night(runner, suite, 0, "two")
    written = runner("site")
    assert written.code == 0, written.err
    return folder


class Reader:
    """A page of the site, and what it should not do: print, fail, or ask for anything else."""

    def __init__(self, browser, base, **options):
        self.base, self.faults, self.asked = base, [], []
        self.page = browser.new_page(**options)
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address):
        self.page.goto(self.base + address)
        self.page.wait_for_selector("html[data-ready=yes]")
        # Another address of the same file changes the page after its next frame.
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        self.page.wait_for_selector("main .note[role=status]", state="detached")
        return self.page


@pytest.fixture
def reader(browser, project):
    made = []

    def call(**options):
        made.append(Reader(browser, (project / "site").as_uri() + "/", **options))
        return made[-1]

    yield call
    for one in made:
        one.page.close()
        assert one.faults == []
        # Pages that were opened, and nothing else.
        assert {url.split("#")[0].rpartition(".")[2] for url in one.asked} <= {"html", "about:blank"}


def pages_of(site):
    return [*(f"index.html#/{tab}" for tab in TABS), "suites/alpha/index.html", "suites/alpha/index.html#/history",
            "suites/alpha/index.html#/causes", "suites/alpha/tests-0.html#/module/tests%2Ftest_ops.py",
            *(f"suites/alpha/tests-0.html#/{address_of(test)}" for test in (BREAKS, FLAKY, "no-such-test"))]


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_every_page_is_accessible_and_fits(reader, project, scheme, width):
    one = reader(viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    for address in pages_of(project / "site"):
        page = one.open(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        assert page.locator("h1").count() == 1, address
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"][:2]]) for one in found if one["impact"] in ("serious", "critical")] == [], address


def test_every_link_leads_to_a_file_of_the_site_and_to_a_page_that_it_has(reader, project):
    one = reader()
    site = project / "site"
    links = set()
    for address in pages_of(site):
        page = one.open(address)
        links |= set(page.evaluate("[...document.querySelectorAll('a[href]')].filter(a => !a.matches('.skip')).map(a => a.href)"))
    files = {urllib.parse.unquote(urllib.parse.urlsplit(link).path) for link in links if link.startswith("file:")}
    assert links and all(link.startswith(site.as_uri() + "/") for link in links), links
    assert all(pathlib.Path(file).is_file() for file in files)
    routes = {re.sub(r"(=|/tests%2F)[^&]*$", "", link): link for link in sorted(links) if ".html" in link}  # one of each kind
    for link in routes.values():
        page = one.open(link.removeprefix(one.base))
        assert "No such" not in page.inner_text("main"), link


def test_the_matrix_says_what_broke_and_what_changed_then(reader, project):
    page = reader().open("index.html")
    assert page.inner_text(".big").startswith("1 test broke in the newest runs; 1 fixed, 1 flaky")
    rates = page.locator("table.matrix .rate").all_inner_texts()
    assert [rate.split() for rate in rates] == [["80.0", "%", "4", "of", "5"]] * 2
    assert page.locator("h2", has_text="Broke in the newest runs").count() == 1 and page.locator(".cards > li").count() == 1
    card = page.locator(".cards > li").first.inner_text()
    assert "env.NIGHT 2 → 3" in card and BREAKS in card and "<b>float64</b> \\u202e" in card
    page.click(f"text={BREAKS}")
    page.wait_for_selector("h1 >> text=test_breaks")
    assert page.locator(".first-bad").first.inner_text().endswith("env.NIGHT 2 → 3")
    assert [box.get_attribute("class") for box in page.locator(".states-strip").first.locator(".box").all()] == ["box passed"] * 3 + ["box errored"]


def test_a_number_leads_to_the_tests_that_it_counts(reader, project):
    page = reader().open("index.html")
    page.locator(".cell-facts a", has_text="1 broken").first.click()
    page.wait_for_selector("html[data-ready=yes] .found")
    page.wait_for_function("document.querySelector('.found').innerText.startsWith('1 of')")
    assert "test_breaks" in page.inner_text(".virtual")
    page.click("nav >> text=All suites")
    page.wait_for_selector("h1 >> text=Which tests pass")


def test_a_published_report_has_no_links_to_files_that_are_not_published(reader, project):
    report = next((project / "site/runs").iterdir()) / "report.html"
    page = reader().open(f"runs/{report.parent.name}/report.html#/run")
    assert page.locator("a", has_text=re.compile("^log$")).count() == 0
    assert sorted(path.name for path in report.parent.iterdir()) == ["report.html"]


def test_unchanged_pages_keep_their_bytes_and_those_of_what_is_gone_are_removed(program, project, tmp_path):
    shutil.copytree(project / "results", tmp_path / "results", symlinks=True)
    shutil.copytree(project / "site", tmp_path / "site")
    runner = make_runner(program, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*") if path.is_file()}
    again = runner("site")
    assert "0 changed, 0 removed" in again.out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*") if path.is_file()} == before
    shutil.copytree(project / "alpha", tmp_path / "alpha")
    (tmp_path / "alpha/tests/test_late.py").unlink()
    night(runner, tmp_path / "alpha", 3, "one")
    night(runner, tmp_path / "alpha", 0, "two")
    old = {path.name for path in (tmp_path / "site/runs").iterdir()}
    assert "test_late" in json.dumps(part_of(tmp_path / "site/suites/alpha/tests-0.html", "tests"))
    later = runner("site")
    assert "2 removed" in later.out, later.out  # the reports of the runs before
    assert not old & {path.name for path in (tmp_path / "site/runs").iterdir()}
    assert "test_late" not in json.dumps(part_of(tmp_path / "site/suites/alpha/tests-0.html", "tests"))


def test_a_folder_that_is_no_site_stays_as_it_is(program, project, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    refused = make_runner(program, project)("site", "--out", tmp_path / "out")
    assert refused.code == 2 and "is not empty and is not a site" in refused.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_badges_are_images_that_say_the_rate(project):
    badges = sorted((project / "site/badge/alpha").iterdir())
    assert [badge.name for badge in badges] == ["cpu-series-one.svg", "cpu-series-two.svg"]
    root = xml.etree.ElementTree.parse(badges[0]).getroot()
    assert root.get("aria-label").startswith("alpha · cpu, series one: 80")


def test_serve_has_the_same_pages(program, project, browser):
    server = subprocess.Popen([program, "serve", "--port", "0"], cwd=project, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        base = server.stdout.readline().strip()
        one = Reader(browser, base + "site/")
        disk = Reader(browser, (project / "site").as_uri() + "/")
        for address in pages_of(project / "site")[::3]:
            assert one.open(address).inner_text("main") == disk.open(address).inner_text("main"), address
        page = one.open("index.html")
        page.locator(".cell-facts a", has_text="1 broken").first.click()
        page.wait_for_selector(".found >> text=/^1 of/")
        assert page.request.get(f"{base}site/badge/alpha/cpu-series-one.svg").headers["content-type"] == "image/svg+xml"
        assert page.request.get(f"{base}site/suites/alpha/nothing.html").status == 404
        assert [fault for fault in one.faults + disk.faults] == []
        one.page.close()
        disk.page.close()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=10)
        server.stdout.close()


def test_blame_says_since_when_and_what_changed(program, project):
    runner = make_runner(program, project)
    result = runner("blame", "test_breaks")
    assert result.code == 0, result.err
    one, two = result.out.split("\n\n")[1:3]
    lines = one.splitlines()
    assert lines[:2] == ["cpu, series one: broken", "    ...E"]
    # The module that the last night had more is a change of the source.
    assert lines[2].startswith("    changed    source.hash: ") and lines[3] == "               env.NIGHT: 2 -> 3"
    assert "last good  one_" in one and "first bad  one_" in one and "error      ValueError: no <b>float64</b>" in one
    assert two.splitlines()[0] == "cpu, series two: passing in all runs"
    assert "flaky: 1 of its last 4 runs show it" in runner("blame", FLAKY, "--series", "one").out
    assert "series two" not in runner("blame", FLAKY, "--series", "one").out
    other = runner("blame", FLAKY, "--column", "mps")
    assert other.code == 2 and "it is in cpu, series one (one), cpu, series two (two)" in other.err
    assert runner("blame", "no_such_test").code == 2
