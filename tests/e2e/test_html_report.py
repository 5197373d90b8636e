"""report.html in Chromium, as a reader opens it: from disk, with results of a suite that tries to break the page."""
import json
import sys
import urllib.parse

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import make_runner

SUITE = r'''
import pytest

HOSTILE = {
    "script": "<script>document.title = 'owned'</script>",
    "image": "<img src=x onerror=\"document.title = 'owned'\">",
    "ends": "]]> --> </script></style></pre> &lt; <!-- ${title} {{title}}",
    "terminal": "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell \x00 nul",
    "directions": "left \u202eright\u202c \u2066isolate \u200bzero width",
    "long": "x" * 1_000_000,
    "surrogate": "\udc80 and \ud83d",
}

@pytest.mark.parametrize("name", HOSTILE)
def test_message(name):
    raise ValueError(HOSTILE[name])

@pytest.mark.parametrize("value", ["<b>bold</b>", "a" * 10_000, "<script>1</script>", "../../etc/passwd", "a?b#c&d=%2e"], ids=str)
def test_name(value):
    assert not value

def test_secret():
    print("the log says so: HF_TOKEN=s3cr3tvalue \x1b[31m<b>red</b>")
    assert False

@pytest.mark.skip(reason="<a href='javascript:alert(1)'>click</a>")
def test_skipped():
    pass

@pytest.mark.parametrize("i", range(300))
def test_good(i):
    pass
'''
TABS = ["", "tests", "tests?group=cause", "errors", "gaps", "devices", "history", "run"]


@pytest.fixture(scope="module")
def report(program, tmp_path_factory):
    """A run of the hostile suite: the folder of the run."""
    folder = tmp_path_factory.mktemp("hostile")
    suite = folder / "suite"
    suite.mkdir()
    (suite / "test_hostile.py").write_text(SUITE)
    result = make_runner(program, folder)(suite, "--python", sys.executable, "--shim", "off", "--framework", "pytest")
    assert result.code == 1, result.err
    return result.folder


class Reader:
    """A page of the report, and everything that it should not do."""

    def __init__(self, browser, file, **options):
        self.file, self.faults = file, []
        self.page = browser.new_page(**options)
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: request.url.startswith(self.file.as_uri()) or self.faults.append(f"request: {request.url}"))

    def open(self, tab=""):
        self.page.goto("about:blank")
        self.page.goto(f"{self.file.as_uri()}#/{tab}")
        self.page.wait_for_selector("html[data-ready=yes]")
        self.page.wait_for_selector("main .note[role=status]", state="detached")
        return self.page

    def open_test(self, test):
        return self.open("test/" + urllib.parse.quote(test, safe=""))


@pytest.fixture
def reader(browser, report):
    made = []

    def call(**options):
        made.append(Reader(browser, report / "report.html", **options))
        return made[-1]

    yield call
    for one in made:
        one.page.close()
        assert one.faults == []


def cases(report):
    return [case for module in json.loads((report / "report.json").read_text())["modules"] for case in module["cases"]]


def test_numbers_are_those_of_report_json(reader, report):
    totals = json.loads((report / "report.json").read_text())["totals"]
    page = reader().open("tests")
    assert page.inner_text(".found") == f"{totals['collected']} tests"
    shown = {chip.split()[1]: int(chip.split()[-1]) for chip in page.locator(".toggle").all_inner_texts()[1:]}
    assert shown == {state: totals[state] for state in shown} and sum(shown.values()) == totals["collected"]


@pytest.mark.parametrize("test", ["test_message", "test_name", "test_skipped"])
def test_hostile_text_is_shown_as_text(reader, report, test):
    one = reader()
    for case in cases(report):
        if f"::{test}" not in case["id"]:
            continue
        page = one.open_test(case["id"])
        assert page.locator("h1 .name").inner_text().startswith(case["id"].split("::", 1)[1][:50])
        assert page.title() != "owned"
        assert page.locator("#app img, #app script, #app b, #app [onerror], a[href^=javascript]").count() == 0
        text = page.locator("#app").inner_text()
        assert not set(text) & set("\x00\x07\x1b\u202e\u202c\u2066\u200b")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"


def test_what_the_hostile_messages_say_is_still_there(reader, report):
    ids = {case["id"].split("[")[1].rstrip("]"): case["id"] for case in cases(report) if "test_message" in case["id"]}
    one = reader()
    for name, words in {"script": "<script>document.title = 'owned'</script>", "ends": "]]> --> </script></style></pre> &lt; <!-- ${title} {{title}}",
                        "directions": r"left \u202eright\u202c", "terminal": "bell"}.items():
        assert words in one.open_test(ids[name]).inner_text("article"), name
    page = one.open_test(ids["long"])
    assert "Show all 65,505 characters" in page.inner_text("article")
    assert page.evaluate("document.body.innerText.length") < 100_000


def test_a_failing_test_shows_its_log_and_a_text_for_an_issue(reader, report):
    secret = next(case["id"] for case in cases(report) if "test_secret" in case["id"])
    page = reader(permissions=["clipboard-read", "clipboard-write"]).open_test(secret)
    log = page.locator("section", has=page.locator("h2", has_text="Log"))
    assert not log.locator("pre").is_visible(), "it is folded"
    log.locator("summary").click()
    assert "From line" in log.inner_text() and "HF_TOKEN=<set>" in log.inner_text() and "the log says so" in log.inner_text()
    assert "s3cr3t" not in page.inner_text("#app")
    assert "s3cr3t" not in (report / "report.md").read_text() + (report / "report.json").read_text()
    page.get_by_role("button", name="Copy for an issue").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.includes('## To reproduce'))")
    assert "s3cr3t" not in page.evaluate("navigator.clipboard.readText()")


def test_filters_are_in_the_address(reader):
    one = reader()
    page = one.open("tests")
    page.fill("input[type=search]", "name[ bold")
    page.locator(".toggle", has_text="failed").click()
    page.select_option("select >> nth=-1", "state")
    page.wait_for_function("document.querySelector('.found').innerText.startsWith('1 of')")
    address = page.evaluate("location.hash")
    assert {"q": ["name[ bold"], "state": ["failed"], "group": ["state"]} == urllib.parse.parse_qs(address.split("?")[1])
    again = one.open(address[2:])
    assert again.inner_text(".found").startswith("1 of")
    assert again.locator(".space .row").all_inner_texts()[0].split() == ["▾", "failed", "1"]
    assert "<b>bold</b>" in again.locator(".space .row").nth(1).inner_text()


def test_words_that_nothing_has_are_said_so_and_can_be_cleared(reader):
    page = reader().open("tests?q=nothing-has-this")
    page.click("text=Clear the filters")
    page.wait_for_function("!document.querySelector('.found').innerText.includes('of')")


def test_the_keyboard_reaches_everything(reader):
    page = reader().open("tests?q=good&sort=name")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.focus(".scroller")
    for key in ("ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
    page.wait_for_selector(".row.active >> text=test_good[9]")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1 >> text=test_good[9]")
    page.go_back()
    page.wait_for_selector(".space .row >> text=test_good[9]")


def test_the_list_scrolls_without_gaps(reader):
    page = reader().open("tests")
    empty = page.evaluate("""async () => {
      const list = document.querySelector('.scroller'), box = list.getBoundingClientRect();
      let empty = 0;
      for (let i = 0; i < 40; i++) {
        list.scrollTop += 253;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        for (const y of [4, box.height / 2, box.height - 4])
          if (!document.elementFromPoint(box.left + 200, box.top + y).closest('.row')) empty++;
      }
      return empty;
    }""")
    assert empty == 0
    assert page.locator(".space .row").count() < 120


def test_links_to_copied_sources_show_the_line(reader, report):
    case = next(case for case in cases(report) if "test_skipped" in case["id"])
    assert case["url"].startswith("source/")
    page = reader().open_test(case["id"])
    page.click(".facts .place")
    page.wait_for_selector(".source .row.active")
    assert "def test_skipped" in page.locator(".source .row").filter(has=page.locator(f".lineno >> text=/^{case['line']}$/")).inner_text()


def test_paper_has_every_row_that_the_filter_shows(reader):
    page = reader().open("tests?q=good")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_selector(".print-only li")
    assert page.locator(".print-only li").count() == 300
    assert not page.locator(".virtual").is_visible()


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_every_page_is_accessible_and_fits(reader, report, scheme, width):
    one = reader(viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    failing = next(case["id"] for case in cases(report) if "directions" in case["id"])
    for tab in [*TABS, "test/" + urllib.parse.quote(failing, safe=""), "no-such-page"]:
        page = one.open(tab)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert page.locator("h1").count() == 1, tab
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"][:2]]) for one in found if one["impact"] in ("serious", "critical")] == [], tab
