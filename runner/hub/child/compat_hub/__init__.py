"""The hub's hook in a test's process: addresses that tests name lead to the run's hub, and what
the hub has made up is noted for the test that used it.

It imports nothing that a suite could notice, and patches packages when the suite imports them.
Not here: the hub (runner/hub), and what a note means for a test's verdict (runner/analysis).
"""

import os


def install():
    from compat_hub import finder, notes

    notes.watch_files()
    finder.watch_imports(os.environ["COMPAT_HUB_ENDPOINT"].rstrip("/"))
