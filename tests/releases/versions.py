"""Builds the shim for versions of torch, runs its tests with each, and stores a result file for each.

Started by tests/versions.sh. Environments and builds are in $XDG_CACHE_HOME/runner/tests/versions, in
a folder of this checkout, and are removed at the end without --keep; logs stay. A part that ends early leaves no figure, and code
that no commit has leaves none.
"""

import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

import result_files
from result_files import ROOT, SUITES, WAYS, NotStored

PLACE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "runner/tests/versions",
                     hashlib.sha256(str(ROOT).encode()).hexdigest()[:8])
RUNNER = pathlib.Path(os.environ.get("COMPAT_RUNNER") or ROOT / "build/release/bin/runner")
WATCH = ROOT / "tests/releases/watch.sh"
BROKEN = ("failed", "errored", "crashed", "timed_out", "not_run")  # states of a suite's tests
NO_REASON = "no reason given"
# Folder and arguments of the parts that pytest runs.
PYTEST = {
    "conformance": ("suites/conformance", ["tests"]),
    "tests": ("tests/shim", ["--ignore=test_macos_build.py", "."]),
    "smoke": ("tests/shim", ["test_hosts.py"]),
}
ABOUT = """
import json, platform, sys, torch
print(json.dumps({"torch": torch.__version__, "python": platform.python_version(),
    "abi": f"cp{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}", "system": platform.system().lower(),
    "machine": platform.machine(),
    "accelerator": torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else None}))
"""


class Stop(Exception):
    """Why a version, or a part of it, could not be run to its end."""


# Also a program that is missing, or that fails where its output is needed.
ENDS = (Stop, NotStored, OSError, subprocess.SubprocessError)


def say(text):
    print(text, file=sys.stderr, flush=True)


def call(log, command, **options):
    """Runs a command with its output added to a log; returns its exit status."""
    with open(log, "a") as out:
        return subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, **options).returncode


def must(log, name, command, **options):
    if status := call(log, command, **options):
        raise Stop(f"{name} failed with {status}: {log}")


class Version:
    """One torch: its environment, the shim built for it, and the rows of the closing table."""

    def __init__(self, version, environment=None, suites=False):
        self.version, self.folder, self.suites = version, PLACE / version, suites
        self.python = python_of(environment) if environment else self.folder / "venv/bin/python"
        self.given = environment is not None
        self.about, self.library, self.rows, self.bad = None, None, [], False
        if self.given:
            self.ask()

    def ask(self):
        done = subprocess.run([self.python, "-c", ABOUT], capture_output=True, text=True)
        if done.returncode:
            raise Stop(f"{self.python} has no torch: {(done.stderr.strip() or NO_REASON).splitlines()[-1]}")
        self.about = json.loads(done.stdout.splitlines()[-1])
        if self.version not in (self.about["torch"], self.about["torch"].partition("+")[0]):
            raise Stop(f"{self.python} has torch {self.about['torch']}, not {self.version}")

    def log(self, part):
        return self.folder / f"{part.replace(', ', '-').replace(' ', '-')}.log"

    def make(self):
        """The environment, unless it was given or kept."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.given:
            return
        log = self.log("pip")
        log.unlink(missing_ok=True)
        must(log, "venv", [os.environ.get("PYTHON", "python3"), "-m", "venv", self.folder / "venv"])
        # Where a system pins torch, the version asked for is installed all the same.
        must(log, "pip install", [self.python, "-m", "pip", "install", "-q", f"torch=={self.version}", "-r",
                                  ROOT / "tests/requirements.txt"], env={**os.environ, "PIP_CONSTRAINT": "/dev/null"})
        self.ask()

    def clean(self, text):
        """Without paths of this machine, on one line."""
        for path, word in ((self.python.parents[1], "ENVIRONMENT"), (self.folder, "BUILD"), (ROOT, "."), (tempfile.gettempdir(), "TMP")):
            text = text.replace(str(path), word)
        return (text.strip().splitlines() or [NO_REASON])[0][:300]

    def run(self, part, body):
        """Runs a part, whose body returns its figures, and stores them."""
        say(f"{self.version}: {part}")
        began, state, note = time.monotonic(), None, "stored"
        self.log(part).unlink(missing_ok=True)
        try:
            state = result_files.code_state(ROOT, part)
        except NotStored as reason:
            note = f"not stored: {reason}"
            say(note)
        try:
            figure = {**body(part), "seconds": round(time.monotonic() - began)}
            if state and state["code"] != result_files.code_state(ROOT, part)["code"]:
                state, note = None, "not stored: the code changed meanwhile"
        except ENDS as reason:
            self.bad = True
            self.rows.append([self.version, part, "", "", "", "", f"no result: {reason}"])
            return False
        if state:
            result_files.store(ROOT, self.about, part, {**state, "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}", **figure})
            result_files.update_page(ROOT)
        self.bad |= figure["failed"] > 0
        self.rows.append([self.about["torch"], part, *(figure[key] for key in ("passed", "failed", "skipped", "seconds")), note])
        for name in figure["failures"]:
            say(f"  failed: {name}")
        return not figure["failed"]

    def build(self, part):
        """By CMake alone; where suites run, by the runner, which needs the library in its cache."""
        log = self.log(part)
        if self.suites:
            commands = [[RUNNER, "prepare", ROOT / "suites/conformance", "--python", self.python]]
        else:
            commands = [["cmake", "-S", ROOT / "shim", "-B", self.folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                         f"-DPython_EXECUTABLE={self.python}", f"-DCMAKE_INSTALL_PREFIX={self.folder / 'lib'}"],
                        ["cmake", "--build", self.folder / "build"], ["cmake", "--install", self.folder / "build"]]
        failed = any(call(log, command) for command in commands)
        text = log.read_text(errors="replace")
        if found := re.findall(r"^shim: (.+)", text, re.M) or sorted(map(str, (self.folder / "lib").glob("_compat_shim.*"))):
            self.library = found[-1]
        errors = [line for line in text.splitlines() if re.search(r"\berror\b", line, re.I)] or text.splitlines()[-1:] or ["no output"]
        return {"passed": int(not failed), "failed": int(failed), "skipped": 0, "skips": {},
                "failures": [self.clean(errors[0])] if failed else []}

    def pytest(self, part):
        folder, arguments = PYTEST[part]
        results = self.folder / "results.xml"
        results.unlink(missing_ok=True)
        ours = ("ACTIVATE_", "COMPAT_", "PYTEST_", "TORCHDEVICE_")
        env = {key: value for key, value in os.environ.items() if not key.startswith(ours)} | {"COMPAT_SHIM_LIBRARY": self.library}
        if part == "conformance":
            env |= {"PYTHONPATH": str(ROOT / "shim/python/activate"), "ACTIVATE_TORCH_DEVICE": "1", "TORCHDEVICE_MODE": "missing",
                    "OMP_NUM_THREADS": "1"}
        status = call(self.log(part), [self.python, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider",
                                       "--continue-on-collection-errors", f"--junitxml={results}", *arguments], cwd=ROOT / folder, env=env)
        if status not in (0, 1):
            raise Stop(f"pytest ended with {status}: {self.log(part)}")
        return read_junit(results, self.clean)

    def suite_environment(self):
        """An environment that has the suites' requirements, and torch from this version's."""
        folder = self.folder / "suites"
        log = self.log("pip-suites")
        log.unlink(missing_ok=True)
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        packages = subprocess.run([self.python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
        must(log, "venv", [self.python, "-m", "venv", "--clear", folder])
        python = folder / "bin/python"
        own = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
        pathlib.Path(own, "torch_of_version.pth").write_text(packages + "\n")
        pins = {line for suite in SUITES for line in (ROOT / "suites" / suite / "requirements.txt").read_text().splitlines()
                if line and not line.startswith(("#", "torch=="))}
        must(log, "pip install", [python, "-m", "pip", "install", "-q", "--no-deps", *sorted(pins)],
             env={**os.environ, "PIP_CONSTRAINT": "/dev/null"})
        return folder

    def suite(self, environment, part):
        suite, way = part.split(", ")
        results = self.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        status = call(self.log(part), [RUNNER, ROOT / "suites" / suite, "--python", environment, "--isolate", "tree", "--results", results,
                                       "--expectations", ROOT / f"tests/releases/expectations/{suite}.json", "--progress", "plain",
                                       *WAYS[way]])
        if status not in (0, 1):
            raise Stop(f"runner ended with {status}: {self.log(part)}")
        (report,) = results.glob("runs/*/report.json")
        return read_report(json.loads(report.read_text()), status, self.clean)


def python_of(environment):
    path = pathlib.Path(environment).expanduser().absolute()
    return path / "bin/python" if path.is_dir() else path


def figures(tests, clean):
    """Counts of (name, outcome, reason); outcomes are passed, failed, skipped, and expected for a known failure."""
    number = collections.Counter(outcome for _, outcome, _ in tests)
    skips = collections.Counter(clean(reason) for _, outcome, reason in tests if outcome == "skipped")
    return {"passed": number["passed"], "failed": number["failed"], "skipped": number["skipped"],
            **({"expected": number["expected"]} if number["expected"] else {}),
            "skips": dict(sorted(skips.items())), "failures": sorted(clean(name) for name, outcome, _ in tests if outcome == "failed")}


def read_junit(path, clean):
    """The figures of a run of pytest. An expected failure counts as skipped."""
    tests = {}
    for case in ET.parse(path).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}".lstrip(":")
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            tests[name] = ("failed", "")
        elif skip is not None:
            expected = "expected failure: " if skip.get("type") == "pytest.xfail" else ""
            tests.setdefault(name, ("skipped", expected + (skip.get("message") or NO_REASON)))
        else:
            tests.setdefault(name, ("passed", ""))
    return figures([(name, *rest) for name, rest in tests.items()], clean)


def read_report(report, status, clean):
    """The figures of a run of a suite: failed is what differs from its expectations."""
    tests = []
    for case in (case for module in report["modules"] for case in module["cases"]):
        fit = (case["expectation"] or {}).get("fit") or ("unexpected_failure" if case["state"] in BROKEN else "as_expected")
        outcome = ("failed" if fit != "as_expected" else "expected" if case["state"] in BROKEN
                   else "skipped" if case["state"] in ("skipped", "xfailed") else "passed")
        prefix = "expected failure: " if case["state"] == "xfailed" else ""
        tests.append((f"{case['id']} ({case['state']})" if outcome == "failed" else case["id"], outcome, prefix + (case["reason"] or NO_REASON)))
    if status and not any(outcome == "failed" for _, outcome, _ in tests):
        tests.append((f"the run as a whole (exit code {status})", "failed", ""))
    return figures(tests, clean)


def run_version(version, smoke, keep):
    """All parts of one version, each stored as it ends."""
    try:
        version.make()
        if version.run("build", version.build):
            for part in ("conformance", "smoke" if smoke else "tests"):
                version.run(part, version.pytest)
            if version.suites:
                environment = version.suite_environment()
                for part in (f"{suite}, {way}" for suite in SUITES for way in WAYS):
                    version.run(part, lambda part: version.suite(environment, part))
    except ENDS as reason:
        version.bad = True
        version.rows.append([version.version, "environment", "", "", "", "", f"no result: {reason}"])
    finally:
        for folder in () if keep else ("venv", "build", "lib", "suites", "results"):
            shutil.rmtree(version.folder / folder, ignore_errors=True)


def newest_torch(python):
    """The newest torch that pip finds for this Python. Stops where a newer Python gets a newer torch."""
    def ask(*options):
        done = subprocess.run([python, "-m", "pip", "index", "versions", "torch", *options], capture_output=True, text=True,
                              env={**os.environ, "PIP_CONSTRAINT": "/dev/null"})
        found = re.search(r"^torch \((.+)\)", done.stdout, re.M)
        return found[1] if found else None

    minor = int(subprocess.check_output([python, "-c", "import sys; print(sys.version_info[1])"]))
    if not (own := ask()):
        raise Stop(f"pip of {python} found no torch")
    for other in (f"3.{n}" for n in range(minor + 1, minor + 5)):
        version = ask("--python-version", other, "--only-binary", ":all:")
        if version and result_files.version_key(version)[0] > result_files.version_key(own)[0]:
            raise Stop(f"torch {version} needs Python {other} or another one that is newer than {python}'s: set PYTHON")
    return own


def known_torch(root):
    """The newest torch with a committed result: another week's file does not count."""
    names = [pathlib.Path(name).name for name in result_files.git(root, "ls-files", result_files.FOLDER).splitlines()]
    return max((name.partition("-")[0].partition("+")[0] for name in names), key=result_files.version_key, default=None)


def watch(known, newest):
    """What changed in torch since the newest one that we know: a row, the lines to decide, and whether there are any."""
    newest = newest.partition("+")[0]
    if known is None or result_files.version_key(known) >= result_files.version_key(newest):
        return [newest, "watch", "", "", "", "", f"nothing to compare with: the newest known is {known}"], "", False
    began = time.monotonic()
    done = subprocess.run([WATCH, known, newest], stdout=subprocess.PIPE, text=True)
    words = {0: "nothing to decide", 1: "something to decide, below"}.get(done.returncode, f"no result: ended with {done.returncode}")
    words = ": ".join([words, *done.stdout.splitlines()[:1]])  # which counts the lines
    return ([newest, f"watch, since {known}", "", "", "", round(time.monotonic() - began), words],
            f"\n{done.stdout}" if done.returncode else "", done.returncode != 0)


def arguments(words):
    parser = argparse.ArgumentParser(prog="tests/versions.sh", description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION[=ENVIRONMENT]", help="such as 2.15.0, 2.13.0+cpu or 2.8.0=~/venvs/torch28, "
                        "an environment that has torch and tests/requirements.txt; one that is made for a CUDA build takes 5 GB")
    parser.add_argument("--smoke", action="store_true", help="test_hosts.py instead of all tests of the shim")
    parser.add_argument("--suites", action="store_true", help=f"also run {', '.join(SUITES)}: {', '.join(WAYS)}; needs build/release/bin/runner")
    parser.add_argument("--keep", action="store_true", help="keep environments and builds for the next time")
    parser.add_argument("--newest", action="store_true", help="the newest torch that pip finds, and what changed in it (releases/watch.sh); "
                        "versions then only name environments that exist")
    parser.add_argument("--check", action="store_true", help=f"bring {result_files.PAGE} up to date; exit 1 if a figure is older than the code")
    options = parser.parse_args(words)
    if options.check + options.newest + bool(options.versions) == 0 or options.check and len(words) > 1:
        parser.error("versions, --newest, or --check alone")
    options.versions = [word.partition("=")[::2] for word in options.versions]
    if any(not version or options.newest and not environment for version, environment in options.versions):
        parser.error("VERSION=ENVIRONMENT is needed")
    if options.suites and not os.access(RUNNER, os.X_OK):
        parser.error(f"{RUNNER} is missing: ./bootstrap.sh")
    return options


def main(words):
    options = arguments(words)
    rows, lines, bad = [], "", False
    try:
        if options.check:
            return result_files.check(ROOT)
        if options.newest:
            newest = newest_torch(os.environ.get("PYTHON", "python3"))
            row, lines, bad = watch(known_torch(ROOT), newest)
            rows.append(row)
            options.versions = [(newest, next((place for version, place in options.versions if version in (newest, newest.partition("+")[0])), ""))]
        versions = [Version(version, environment or None, options.suites) for version, environment in options.versions]
    except ENDS as reason:
        say(f"tests/versions.sh: {reason}")
        return 2
    for version in versions:
        run_version(version, options.smoke, options.keep)
        rows += version.rows
    print(result_files.table([["torch", "part", "passed", "failed", "skipped", "seconds", "result"], *rows]) + lines, end="")
    return int(bad or any(version.bad for version in versions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
