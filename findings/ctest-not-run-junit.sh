#!/usr/bin/env bash
# CTest (CMake 4.4.5) with junitparser 5.0.3: a test whose program was not built, or whose required
# file is missing, fails: "0% tests passed", exit 8, and CMake's page of REQUIRED_FILES says that it
# "will fail with status Not Run". In the JUnit XML of --output-junit the same test is <skipped>, as
# one that asked to be skipped, with failures="0" and errors="0". So "junitparser verify", which is
# to "return a non-zero exit code if one of the testcases failed or errored", exits with 0, and a CI
# service that reads the file shows no failure: a build so broken that nothing could be tested looks
# better than one with a failing test. A program that runs and fails is a <failure>.
#
# Seen, Python 3.11:
#   not built: ctest exit 8, 0% tests passed, 1 tests failed out of 1
#   not built: XML failures="0" errors="0" skipped="1", <skipped>; verify exit 0
#   file missing: ctest exit 8, 0% tests passed, 1 tests failed out of 1
#   file missing: XML failures="0" errors="0" skipped="1", <skipped>; verify exit 0
#   fails: ctest exit 8, 0% tests passed, 1 tests failed out of 1
#   fails: XML failures="1" errors="0" skipped="0", <failure>; verify exit 1
#   skips: ctest exit 0, 100% tests passed out of 1
#   skips: XML failures="0" errors="0" skipped="1", <skipped>; verify exit 0
#
# Exits with 1 if that changes. Needs python3 (3.10 or newer).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile cmake==4.4.5 ninja==1.13.0 junitparser==5.0.3

cat > "$folder/program.py" <<'PROGRAM'
import pathlib
import subprocess
import sys

import junitparser

TOOLS = pathlib.Path(sys.executable).parent
PROJECT = """
cmake_minimum_required(VERSION 4.0)
project(example NONE)
enable_testing()
add_test(NAME answer COMMAND {command})
set_tests_properties(answer PROPERTIES {properties})
"""
TESTS = {
    "not built": ("answer-tests", "TIMEOUT 60"),
    "file missing": ("cmake -E true", "REQUIRED_FILES answer.dat"),
    "fails": ("cmake -E false", "TIMEOUT 60"),
    "skips": ("cmake -E false", "SKIP_RETURN_CODE 1"),
}


def run(tool, *arguments):
    return subprocess.run([TOOLS / tool, *arguments], text=True, capture_output=True)


for name, (command, properties) in TESTS.items():
    folder = pathlib.Path(__file__).parent / name
    folder.mkdir()
    command = command.replace("cmake", str(TOOLS / "cmake"))
    (folder / "CMakeLists.txt").write_text(PROJECT.format(command=command, properties=properties))
    make = f"-DCMAKE_MAKE_PROGRAM={TOOLS / 'ninja'}"
    run("cmake", "-G", "Ninja", make, "-S", folder, "-B", folder).check_returncode()
    tested = run("ctest", "--test-dir", folder, "--output-junit", folder / "r.xml")
    [closing] = [line for line in tested.stdout.splitlines() if "tests passed" in line]
    print(f"{name}: ctest exit {tested.returncode}, {closing}")
    [suite] = junitparser.JUnitXml.fromfile(str(folder / "r.xml"))
    [test] = suite
    totals = f'failures="{suite.failures}" errors="{suite.errors}" skipped="{suite.skipped}"'
    state = "failure" if test.is_failure else "skipped" if test.is_skipped else "passed"
    verified = run("junitparser", "verify", folder / "r.xml")
    print(f"{name}: XML {totals}, <{state}>; verify exit {verified.returncode}")
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
