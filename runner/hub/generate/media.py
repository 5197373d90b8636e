"""Pictures, sounds and videos drawn by code, for addresses written into tests.

Not here: datasets (repositories.py).
"""

from .common import missing


def make_url(url, folder, source):
    """The answer for one address; it has one file. `source`: the suite's source (source.py)."""
    return missing("no rule makes this address")
