"""Runs one test module in a child process and writes an event for each test to an events file.

    python main.py --framework NAME --module tests/test_ops.py
                   --root ROOT --events FILE [--only FILE] [--select EXPR] [--maxfail N]
                   [--option ARG]... [--collect-only] [--signed] [--events-bytes N]
                   [--scratch DIR] [--random-stream N] [--default-dtype NAME]
    python main.py --zygote DESCRIPTOR NAME ROOT [MODULE]...

The second form imports modules, then forks a process for each module to run
(_compat_harness/zygote.py). docs/reference/file-formats.md describes the events. The log, the exit
status, sys.argv, sys.path and __main__ are those of `python -m FRAMEWORK -v MODULE`.

Not here: time limits, retries and processes (runner/exec). This file imports nothing at the top:
processes that a suite starts with multiprocessing's `spawn` import it again.
"""

import sys

if __name__ == "__main__":
    # Python put this file's folder first on sys.path. `main` replaces it by the suite's root, as
    # -m would, once the harness and the framework are imported and before any suite code runs.
    from _compat_harness.session import main

    main(sys.argv[1:])
