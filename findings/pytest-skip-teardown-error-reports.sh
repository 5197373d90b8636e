#!/usr/bin/env bash
# pytest 9.2.0 with pytest-json-ctrf 0.6.1 and allure-pytest 2.16.2: if a test skips and the
# teardown of its fixture fails, pytest counts an error, exits with 1, and has it in the JUnit XML.
# The CTRF report has 1 skipped and 0 failed tests, with the message of the skip, and Allure's
# result is "skipped". A service that reads either shows a session in which nothing failed. If the
# test passes, both have the failing teardown: pytest-json-ctrf as "failed", Allure as "broken".
#
# Seen, Python 3.11:
#   skips: exit 1, 1 skipped, 1 error
#   skips, JUnit XML: 0 failures, 1 errors, 1 skipped
#   skips, CTRF: 0 passed, 0 failed, 1 skipped; message no data
#   skips, Allure: skipped
#   passes: exit 1, 1 passed, 1 error
#   passes, JUnit XML: 0 failures, 1 errors, 0 skipped
#   passes, CTRF: 0 passed, 1 failed, 0 skipped; message RuntimeError: cannot stop the server
#   passes, Allure: broken
#
# Exits with 1 if that changes. Needs python3 (3.10 or newer).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile pytest==9.2.0 pytest-json-ctrf==0.6.1 allure-pytest==2.16.2

cat > "$folder/program.py" <<'PROGRAM'
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

TEST = """
import pytest


@pytest.fixture
def server():
    yield
    raise RuntimeError("cannot stop the server")


def test_answer(server):
    {body}
"""


def tell(kind, body):
    folder = pathlib.Path(__file__).parent / kind
    folder.mkdir()
    (folder / "test_server.py").write_text(TEST.format(body=body))
    reports = ["--junit-xml=r.xml", "--ctrf=ctrf.json", "--alluredir=allure"]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *reports]
    run = subprocess.run(pytest, cwd=folder, text=True, stdout=subprocess.PIPE)
    print(f"{kind}: exit {run.returncode}, {run.stdout.splitlines()[-1].partition(' in ')[0]}")
    [suite] = xml.etree.ElementTree.parse(folder / "r.xml").getroot()
    print(f"{kind}, JUnit XML:", ", ".join(f"{suite.get(word)} {word}" for word in ("failures", "errors", "skipped")))
    ctrf = json.loads((folder / "ctrf.json").read_text())["results"]
    [test] = ctrf["tests"]
    counts = ", ".join(f"{ctrf['summary'][word]} {word}" for word in ("passed", "failed", "skipped"))
    print(f"{kind}, CTRF: {counts}; message {test.get('message')}")
    [result] = (folder / "allure").glob("*-result.json")
    print(f"{kind}, Allure:", json.loads(result.read_text())["status"])


tell("skips", 'pytest.skip("no data")')
tell("passes", "pass")
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
