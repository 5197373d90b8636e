"""unittest's text runner, which also writes what its result was told: the model that the parser of the
text is held to, of the same process.

    python oracle_text.py MODEL.json [-v] [-b] MODULE
"""

import json
import sys
import unittest

from oracle_unittest import Oracle

TOLD = ["startTest", "addSuccess", "addFailure", "addError", "addSkip", "addExpectedFailure", "addUnexpectedSuccess", "addSubTest"]


class Both(unittest.TextTestResult):
    oracle = Oracle(sys.argv[-1])


def telling_both(name):
    def tell(self, *arguments):
        getattr(self.oracle, name)(*arguments)
        getattr(super(Both, self), name)(*arguments)

    return tell


for each in TOLD:
    setattr(Both, each, telling_both(each))


class Runner(unittest.TextTestRunner):
    resultclass = Both


if __name__ == "__main__":
    path = sys.argv.pop(1)
    sys.path.insert(0, "")
    unittest.main(module=None, testRunner=Runner, exit=False)
    with open(path, "w") as file:
        json.dump(Both.oracle.model(), file, indent=1, sort_keys=True)
