"""For a process that imports modules and then only forks (the runner's warm start): each forked
process records as if it had imported them itself."""

import os

from . import hook, record, state


def counted():
    """The rows that this process has counted so far, for `record_anew` in its forked processes."""
    rows = []
    if state.library is not None:
        state.library.take_rows(rows)
    return rows


def record_anew(rows):
    """Call first in the forked process: begin the record that its environment names, with `rows` as
    its own."""
    hook.say_that_we_watch()
    if state.finished:
        record.start_anew(os.environ.get("TORCHDEVICE_RECORD"), rows)
