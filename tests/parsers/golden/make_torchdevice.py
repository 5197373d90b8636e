#!/usr/bin/env python3
"""Makes FOLDER/torchdevice: files in the forms of TorchDevice's test_automation, from a real run of fixtures/unittest.

overall.log and summary.json tell of the same run; model.json is what unittest's own result objects say of it, and what
the processes returned. Usage: make_torchdevice.py FOLDER PYTHON
"""
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = "python -m unittest -v %s"
RULE = "-" * 50
SNIPPET_HEAD, SNIPPET_TAIL = 5, 10

# Runs in the child: unittest as it is, and at its end what its result holds.
CHILD = """
import json, sys, unittest
class Runner(unittest.TextTestRunner):
    def run(self, test):
        result = super().run(test)
        broken = []
        for state, pairs in (("ERROR", result.errors), ("FAIL", result.failures)):
            for case, text in pairs:
                broken.append({"state": state, "id": case.id(), "title": result.getDescription(case), "traceback": text})
        counts = {"ran": result.testsRun, "failures": len(result.failures), "errors": len(result.errors), "skipped": len(result.skipped),
                  "expected failures": len(result.expectedFailures), "unexpected successes": len(result.unexpectedSuccesses)}
        json.dump({"broken": broken, "counts": counts}, open(sys.argv[1], "w"))
        return result
unittest.main(module=None, argv=["python -m unittest", "-v", sys.argv[2]], testRunner=Runner)
"""


def run(python, folder, module):
    model = folder / "model.json"
    model.unlink(missing_ok=True)
    began = datetime.datetime.now()
    process = subprocess.run(
        [python, "-c", CHILD, str(model), module],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "."},
    )
    return {
        "module": module,
        "return_code": process.returncode,
        "duration": str(datetime.datetime.now() - began),
        "log": process.stdout.decode("utf-8", "replace"),
        "result": json.loads(model.read_text()) if model.exists() else None,
    }


def status(run):
    code = run["return_code"]
    return "SUCCESS" if code == 0 else "FAILURE" if code > 0 else "CRITICAL_FAILURE"


def log_file(run):
    return "logs/suite/%s.py.log" % run["module"].replace(".", "/")


def overall(runs):
    yield "Target project repo: /suite"
    yield "TorchDevice repo: TorchDevice (CWD)"
    yield "Log directory for individual tests: logs/suite"
    yield "Overall run log file: logs/all_2025-01-02_03-04-05.log"
    yield "\nFound %d test files to run:" % len(runs)
    for each in runs:
        yield "  - %s.py" % each["module"].replace(".", "/")
    yield RULE
    for number, each in enumerate(runs, 1):
        yield "\nPreparing to run test %d/%d: %s.py" % (number, len(runs), each["module"].rpartition(".")[2])
        yield "Finished test: %s - Status: %s (RC: %d) Duration: %s" % (each["module"], status(each), each["return_code"], each["duration"])
        yield "  Log file: " + log_file(each)
        yield "  Test Command: " + COMMAND % each["module"]
        yield RULE
    yield "\n" + "=" * 20 + " Test Run Summary " + "=" * 20
    for each in runs:
        yield "Module: " + each["module"]
        yield "  Status: %s (Return Code: %d)" % (status(each), each["return_code"])
        yield "  Log: " + log_file(each)
        yield "  Test Command: " + COMMAND % each["module"]
        yield "  Duration: " + each["duration"]
    codes = [each["return_code"] for each in runs]
    yield "\n" + RULE
    yield "Total test files processed: %d" % len(runs)
    yield "Successful: %d" % sum(code == 0 for code in codes)
    yield "Failed (test failures): %d" % sum(code > 0 for code in codes)
    yield "Critical failures (script/execution errors): %d" % sum(code < 0 for code in codes)
    yield "Overall execution time: 0:00:09"
    yield "=" * 58


def key_line(traceback):
    """The first line that begins with an exception's name, as Python ends a traceback."""
    lines = [line for line in traceback.splitlines() if re.match(r"[A-Za-z_][\w.]*(:|\Z)", line) and not line.startswith("Traceback")]
    return lines[0] if lines else ""


def case_of(broken):
    """One test as the summary names it: the script reads "FAIL: name (class.path)" from the log."""
    title = broken["title"].splitlines()[0]
    name, path = re.match(r"(\S+) \(([^)]*)\)", title).groups()
    lines = broken["traceback"].rstrip("\n").splitlines()
    short = lines if len(lines) <= 15 else lines[:SNIPPET_HEAD] + ["..."] + lines[-SNIPPET_TAIL:]
    return {
        "name": name,
        "class_path": path,
        "status": broken["state"],
        "output": [],
        "error_details": {
            "diagnosed_component": "Undetermined",
            "diagnostic_notes": "Key error: " + key_line(broken["traceback"]),
            "traceback": lines,
            "display_traceback_snippet": short,
            "key_error_line": key_line(broken["traceback"]),
        },
    }


def totals_of(log):
    """The totals of the last closing at the end of a module's log, as the script reads it."""
    tail = "\n".join([line for line in log.splitlines() if line.strip()][-15:])
    ran, verdict = re.findall(r"(?m)^Ran (\d+) tests? in ", tail), re.findall(r"(?m)^((?:OK|FAILED)(?: \(.*\))?)$", tail)
    counts = {word: 0 for word in ("failures", "errors", "skipped")}
    for word, count in re.findall(r"(?<![a-z] )(failures|errors|skipped)=(\d+)", verdict[-1] if verdict else ""):
        counts[word] = int(count)
    total = int(ran[-1]) if ran else 0
    overall_status = "UNKNOWN" if not verdict else "SUCCESS" if verdict[-1].startswith("OK") else "FAILURE"
    return {
        "total": total,
        "passed": max(0, total - sum(counts.values())) if ran else 0,
        **counts,
        "runner_errors": 0,
        "overall_status": overall_status,
        "raw_log_status_line": verdict[-1] if verdict else None,
        "source_of_summary": "log_footer",
    }


def summary(runs):
    for each in runs:
        totals = totals_of(each["log"])
        yield {
            "module": each["module"],
            "status_from_summary": status(each),
            "module_status_from_summary": status(each),
            "return_code": str(each["return_code"]),
            "duration": each["duration"],
            "log_file": log_file(each),
            "test_command": COMMAND % each["module"],
            "test_file_name": each["module"].rpartition(".")[2] + ".py",
            "test_script_path": each["module"].replace(".", "/") + ".py",
            "component": "Suite",
            "test_cases": [case_of(broken) for broken in (each["result"] or {"broken": []})["broken"]],
            "individual_log_summary": totals,
            "status": totals["overall_status"],
        }


def main():
    out, python = pathlib.Path(sys.argv[1]) / "torchdevice", sys.argv[2]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        shutil.copytree(HERE / "fixtures" / "unittest", folder / "tests" / "sub")
        prefix = subprocess.run([python, "-c", "import sys; print(sys.base_prefix)"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        modules = ["tests.sub." + path.stem for path in sorted((folder / "tests" / "sub").glob("test_*.py"))]
        runs = [run(python, folder, module) for module in modules]

        def plain(text):
            return re.sub(r"0x[0-9a-f]+", "0x0", text.replace(work, "/suite").replace(prefix, "/python"))

        entries = list(summary(runs))
        (out / "overall.log").write_text(plain("\n".join(overall(runs)) + "\n"))
        (out / "summary.json").write_text(plain(json.dumps(entries, indent=1)))
        model = {each["module"]: {"return_code": each["return_code"], **(each["result"] or {})} for each in runs}
        (out / "model.json").write_text(plain(json.dumps(model, indent=1)))


main()
