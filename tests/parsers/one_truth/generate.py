#!/usr/bin/env python3
"""One truth, many formats: the tests of pytest/ and unittest/ run for real, by this runner and by each tool that writes what `import`
reads, in several versions. The archives under ../golden/truth-* hold the tools' files beside the states of our own run;
tests/e2e/test_one_truth.py imports each file and compares.

    generate.py RUNNER [--pytest VERSION…] [--unittest PYTHON…] [--python PYTHON] [--into FOLDER]

Installs each pytest with its plugins from PyPI (for --python), and unittest-xml-reporting for each Python of --unittest. The last
version that is named has every form. Times, paths, hosts and addresses are replaced, so that a second call changes nothing.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

from compare import states

HERE = pathlib.Path(__file__).resolve().parent
PLUGINS = ["pytest-xdist==3.8.0", "pytest-rerunfailures==16.7", "pytest-forked==1.7.5", "pytest-timeout==2.4.0",
           "pytest-reportlog==1.0.0", "pytest-json-ctrf==0.6.1"]
SUBTESTS = "pytest-subtests==0.15.0"  # pytest has its own since 9
XMLRUNNER = "unittest-xml-reporting==4.0.0"

# Each session: the forms in which a framework runs it, with their arguments, and the arguments of our own run.
DEATHS = {"plain": [], "forked": ["--forked"], "xdist": ["-n1", "-p", "no:faulthandler"]}  # it writes between the controller's lines
RERUNS = ["--reruns=2", "--tb=line"]
PYTEST = {
    "session": ({"plain": ["--tb=short"], "xdist": ["-n1", "--tb=no"], "quiet": ["-q", "--tb=no"]}, []),
    "documented": ({"plain": []}, []),
    "reruns": ({"plain": RERUNS, "xdist": RERUNS + ["-n1"]}, ["--retries=2", "--no-warm"]),
    "abort": (DEATHS, []),
    "kill": (DEATHS, []),
    "time_out": ({"plain": []}, []),
    "time_out_ends": ({"plain": []}, []),
    "exit": ({"plain": []}, []),
    "first_failure": ({"plain": ["-x"]}, ["-x"]),
    "interrupted": ({"plain": []}, []),
}
UNITTEST = {"session": ({"plain": [], "buffered": ["-b"]}, []), "abort": ({"plain": []}, []), "kill": ({"plain": []}, []),
            "first_failure": ({"plain": ["-f"]}, ["-x"])}


class Place:
    """A folder in which one session runs under one interpreter, and how what depends on the machine is replaced."""

    def __init__(self, work, framework, session, python):
        self.suite, self.out, self.python = work / "suite", work / "out", python
        self.name, self.framework = session, framework
        for folder in (self.suite, self.out, work / "results"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(HERE / framework / session, self.suite, ignore=shutil.ignore_patterns("__pycache__"))
        self.out.mkdir()
        self.work = work
        prefixes = subprocess.run([python, "-c", "import sys; print(sys.prefix, sys.base_prefix)"], text=True, capture_output=True).stdout.split()
        self.replaced = [(str(self.suite), "/suite"), (str(work), "/results"), *((prefix, "/python") for prefix in prefixes)]

    def environment(self):
        """As a shell has it, and a new folder in which tests count how often they ran."""
        counts = self.work / "counts"
        shutil.rmtree(counts, ignore_errors=True)
        counts.mkdir()
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80", "COUNTS": str(counts)}

    def log(self, form, arguments):
        # By a shell that says so if the process dies, as those of CI do.
        command = shlex.join([str(self.python), "-m", *arguments]) + "; exit $?"
        with open(self.out / (form + ".log"), "wb") as log:
            subprocess.run(["bash", "-c", command], cwd=self.suite, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                           stderr=subprocess.STDOUT, timeout=120)

    def files(self):
        """Each file of the tools by its name, tidied; an empty one is none."""
        made = {file.name: file.read_text() for file in sorted(self.out.iterdir()) if file.stat().st_size}
        return {name: self.tidy(name.partition(".")[2], text) for name, text in made.items()}

    def tidy(self, kind, text):
        for old, new in self.replaced:
            text = text.replace(old, new)
        text = re.sub(r"0x[0-9a-f]{4,}", "0x0", text)
        text = re.sub(r"(?<=pid=)\d+", "1000", text)
        return TIDY[kind](text)


def tidy_log(text):
    text = re.sub(r"\b(in|Elapsed time:) \d+\.\d+s", r"\1 0.00s", text)
    text = re.sub(r"([(\[])\d+\.\d+s([)\]])", r"\g<1>0.000s\2", text)
    text = re.sub(r"(line \d+:) +\d+ (Aborted|Killed)", r"\1 1000 \2", text)
    return re.sub(r"(Stack of .+) \(\d+\)", r"\1 (1)", text)


def tidy_xml(text):
    text = re.sub(r'\btime="[^"]*"', 'time="0.001"', text)
    text = re.sub(r'(name="[\w.]+)-\d{14}"', r'\1-20260101000000"', text)
    text = re.sub(r'\btimestamp="[^"]*"', 'timestamp="2026-01-01T00:00:00"', text)
    return re.sub(r'\bhostname="[^"]*"', 'hostname="host"', text)


TIMES = {"start", "stop", "timestamp", "duration", "testrun_uid", "reportId", "osRelease", "osVersion"}


def numbered(value, count):
    """The document with its times as numbers in the order of the document: which came first stays."""
    if isinstance(value, list):
        return [numbered(each, count) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key in sorted(value, key=lambda key: key != "retryAttempts"):  # attempts before the last one have earlier times
        inner = value[key]
        if key in TIMES and isinstance(inner, (int, float)):
            count[0] += 1
            made[key] = 1 if key == "duration" else 1000 * count[0]
        elif key in TIMES and isinstance(inner, str):
            made[key] = {"timestamp": "2026-01-01T00:00:00+00:00", "reportId": "00000000-0000-4000-8000-000000000000"}.get(key, "x")
        else:
            made[key] = numbered(inner, count)
    return {key: made[key] for key in value}


def tidy_reportlog(text):
    count = [0]
    return "".join(json.dumps(numbered(json.loads(line), count)) + "\n" for line in text.splitlines())


def tidy_ctrf(text):
    """A line for each test."""
    document = numbered(json.loads(text), [0])
    tests = document["results"].pop("tests")
    document["results"]["tests"] = []
    head = json.dumps(document)
    assert head.endswith("[]}}"), "the list of tests is the last of the results"
    return head[:-3] + ",\n".join(json.dumps(test) for test in tests) + "]}}\n"


TIDY = {"log": tidy_log, "xml": tidy_xml, "jsonl": tidy_reportlog, "ctrf.json": tidy_ctrf}


# Our own run.

def own_run(runner, place, arguments):
    (place.suite / "suite.json").write_text(json.dumps({"format": 1, "name": place.name, "framework": place.framework, "layout": {"tests": "."}}))
    results = place.work / "results"
    environment = place.environment()
    counts = environment.pop("COUNTS")
    made = subprocess.run([runner, "run", place.suite, "--python", place.python, "--shim", "off", "--device", "cpu", "--results", results, "-j2",
                           "--env", "COUNTS=" + counts, *arguments], env=environment, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    (place.suite / "suite.json").unlink()
    assert made.returncode in (0, 1, 3), made.stdout + made.stderr
    return states(json.loads((results / "latest" / "report.json").read_text()))


# The tools.

def run_pytest(place, forms):
    for form, arguments in forms.items():
        every = ["pytest", "-p", "no:cacheprovider", "--continue-on-collection-errors", *([] if "-q" in arguments else ["-v"]), *arguments]
        stem = str(place.out / form)
        if form != "quiet":
            every += ["--junitxml=%s.xml" % stem]
        if form != "quiet" and (place.name, form) != ("session", "xdist"):  # as without xdist, and a quarter of a megabyte
            every += ["--report-log=%s.jsonl" % stem, "--ctrf=%s.ctrf.json" % stem]
        place.log(form, every)


def run_unittest(place, forms):
    for form, arguments in forms.items():
        place.log(form, ["unittest", "discover", "-v", *arguments])
    place.log("xmlrunner", ["xmlrunner", "discover", "-v", *forms["plain"], "--output-file", str(place.out / "xmlrunner.xml")])


def write(into, files, truth):
    lines = ["%s\t%s" % item for item in sorted(truth.items())]
    files = {"%s-%s" % (into.stem, name): text for name, text in {"truth.tsv": "\n".join(lines), **files}.items()}
    assert not any(re.search(r"(?m)^-- .+ --\n", text) for text in files.values()), into
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text("".join("-- %s --\n%s\n" % (name, text) for name, text in files.items()))


def is_made(form, version, newest):
    """Each form for the newest version; pytest-forked 1.7.5 for those in which it works: with pytest 9.2 each test fails."""
    return version < "9.1" if form == "forked" else form == "plain" or newest


def generate(runner, work, into, framework, python, version, newest):
    sessions, run = {"pytest": (PYTEST, run_pytest), "unittest": (UNITTEST, run_unittest)}[framework]
    for session, (forms, own) in sessions.items():
        forms = {form: arguments for form, arguments in forms.items() if is_made(form, version, newest)}
        place = Place(work, framework, session, python)
        truth = own_run(runner, place, own)
        run(place, forms)
        files = place.files()
        write(into / ("truth-%s-%s" % (framework, version)) / (session + ".archive"), files, truth)
        print("%s %s %s: %d states, %s" % (framework, version, session, len(truth), " ".join(files)), flush=True)


def environment(work, framework, target, python):
    """The interpreter of a new environment with the framework and its tools, and the framework's version."""
    packages = [XMLRUNNER]
    if framework == "pytest":
        packages = ["pytest==" + target, *PLUGINS, *([SUBTESTS] if int(target.partition(".")[0]) < 9 else [])]
    made = work / (framework + "-" + pathlib.Path(target).name)
    subprocess.run([python if framework == "pytest" else target, "-m", "venv", "--clear", made], check=True)
    inside = made / "bin" / "python"
    subprocess.run([inside, "-m", "pip", "install", "--quiet", *packages], check=True)
    told = subprocess.run([inside, "-c", "import platform; print(platform.python_version())"], text=True, capture_output=True).stdout.strip()
    return inside, target if framework == "pytest" else told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runner", type=pathlib.Path)
    parser.add_argument("--pytest", nargs="*", default=[])
    parser.add_argument("--unittest", nargs="*", default=[])
    parser.add_argument("--python", default=sys.executable, help="for pytest")
    parser.add_argument("--into", type=pathlib.Path, default=HERE.parent / "golden")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    runner = arguments.runner.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for framework, targets in (("pytest", arguments.pytest), ("unittest", arguments.unittest)):
            for target in targets:
                python, version = environment(work, framework, target, arguments.python)
                generate(runner, work, arguments.into, framework, python, version, target == targets[-1])


if __name__ == "__main__":
    main()
