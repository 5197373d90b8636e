"""A module's real results, from pytest's report objects, not from its text: the model against which
the parser of the text is tested. A pytest plugin:

    ORACLE=MODULE.model.json python -m pytest -p oracle_pytest MODULE.py

With ORACLE_WHOLE=1 of a session of several modules: each module's own row bears its name.
"""

import json
import os

import pytest

cases = {}


def row(nodeid):
    return cases.setdefault(nodeid, {"reports": [], "subtests": []})


def failure_of(excinfo, report):
    longrepr = report.longrepr
    entries = getattr(getattr(longrepr, "reprtraceback", None), "reprentries", None)
    if excinfo is None or entries is None:
        return {"type": "", "message": str(longrepr)}
    places = [e.reprfileloc for e in entries if getattr(e, "reprfileloc", None)]
    return {
        "type": excinfo.typename,
        "message": str(excinfo.value),
        "frames": [[os.path.abspath(p.path), p.lineno] for p in places],
    }


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().oracle_excinfo = call.excinfo


def pytest_runtest_logreport(report):
    excinfo = getattr(report, "oracle_excinfo", None)
    if report.outcome == "skipped":
        state = "xfailed" if hasattr(report, "wasxfail") else "skipped"
    elif report.outcome == "failed":
        state = "failed" if report.when == "call" else "errored"
    else:
        state = "xpassed" if hasattr(report, "wasxfail") else "passed"
    entry = {"state": state, "when": report.when}
    if report.outcome == "failed":
        entry.update(failure_of(excinfo, report))
    if hasattr(report, "context"):  # a sub-test
        if state == "failed":
            label = report._sub_test_description() if hasattr(report, "_sub_test_description") \
                else report.sub_test_description()
            row(report.nodeid)["subtests"].append(dict(entry, label=label))
    elif report.when == "call" or state != "passed":
        row(report.nodeid)["reports"].append(entry)


def pytest_collectreport(report):
    key = report.nodeid + "::<module>" if "ORACLE_WHOLE" in os.environ else "<module>"
    if report.outcome == "failed":
        row(key)["reports"].append({"state": "errored", "when": "collect"})
    elif report.outcome == "skipped":
        row(key)["reports"].append({"state": "skipped", "when": "collect"})


def verdict(found):
    broken = [r for r in found["reports"] if r["state"] in ("failed", "errored")]
    broken.sort(key=lambda r: r["state"] == "errored")
    state = (broken or found["subtests"] or found["reports"])[0]["state"]
    return {"state": state, "failures": broken, "subtests": found["subtests"]}


def pytest_sessionfinish(session):
    model = {
        "collected": session.testscollected,
        "cases": {key: verdict(found) for key, found in cases.items()},
    }
    with open(os.environ["ORACLE"], "w") as out:
        json.dump(model, out, indent=1, sort_keys=True)
