"""Dies the first time, by a mark that it leaves."""

import os


def test_dies_once(marks):
    path = os.path.join(marks, "pytest")
    if not os.path.exists(path):
        open(path, "w").close()
        os.abort()


def test_passes():
    pass
