"""For a process that imports what others need and then does nothing but fork them (the runner's
warm start): each of those records as if it had imported all of it itself."""

import os

from . import hook, record, state


def counted():
    """What this process has counted so far, for `record_anew` in those that are forked from it."""
    rows = []
    if state.library is not None:
        state.library.take_rows(rows)
    return rows


def record_anew(rows):
    """In the forked process, before it does anything else: begin the record that its environment
    names, with `rows` as its own."""
    hook.say_that_we_watch()
    if state.finished:
        record.start_anew(os.environ.get("TORCHDEVICE_RECORD"), rows)
