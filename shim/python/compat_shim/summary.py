"""The line with which a program ends that nobody else reports on: without a record, it says on stderr
what the shim did."""

import atexit
import os

from . import appending, record

_VARIABLE = "TORCHDEVICE_SUMMARY"
# Nouns of a record's kinds, and what was done, as `runner exec` says it.
_PARTS = (
    (("redirect", "fold", "override"), "request", "redirected"),
    (("fallback",), "call", "fell back to the CPU"),
    (("refusal",), "call", "refused"),
    ((record.RACE,), "race", "between CUDA streams"),
    (("stub",), "call", "answered without effect"),
    ((record.PLATFORM,), "question", "asked about the system"),
)


def print_at_exit():
    """Once, for this process. Those that it starts are part of the same program and print none."""
    os.environ[_VARIABLE] = "off"
    atexit.register(_print, os.getpid())


def _print(process):
    if os.getpid() == process:
        appending.say(f"compat_shim: {line(record.sites())}\n")


def line(sites):
    """The sum of `sites`, as record.sites() has them."""
    parts = []
    for kinds, noun, did in _PARTS:
        found = [site for site in sites if site["kind"] in kinds]
        count = sum(site["count"] for site in found)
        if count:
            places = len({(site["file"], site["line"]) for site in found})
            parts.append(f"{_counted(count, noun)} {did} at {_counted(places, 'place')}")
    if not parts:
        return "no request was redirected"
    return ", ".join(parts) + "; TORCHDEVICE_RECORD=FILE writes them down"


def _counted(count, noun):
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
