"""The harness: drives a test framework and writes one line at each test's start and end.

Everything it needs is imported and bound before the suite's first line runs, so that a suite which
replaces `time`, `os`, `json`, sys.stdout or sys.modules changes nothing here. The package's name is
unusual on purpose: it must not stand in the way of a module of the suite.
"""

import builtins

# Each module here takes these for its built-ins, in its first statement: what a suite puts in place
# of `open` or `any` is its own business.
own_builtins = dict(vars(builtins))
