"""Model repositories: which one a name means, and its files.

Not here: tokenizers (tokens.py) and processors (processors.py).
"""

from .common import missing


def make_model(name, revision, file, folder, source):
    """The answer for a model's repository, with each file that transformers saves for it."""
    return missing("no rule knows this name")


def make_file(name, file, folder, made):
    """The answer for a file that the repository does not have yet."""
    return missing(f"{name} has no {file}")
