#!/usr/bin/env python3
"""What `runner import` makes of the stored files of each tool, against the states of our own run of the same tests (generate.py).

    compare.py RUNNER [--goldens FOLDER]    prints each difference and the table of sessions and formats; exits 1 if there is a difference
                                            that limits.json does not explain, or a limit that no longer occurs

Each entry of limits.json says `why`, which `files` (globs on "pytest-9.2.0/session-plain.xml"; our own run is "…/session-run"), and of
which `tests` (globs on ids) they say what instead of the truth: a state, or "absent".
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE.parent / "golden"


def states(report):
    """The state of each test of a report and of each sub-test that did not pass; of tests without names how many are in which."""
    found = {}
    for case in (case for module in report["modules"] for case in module["cases"]):
        state = case["state"] + (" flaky" if case["flaky"] else "")
        if "<unnamed" in case["id"]:
            key = "<unnamed %s>" % case["state"]
            found[key] = str(int(found.get(key, 0)) + case.get("tests", 1))
        else:
            found[case["id"]] = state
        found.update({sub["id"]: sub["state"] for sub in case["subtests"] if sub["state"] != "passed"})
    found["<adds up>"] = "yes" if report["accounting"]["closed"] else "no"
    return {key.replace("\\", "\\\\").replace("\n", "\\n"): state for key, state in found.items()}


def archives(goldens=GOLDENS):
    """Each archive's name ("pytest-9.2.0/session") and path."""
    return {"%s/%s" % (path.parent.name.partition("-")[2], path.stem): path for path in sorted(goldens.glob("truth-*/*.archive"))}


def files_in(archive):
    parts = re.split(r"(?m)^-- (.+) --\n", archive.read_text())
    return {name: text[:-1] for name, text in zip(parts[1::2], parts[2::2])}


def imported(runner, name, text):
    """The states of a file; `<read>` is "no" if `import` reads none."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, name)
        file.write_text(text)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("COMPAT_")}
        subprocess.run([runner, "import", file, "--results", folder + "/results"], cwd=folder, env={**environment, "XDG_CONFIG_HOME": folder},
                       capture_output=True, stdin=subprocess.DEVNULL)
        report = pathlib.Path(folder, "results/latest/report.json")
        return states(json.loads(report.read_text())) if report.exists() else {"<read>": "no"}


def differences(truth, found):
    """{id: (got, right)} of those that differ. Tests without names stand for those of the truth that have none in `found`."""
    unnamed = {key: int(count) for key, count in found.items() if key.startswith("<unnamed ")}
    differ = {}
    for key in sorted((truth.keys() | found.keys()) - unnamed.keys()):
        got, right = found.get(key, "absent"), truth.get(key, "absent")
        if got == "absent" and unnamed.get("<unnamed %s>" % right, 0) > 0:
            unnamed["<unnamed %s>" % right] -= 1
        elif got != right:
            differ[key] = (got, right)
    differ.update({key: (str(count), "0") for key, count in unnamed.items() if count})
    return differ


def compare(runner, name, archive):
    """{file: {id: (got, right)}} of an archive's files, our own run first."""
    files, folder = files_in(archive), name.partition("/")[0]
    truth = dict(line.rsplit("\t", 1) for line in files.pop(archive.stem + "-truth.tsv").splitlines())
    own = {key: (state, "yes") for key, state in truth.items() if key == "<adds up>" and state != "yes"}
    truth["<adds up>"] = "yes"
    return {name + "-run": own, **{"%s/%s" % (folder, file): differences(truth, imported(runner, file, text)) for file, text in files.items()}}


def limits():
    """Rows of limits.json: a glob of files, of tests, and what they say."""
    return [(files, tests, got) for entry in json.loads((HERE / "limits.json").read_text()) for files in entry["files"] for tests, got in entry["tests"].items()]


def wrong_of(runner, name, archive):
    """What limits.json does not explain, in words, and how each file of an archive compares: equal, how many differ by limits, or how many are wrong."""
    words, verdicts = [], {}
    for file, differ in compare(runner, name, archive).items():
        rows, occurred = [row for row in limits() if fnmatch.fnmatchcase(file, row[0])], set()
        wrong = []
        for test, (got, right) in differ.items():
            explained = {row for row in rows if (test == row[1] or fnmatch.fnmatchcase(test, row[1])) and row[2] == got}
            occurred |= explained
            if not explained:
                wrong.append("%s: %s: got %s, right %s" % (file, test, got, right))
        wrong += ["%s: this limit no longer occurs: %s: %s: %s" % (file, *row) for row in rows if row not in occurred]
        verdicts[file.rpartition("-")[2]] = "%d wrong" % len(wrong) if wrong else "%d by limits" % len(differ) if differ else "equal"
        words += wrong
    return words, verdicts


def limits_of_no_file(goldens=GOLDENS):
    """Globs of limits.json that no stored file has."""
    stored = [name.partition("/")[0] + "/" + file for name, path in archives(goldens).items() for file in [*files_in(path), path.stem + "-run"]]
    return sorted({files for files, _, _ in limits() if not fnmatch.filter(stored, files)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runner", type=pathlib.Path)
    parser.add_argument("--goldens", type=pathlib.Path, default=GOLDENS)
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        work = {name: pool.submit(wrong_of, arguments.runner.resolve(), name, path) for name, path in archives(arguments.goldens).items()}
    wrong = [words for made in work.values() for words in made.result()[0]]
    wrong += ["limits.json: no file is %s" % files for files in limits_of_no_file(arguments.goldens)]
    print("".join(words + "\n" for words in wrong), end="")
    for name, made in work.items():
        print("%-28s %s" % (name, ", ".join("%s: %s" % item for item in made.result()[1].items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
