"""Runs one test module inside a child process and writes what happens to an events file.

    python main.py --framework unittest|pytest|gtest|ctest --module tests/test_ops.py
                   --root ROOT --events FILE [--only FILE] [--select EXPR] [--maxfail N]
                   [--option ARG]... [--collect-only] [--events-bytes N] [--scratch DIR]
    python main.py --zygote DESCRIPTOR unittest|pytest ROOT [MODULE]...

The second form imports modules and is forked for each module to run (_compat_harness/zygote.py).
The events are described in docs/reference/file-formats.md. What the child prints, its exit status and what the
suite sees of its process (sys.argv, sys.path, __main__) are those of `python -m FRAMEWORK -v
MODULE`.

Not here: time limits, retries, processes (runner/exec). This file stays empty of imports: a suite
that starts processes by `spawn` has them import it again.
"""

import sys

if __name__ == "__main__":
    # Python put this file's folder first; the suite must find its own folder there, as with -m.
    # The folder is needed until the harness and its framework are imported, before any suite code.
    from _compat_harness.session import main

    main(sys.argv[1:])
