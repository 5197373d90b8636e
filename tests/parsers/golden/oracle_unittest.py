"""A module's real results, from unittest's objects, not from its text: the model against which the
parser of the text is tested.

    python oracle_unittest.py MODULE > MODULE.model.json
    python oracle_unittest.py --discover > discover.model.json
"""

import contextlib
import io
import json
import sys
import traceback
import unittest

FIXTURES = {"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}


class Oracle(unittest.TestResult):
    def __init__(self, module):
        super().__init__()
        self.module, self.cases = module, {}

    def row(self, test):
        name = test.id()
        method, _, owner = name.partition(" (")
        path = (self.module or self.module_of(test, method, owner)) + ".py::"
        if type(test).__module__ == "unittest.loader":
            key = path + "<module>"
        elif method in FIXTURES:
            of_class = method.endswith("Class")
            key = path + (owner[len(path) - 4:-1] + "::" if of_class else "") + "<%s>" % method
        else:
            key = path + "%s::%s" % (type(test).__qualname__, test._testMethodName)
        return self.cases.setdefault(key, {"outcomes": [], "subtests": []})

    @staticmethod
    def module_of(test, method, owner):
        if type(test).__module__ == "unittest.loader":
            return test._testMethodName
        if method in FIXTURES:
            return owner.rstrip(")").split(".")[0]
        return type(test).__module__

    def startTest(self, test):
        super().startTest(test)
        self.row(test)

    def addSuccess(self, test):
        self.row(test)["outcomes"].append({"state": "passed"})

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.row(test)["outcomes"].append(dict(self.describe(test, err), state="failed"))

    def addError(self, test, err):
        super().addError(test, err)
        self.row(test)["outcomes"].append(dict(self.describe(test, err), state="errored"))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        parent = getattr(test, "test_case", None)
        if parent is not None:
            # Up to 3.10 the text has a sub-test's skip as its test's own.
            if sys.version_info >= (3, 11):
                sub = {"label": test._subDescription(), "state": "skipped"}
                self.row(parent)["subtests"].append(sub)
            else:
                self.row(parent)["outcomes"].append({"state": "skipped", "reason": reason})
        elif hasattr(test, "_testMethodName") or sys.version_info >= (3, 11):
            # Up to 3.10 the text does not name a class or module that its fixture skips.
            self.row(test)["outcomes"].append({"state": "skipped", "reason": reason})

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.row(test)["outcomes"].append({"state": "xfailed"})

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.row(test)["outcomes"].append({"state": "xpassed"})

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            state = "failed" if issubclass(err[0], test.failureException) else "errored"
            sub = dict(self.describe(test, err), label=subtest._subDescription(), state=state)
            self.row(test)["subtests"].append(sub)

    @staticmethod
    def describe(test, err):
        kind, value, tb = err
        if type(test).__module__ == "unittest.loader":
            try:
                __import__(test._testMethodName)
            except Exception as error:
                return {"type": type(error).__name__, "message": str(error)}
        module = kind.__module__
        name = kind.__qualname__ if module == "builtins" else module + "." + kind.__qualname__
        frames = [
            [f.filename, f.lineno, f.name]
            for f, (frame, _) in zip(traceback.extract_tb(tb), traceback.walk_tb(tb))
            if "__unittest" not in frame.f_globals
        ]
        return {"type": name, "message": str(value), "frames": frames}

    def model(self):
        return {
            "cases": {key: self.verdict(row) for key, row in self.cases.items()},
            "closing": {
                "ran": self.testsRun,
                "failures": len(self.failures),
                "errors": len(self.errors),
                "skipped": len(self.skipped),
                "expected failures": len(self.expectedFailures),
                "unexpected successes": len(self.unexpectedSuccesses),
            },
        }

    @staticmethod
    def verdict(row):
        both = row["subtests"] + row["outcomes"]
        own = [o for o in row["outcomes"] if o["state"] in ("failed", "errored")]
        if own:
            decisive = own[0]
        else:
            subs = [o["state"] for o in row["subtests"]]
            decisive = next((o for s in ("failed", "errored") for o in both if o["state"] == s), None)
            decisive = decisive or (row["outcomes"] + row["subtests"])[0]
        return {
            "state": decisive["state"],
            "reason": next((o["reason"] for o in row["outcomes"] if "reason" in o), None),
            "failures": own,
            "subtests": row["subtests"],
        }


def main():
    sys.path.insert(0, "")
    if sys.argv[1] == "--discover":
        suite, module = unittest.defaultTestLoader.discover("."), None
    else:
        module = sys.argv[1]
        suite = unittest.defaultTestLoader.loadTestsFromName(module)
    oracle = Oracle(module)
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        suite.run(oracle)
    json.dump(oracle.model(), sys.stdout, indent=1, sort_keys=True)


if __name__ == "__main__":
    main()
