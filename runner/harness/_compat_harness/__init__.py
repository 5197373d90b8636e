"""The harness: drives a test framework and writes one event at each test's start and end.

It imports and binds everything it needs before the suite's first line runs: a suite may replace
`time`, `os`, `json`, sys.stdout or sys.modules without effect here. The package's unusual name
avoids a clash with a module of the suite.
"""

import builtins

# Each module of the package uses this copy as its `__builtins__`, so that a suite that replaces
# `open` or `any` does not affect it.
own_builtins = dict(vars(builtins))
