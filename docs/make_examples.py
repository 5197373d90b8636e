"""Makes docs/example-report and docs/images again, from real runs of a group of gpytorch's tests.

    .venv/bin/python docs/make_examples.py [FOLDER]

Needs a built runner, the tests' environment (./bootstrap.sh test makes it) and Chromium. Works in
FOLDER, an empty one under /tmp by default, with an installed runner and a cache of its own, so that
no path of the machine is in what it makes. Takes about five minutes. Not a test: look at the result.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
TARGET = ["gpytorch", "test/priors"]  # 33 of its 86 tests ask for CUDA
WINDOW = {"width": 1200, "height": 860}


def run(folder, *words, codes=(0, 1)):
    environment = {"HOME": str(folder / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                   "COMPAT_CACHE": str(folder / "cache"),
                   **{name: value for name, value in os.environ.items() if name.startswith("PIP_")}}
    print("$ runner", *words, flush=True)
    done = subprocess.run([folder / "runner/bin/runner", *words], cwd=folder, env=environment)
    if done.returncode not in codes:
        sys.exit(f"make_examples.py: runner {' '.join(words)} ended with {done.returncode}")


def picture(file, name):
    """docs/images/NAME-light.png and -dark.png, as a window shows `file`."""
    (DOCS / "images").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=WINDOW, color_scheme=scheme)
            page.goto(file.resolve().as_uri())
            page.wait_for_selector("html[data-ready=yes]")
            page.screenshot(path=DOCS / "images" / f"{name}-{scheme}.png")
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="/tmp/runner-example", type=pathlib.Path)
    folder = parser.parse_args().folder.absolute()
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"make_examples.py: {folder} is not empty: remove it, or name another folder")
    (folder / "home").mkdir(parents=True)
    subprocess.run(["cmake", "--install", ROOT / "build/release", "--prefix", folder / "runner"], check=True,
                   stdout=subprocess.DEVNULL)
    suite = str(folder / "runner/share/runner/suites" / TARGET[0])
    run(folder, suite, *TARGET[1:], "--simulate", "mps")
    run(folder, suite, *TARGET[1:], "--simulate", "mps")
    example = DOCS / "example-report"
    example.mkdir(exist_ok=True)
    for name in ("report.md", "report.json"):
        shutil.copyfile(folder / "results/latest" / name, example / name)
    picture(folder / "results/latest/report.html", "report")
    run(folder, "porting", suite, *TARGET[1:])
    picture(max((folder / "results/porting").glob("*/porting.html")), "porting")


if __name__ == "__main__":
    os.umask(0o022)
    main()
