"""A line of what changed between two releases, and how lines are put together."""

import re
from typing import NamedTuple

ANSWERED, OPEN, DECIDE, DECIDED = "answered", "no answer", "needs a decision", "decided"
SHOWN = 60  # names in a line


class Line(NamedTuple):
    """`table`: the file of ours that the change hits. `by`: what answers it, or why it need not be."""

    group: str
    change: str
    table: str
    status: str
    by: str = ""


def names(words):
    words = sorted(words)
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(words[:SHOWN]) + more


def difference(before, after):
    """(gone, new) of two collections of keys."""
    return sorted(set(before) - set(after)), sorted(set(after) - set(before))


def without_and_with(gone, new):
    """In words, what a list has lost and gained."""
    return "; ".join(f"{word} {names(each)}" for word, each in (("without", gone), ("with", new)) if each)


def by_answer(group, change, table, found):
    """One line for each way in which names are answered. `found`: name → (status, by)."""
    kinds = {}
    for name, answer in found.items():
        kinds.setdefault(answer, []).append(name)
    for (status, by), each in kinds.items():
        yield Line(group, change.format(names(each)), table, status, by)


def shape(parameters):
    """Parameters in order, without values that only look different."""
    return [each.strip() for each in re.split(r",\s*(?![^(\[{]*[)\]}])", parameters) if each.strip() not in ("/", "")]


def parameters_changed(old, new):
    """The parameters that are new or gone; all of both where only their order differs."""
    gone, added = ([each for each in shape(one) if each not in shape(other)] for one, other in ((old, new), (new, old)))
    said = [f"{word} {', '.join(each)}" for word, each in (("parameters gone:", gone), ("new parameters:", added)) if each]
    return "; ".join(said) or f"({old}) → ({new})"
