#!/usr/bin/env python3
"""How many logs `import` reads right, by shape: each golden log, the same inside the logs of CI, broken off, and one after the
other, against what the frameworks' own objects say of the run.

    measure_import.py RUNNER… --corpus FOLDER [--shape REGEX] [--list WHAT]

FOLDER holds plain files (golden/goldens.py unpack FOLDER; regenerate*.sh adds other versions). --list names the logs counted as
WHAT: wrong, refused, ambiguous, closing. One of these holds for each log:
    exact      every id is there, in its state
    closing    as many tests in each state, and those that have a name are right
    flagged    neither, and the run says so: its totals differ, or it is ambiguous (exit code 3)
    noted      neither, and a diagnostic says which count may be too great (exit code 0 or 1)
    refused    no result was read (exit code 2)
    wrong      neither, and nothing says so
Exits 1 if the last RUNNER reads any wrongly.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

KINDS = ["exact", "closing", "flagged", "noted", "refused", "wrong"]
GTEST_NOT_STARTED = {"environment": "errored", "skipping": "skipped"}  # what its JSON calls completed
# The results of logs without a model: the framework died, or broke off.
DIED = {"unittest": {"test_crash.py::A::test_1": "passed", "test_crash.py::A::test_2_dies": "crashed"},
        "pytest": {"test_crash.py::test_1": "passed", "test_crash.py::test_2_dies": "crashed", "test_crash.py::<unnamed not run> 0": "not_run"},
        "xdist": {"test_crash.py::test_1": "passed", "test_crash.py::test_2_dies": "crashed", "test_crash.py::test_3": "passed",
                  "test_all_pass.py::test_a": "passed", "test_all_pass.py::test_b": "passed"}}
ENDS = {"dies": ["passed", "crashed", "not_run"], "interrupted": ["passed", "not_run", "not_run"], "passes": ["passed"] * 3,
        "broken_conftest": ["errored"]}


class Log:
    """A file to import: its shape, its bytes, and the state of each test by id (`states`), or of each state how many."""

    def __init__(self, shape, name, data, states, extension=".log"):
        self.shape, self.name, self.data, self.states, self.extension = shape, name, data, states, extension


# The frameworks' own results.

def of_model(model, module=None):
    cases = json.loads(model.read_text())["cases"]
    return {f"{module}::<module>" if key == "<module>" else key: found["state"] for key, found in cases.items()}


def gtest_document(text):
    return json.loads(re.sub(r"\}    \{", "},\n    {", text))  # GoogleTest 1.12 forgets this comma


def of_gtest(text, stem, kind=""):
    states = {}
    for suite in gtest_document(text)["testsuites"]:
        for test in suite["testsuite"]:
            name = test["name"] and "%s::%s" % (suite["name"], test["name"])
            if not name:
                name = "<Environment>" if suite["name"] == "NonTestSuiteFailure" else suite["name"] + "::<TestSuite>"
            state = "passed"
            if test["status"] == "NOTRUN" or test.get("result") in ("SKIPPED", "SUPPRESSED"):
                state = "skipped"
            elif test.get("failures"):
                state = "failed" if test["name"] else "errored"
            elif kind in GTEST_NOT_STARTED and "brief" not in stem:
                state = GTEST_NOT_STARTED[kind]
            states[f"{stem}::{name}"] = state
    return states


# The corpus.

def unittest_and_pytest(folder):
    framework, version = folder.name.split("-", 1)
    for log in sorted(folder.glob("*.log")):
        if log.stem.endswith(".harness"):
            continue
        model = log.with_name(log.stem + ".model.json")
        states = of_model(model, log.stem + ".py") if model.exists() else DIED[framework] if log.stem == "test_crash" else {}
        yield Log(f"{framework} -v", f"{folder.name}/{log.name}", log.read_bytes(), states)


WHOLE = {"discover": "-v", "buffered": "-v -b", "quiet": "dots", "xmlrunner": "xmlrunner", "verbose": "-v",
         "default": "default", "summary": "-rA", "summary_verbose": "-v -rA", "summary_of_some": "-q -rfEsxX", "line": "--tb=line -rA",
         "short": "--tb=short", "native": "-v --tb=native", "no": "-q --tb=no -rA", "coloured": "-v --color", 
         "xdist_verbose": "xdist -v", "stopped": "-v -x", "interrupted": "interrupted", "crashed": "xdist -v crashed"}


def whole(folder):
    framework = folder.name.split("-")[1]
    for log in sorted(folder.glob("*.log")):
        form = "-q" if (framework, log.stem) == ("pytest", "quiet") else WHOLE[log.stem]
        model = next((file for file in (log.with_suffix(".model.json"), folder / "model.json") if file.exists()), None)
        if model is None and log.stem != "crashed":  # kept for what else it shows
            continue
        states = DIED["xdist"] if log.stem == "crashed" else of_model(model)
        if log.stem == "xmlrunner":  # it prints of a failed test that its tear-down broke, and not that it failed
            states["test_states.py::Fixtures::test_fail_and_teardown_error"] = "errored"
        yield Log(f"{framework} {form}", f"{folder.name}/{log.name}", log.read_bytes(), states)


def odd(folder):
    framework = folder.name.split("-")[1]
    for log in sorted(folder.glob("*.log")):
        module, _, form = log.stem.partition("-")
        form = " ".join(re.sub(r"-(?=-?[a-z])", " -", form and "-" + form).replace("- -", "--").split()) or (
            "dots" if framework == "unittest" else "default")
        if module == "end":
            kind, _, form = log.stem[4:].partition("-")
            states = dict(enumerate(ENDS[kind]))
            form = "ends" + (form and " -" + form)
        else:
            states = of_model(log.with_name(module + ".json"))
        yield Log(f"odd {framework} {form}", f"{folder.name}/{log.name}", log.read_bytes(), states)


def gtest(folder):
    for log in sorted(folder.glob("*.log")):
        kind, _, form = log.stem.partition("-")
        document = log.with_suffix(".json")
        crashed = {f"{log.stem}::Crashes::Before": "passed", f"{log.stem}::Crashes::Aborts": "crashed", f"{log.stem}::<unnamed not run> 0": "not_run"}
        states = of_gtest(document.read_text(), log.stem, kind) if document.exists() else crashed
        yield Log("gtest " + (form or "text"), f"{folder.name}/{log.name}", log.read_bytes(), states)
        if document.exists():
            yield Log("gtest JSON", f"{folder.name}/{document.name}", document.read_bytes(),
                      of_gtest(document.read_text(), log.stem, kind if kind == "skipping" else None), ".json")


def junit(folder):
    tool = folder.name.split("-")[1]
    for file in sorted(folder.glob("*.xml")):
        if tool == "pytest":
            states = {key: "passed" if state == "xpassed" else state for key, state in of_model(folder / "model.json").items()}
            states.pop("<module>", states.pop("None::<module>", None))
            states |= {"test_collect_error.py::<module>": "errored", "test_module_skip.py::<module>": "skipped",
                       "test_subtests.py::Sub::test_some_skip": "skipped"}
        elif tool == "unittest":
            states = of_model(file.with_suffix(".model.json"))
        elif tool == "googletest" and file.stem == "states":
            states = of_gtest(file.with_suffix(".json").read_text(), "states")
        elif tool == "surefire":
            run, failures, errors, skipped, _ = map(int, re.findall(r"\d+", file.with_suffix(".txt").read_text()))
            states = dict(enumerate(["failed"] * failures + ["errored"] * errors + ["skipped"] * skipped
                                    + ["passed"] * (run - failures - errors - skipped)))
        else:
            continue
        yield Log(f"junit {tool}", f"{folder.name}/{file.name}", file.read_bytes(), states, ".xml")


def torchdevice(folder):
    model = json.loads((folder / "model.json").read_text())
    modules, tests = [], []
    for found in model.values():
        counts = found.get("counts", {})
        modules += ["crashed"] if found["return_code"] < 0 else ["errored"] * (found["return_code"] > 0)
        words = [("failures", "failed"), ("errors", "errored"), ("skipped", "skipped"), ("expected failures", "xfailed"),
                 ("unexpected successes", "xpassed")]
        known = [state for word, state in words for _ in range(counts.get(word, 0))]
        broken_fixtures = sum(1 for case in found.get("broken", []) if re.match(r"(setUp|tearDown)(Class|Module) ", case["id"]))
        gone = ["crashed" if found["return_code"] < 0 else "errored"]
        tests += known + ["passed"] * (counts["ran"] + broken_fixtures - len(known)) if counts else gone
    yield Log("torchdevice log", "torchdevice/overall.log", (folder / "overall.log").read_bytes(), dict(enumerate(modules)))
    yield Log("torchdevice JSON", "torchdevice/summary.json", (folder / "summary.json").read_bytes(), dict(enumerate(tests)), ".json")


READERS = [("unittest-", unittest_and_pytest), ("pytest-", unittest_and_pytest), ("whole-", whole), ("odd-", odd), ("gtest-", gtest),
           ("junit-", junit), ("torchdevice", torchdevice)]


def corpus(root):
    return [log for folder in sorted(root.iterdir()) if folder.is_dir() for prefix, read in READERS
            if folder.name.startswith(prefix) for log in read(folder)]


# Shapes made of them.

def stamped(data, stamp):
    return b"".join(stamp % (n % 60) + line for n, line in enumerate(data.splitlines(keepends=True)))


CI = {
    "GitHub": lambda data: b"2024-05-01T12:00:00.1234567Z ##[group]Run tests\n2024-05-01T12:00:00.1234567Z ##[endgroup]\n"
    + stamped(data, b"2024-05-01T12:00:%02d.1234567Z "),
    "GitLab": lambda data: b"section_start:1714564800:step_script\r\x1b[0K\x1b[0K\x1b[36;1mExecuting\x1b[0;m\x1b[0;m\n" + data
    + b"\nsection_end:1714564860:step_script\r\x1b[0K\n\x1b[31;1mERROR: Job failed: exit code 1\n\x1b[0;m",
    "GitLab times": lambda data: stamped(data, b"2024-05-01T12:00:%02d.123456Z 00O "),
    "Jenkins": lambda data: stamped(b"+ run\n" + data, b"[2024-05-01T12:34:%02d.123Z] "),
    "Jenkins times": lambda data: stamped(b"+ run\n" + data, b"12:34:%02d  "),
}


def with_times(data):
    """Test lines as PyTorch's own plugin prints them."""
    return re.sub(rb"(?m)^(\S+::.* (?:PASSED|FAILED|ERROR|SKIPPED(?: \(.*\))?|XFAIL|XPASS(?: \(.*\))?)) +\[", rb"\1 [0.0012s] [", data)


def made_of(logs):
    """CI, broken off, and several sessions in one log: of the logs of single modules and whole runs that are no odd ones."""
    by_version = collections.defaultdict(list)
    for log in logs:
        if log.shape in ("unittest -v", "pytest -v", "pytest -q", "unittest dots", "gtest text", "pytest default", "pytest -v -rA"):
            for ci, wrap in CI.items():
                yield Log(f"{log.shape} in {ci}", log.name, wrap(log.data), log.states)
        if log.shape in ("unittest -v", "pytest -v", "gtest text") and len(log.states) > 3:
            lines = log.data.splitlines(keepends=True)
            for part in range(1, 10):
                yield Log(f"{log.shape} broken off", f"{log.name}:{part}", b"".join(lines[:len(lines) * part // 10]), None)
        if re.match("(unittest|pytest)-", log.name) and "crash" not in log.name and log.states:
            by_version[log.name.split("/")[0]].append(log)
    for version, parts in by_version.items():
        framework = version.split("-")[0]
        states = {key: state for log in parts for key, state in log.states.items()}
        yield Log(f"{framework} sessions", version, b"".join(log.data for log in parts), states)
        running = b"".join(b"Running %s 1/1 ... [2024-05-01 12:00:00.123456]\n" % log.name.split("/")[1][:-4].encode() + with_times(log.data)
                           + b"%s 1/1 was successful, full logs can be found in artifacts\n" % log.name.split("/")[1][:-4].encode()
                           for log in parts)
        yield Log(f"{framework} run_test.py", version, running, states)
        yield Log(f"{framework} run_test.py in GitHub", version, CI["GitHub"](running), states)


# A runner's results.

def comparable(states, shape):
    """Without what a text cannot tell or the objects do not: tests that were not reached, classes and modules that were skipped,
    and in GoogleTest what failed outside of tests."""
    is_test = {key: not str(key).rpartition("::")[2].startswith("<") or "::<unnamed" in str(key) for key in states}
    return {key: state for key, state in states.items() if state != "not_run" and (
        is_test[key] or not (state == "skipped" or shape.startswith("gtest")))}


def imported(runner, log, folder):
    path = folder / (re.sub(r"\W", "_", log.name.split("/")[0]) if "/" not in log.name else log.name.split("/")[1].split(":")[0])
    path.write_bytes(log.data)
    results = folder / "results"
    done = subprocess.run([runner, "import", path, "--results", results], capture_output=True, text=True)
    if not (results / "latest/report.json").exists():
        return done.returncode, None, ""
    report = json.loads((results / "latest/report.json").read_text())
    subprocess.run(["rm", "-rf", results], check=True)
    # An entry for each test that a row without names counts.
    states = {f"{case['id']} {n}" if "::<unnamed" in case["id"] else case["id"]: case["state"]
              for module in report["modules"] for case in module["cases"] if not (case["pseudo"] and case["state"] == "skipped")
              for n in range(case.get("tests", 1))}
    said = "noted" if "counts as one more" in json.dumps(report) else ""
    return done.returncode, states, "ambiguous" if "ambiguous" in json.dumps(report["accounting"]) else said


def states_fit(found, wanted, untold_skips):
    """Whether as many are in each state and each with a name is right. Frameworks count modules, fixtures and sub-tests that were
    skipped as skips: there may be rows for these."""
    named = {key: state for key, state in found.items() if "::<unnamed" not in key}
    right = all(wanted.get(key, None) == state for key, state in named.items()) or all(isinstance(key, int) for key in wanted)
    found, wanted = collections.Counter(found.values()), collections.Counter(wanted.values())
    more = found - wanted
    return right and not wanted - found and (not more or (set(more) == {"skipped"} and more["skipped"] <= untold_skips))


def kind_of(code, found, wanted, whole, untold_skips):
    """`wanted` of a log that breaks off is that of the whole one: what is named must be right, and it must say that it is not whole."""
    if found is None:
        return "refused" if wanted is None or wanted else "exact"
    if wanted is None:
        unfinished = {"not_run", "crashed", "timed_out"}
        right = all("::<" in key or state in unfinished or whole.get(key) == state for key, state in found.items())
        return ("exact" if right else "flagged") if code == 3 else "closing" if found == whole else "wrong"
    if found == wanted:
        return "exact"
    if states_fit(found, wanted, untold_skips):
        return "closing"
    return "flagged" if code == 3 else "wrong"


def only_more_tests(found, wanted):
    """As where tear-downs count as tests: no state has fewer, and those that have more are of tests that pass, skip or fail as expected."""
    found, wanted = collections.Counter(found.values()), collections.Counter(wanted.values())
    return not wanted - found and set(found - wanted) <= {"passed", "skipped", "xfailed"}


def measure(runner, logs, listed):
    wholes = {log.name: log.states for log in logs if log.states is not None}
    table = collections.defaultdict(collections.Counter)
    for log in logs:
        with tempfile.TemporaryDirectory() as folder:
            code, found, said = imported(runner, log, pathlib.Path(folder))
        wanted = log.states if log.states is None else comparable(log.states, log.shape)
        whole = comparable(wholes.get(log.name.rsplit(":", 1)[0], {}), log.shape)
        untold_skips = list((log.states or {}).values()).count("skipped") - list((wanted or {}).values()).count("skipped")
        untold_skips += any("subtests" in str(key) for key in log.states or {})
        kind = kind_of(code, found and comparable(found, log.shape), wanted, whole, untold_skips)
        if (kind, said) == ("wrong", "noted") and only_more_tests(comparable(found, log.shape), wanted):
            kind = "noted"
        table[log.shape].update(["logs", kind] + ["ambiguous"] * (said == "ambiguous"))
        if kind == listed or (listed == said == "ambiguous"):
            print(f"{kind}: {log.shape}: {log.name}")
            if found is not None and log.states:
                difference = set(comparable(found, log.shape).items()) ^ set(wanted.items())
                print("   ", sorted(map(str, difference))[:8])
    return table


def print_table(runner, table):
    columns = ["logs", *KINDS, "ambiguous"]
    print(f"{runner}\n{'':34}" + "".join(f"{word:>10}" for word in columns))
    total = collections.Counter()
    for shape, counts in sorted(table.items()):
        print(f"{shape:34}" + "".join(f"{counts[word]:>10}" for word in columns))
        total += counts
    print(f"{'all':34}" + "".join(f"{total[word]:>10}" for word in columns), flush=True)
    return total["wrong"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner", nargs="+")
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--shape", default="", help="of these shapes alone, a regular expression")
    parser.add_argument("--list", choices=[*KINDS[1:], "ambiguous"])
    arguments = parser.parse_args()
    logs = corpus(arguments.corpus)
    logs = [log for log in (*logs, *made_of(logs)) if re.match(arguments.shape, log.shape)]
    wrong = [print_table(runner, measure(runner, logs, arguments.list)) for runner in arguments.runner]
    return 1 if wrong[-1] else 0


if __name__ == "__main__":
    sys.exit(main())
