#!/usr/bin/env python3
"""How fast a large report.html is in Chromium: until it can be used, a filter, an order, scrolling.

    .venv/bin/python tests/bench/report_page.py REPORT.HTML

bench_reports makes one of 100,000 tests. Bounds: usable in 2 s, a filter in 100 ms, no empty place
while scrolling, no request, less than 1 MB before the first screen.
"""
import argparse
import pathlib
import shutil
import statistics

from playwright.sync_api import sync_playwright

AFTER_PAINT = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
ACTIONS = {
    "search": ["kernel", "test 7", "q", "no such words", ""],
    "state": [0, 1, 0, 1, 1],
    "group": ["state", "module", "folder", "cause", ""],
    "order": [0, 1, 2, 1, 0],
}
SCRIPTS = {
    "search": "const field = document.querySelector('input[type=search]'); field.value = value; field.dispatchEvent(new Event('input', {bubbles: true}));",
    "state": "document.querySelectorAll('.toggle')[value].click();",
    "group": "const list = [...document.querySelectorAll('.selects select')].at(-1); list.value = value; list.dispatchEvent(new Event('change', {bubbles: true}));",
    "order": "document.querySelectorAll('.heads button')[value].click();",
}
SCROLL = """async () => {
  const list = document.querySelector('.scroller'), box = list.getBoundingClientRect();
  let empty = 0;
  for (let i = 0; i < 200; i++) {
    list.scrollTop += i % 10 == 9 ? 50000 : 400;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const y of [4, box.height / 2, box.height - 4])
      if (!document.elementFromPoint(box.left + 200, box.top + y)?.closest('.row')) empty++;
  }
  return empty;
}"""


def main():
    parser = argparse.ArgumentParser(description="Measure a large report.html in Chromium.")
    parser.add_argument("report", type=pathlib.Path)
    report = parser.parse_args().report.resolve()
    requests = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{report.as_uri()}#/tests")
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_selector(".space .row")
        usable = page.evaluate("performance.now()")
        paint = page.evaluate("performance.getEntriesByType('paint')[0].startTime")
        text = report.read_text()
        needed = text.index('id="part-')
        print(f"file                 {len(text) / 1e6:8.1f} MB, {needed / 1e6:.2f} MB before the first screen")
        print(f"first paint          {paint:8.0f} ms")
        print(f"usable               {usable:8.0f} ms; {page.inner_text('.found')}")
        page.wait_for_timeout(1500)
        for name, values in ACTIONS.items():
            times = [page.evaluate(f"async (value) => {{ const begin = performance.now(); {SCRIPTS[name]} {AFTER_PAINT} return performance.now() - begin; }}", value)
                     for value in values]
            print(f"{name:20} {max(times):8.0f} ms at most, {statistics.median(times):.0f} ms in the middle")
        print(f"scrolling            {page.evaluate(SCROLL):8d} empty places of 600; {page.locator('.space .row').count()} rows in the document")
        print(f"requests             {len(requests) - 1:8d} besides the page")
        browser.close()


if __name__ == "__main__":
    main()
