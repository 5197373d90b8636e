#!/usr/bin/env bash
# pytest 9.2.0 with pytest-split 0.11.0, which "splits the test suite to equally sized sub suites"
# by the durations that --store-durations wrote: the time inside sub-tests of the fixture subtests
# is stored twice, so a test made of sub-tests counts double and the halves are unequal. The plugin
# sums the durations of all reports that have a test's id, and pytest gives a report of a sub-test
# the id and "call" of its test, whose own report holds the whole time once more. pytest's JUnit XML
# sums in the same way. subTest of unittest is stored right: pytest gives those reports no time.
# test_fixture takes 2 s and the four plain tests 1 s each, so equal groups take 3 s. Group 1 takes
# 2 s and group 2 takes 4 s.
#
# Seen, Python 3.11 (times as multiples of a plain test's):
#   stored: test_fixture 4, test_plain 1, test_unittest 2
#   JUnit XML: test_fixture 4, test_plain 1, test_unittest 2
#   groups without test_unittest: test_fixture | test_plain, test_plain, test_plain, test_plain
#
# Exits with 1 if that changes. Needs python3 (3.10 or newer).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile pytest==9.2.0 pytest-split==0.11.0

cat > "$folder/test_sleep.py" <<'TESTS'
import time
import unittest

import pytest


def test_fixture(subtests):
    for part in range(4):
        with subtests.test(part=part):
            time.sleep(0.5)


@pytest.mark.parametrize("number", range(4))
def test_plain(number):
    time.sleep(1)


class TestClass(unittest.TestCase):
    def test_unittest(self):
        for part in range(4):
            with self.subTest(part=part):
                time.sleep(0.5)
TESTS
cat > "$folder/program.py" <<'PROGRAM'
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

folder = pathlib.Path(__file__).parent


def pytest(*options):
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options, "test_sleep.py"]
    return subprocess.run(command, cwd=folder, text=True, check=True, stdout=subprocess.PIPE).stdout


def tell(name, times):
    times = {test.partition("[")[0]: time for test, time in sorted(times.items())}
    print(f"{name}:", ", ".join(f"{test} {round(time / times['test_plain'])}" for test, time in times.items()))


def group(number):
    split = ["--splits=2", f"--group={number}", "--splitting-algorithm=least_duration"]
    lines = pytest(*split, "--durations-path=durations.json", "-k", "not unittest").splitlines()
    return ", ".join(re.search(r"::(\w+)", line)[1] for line in lines if " PASSED" in line)


pytest("--store-durations", "--durations-path=durations.json", "--junit-xml=results.xml")
stored = json.loads((folder / "durations.json").read_text())
tell("stored", {test.rpartition("::")[2]: time for test, time in stored.items()})
cases = xml.etree.ElementTree.parse(folder / "results.xml").iter("testcase")
tell("JUnit XML", {case.get("name"): float(case.get("time")) for case in cases})
print("groups without test_unittest:", group(1), "|", group(2))
PROGRAM
"$folder/venv/bin/python" "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
