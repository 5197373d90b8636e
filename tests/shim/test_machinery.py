"""Tests that torch's machinery gives equal results on "cuda" with the shim and on "cpu" without."""

import functools
import pathlib
import re

import pytest

from conftest import older_than
from machinery import cases

HERE = pathlib.Path(__file__).parent

GROUPS = (
    "compiling", "inductor", "tracing", "transforms", "higher_order", "objects", "distributed",
)  # fmt: skip
# Groups whose cases return an answer for each ask().
ASKING = ("threads", "forks", "fresh")


@pytest.fixture(scope="module")
def groups(machinery, plain, inductor_cache):
    """groups(name): the child processes that ran the group without and with the shim."""
    return functools.cache(lambda group: (plain(group), machinery(group, "cuda", inductor_cache)))


UNSANITIZED = {"inductor": "starts compilers, which would be preloaded, too"}


# glibc from 2.41 on, of a library that torch's Inductor linked with older binutils.
NOT_LOADED = "cannot enable executable stack"


def marked(group, name, asks):
    marks = [pytest.mark.unsanitized(reason=UNSANITIZED[group])] if group in UNSANITIZED else []
    return pytest.param(group, name, asks, id=f"{group}-{name}", marks=marks)


CASES = [
    (group, name, asks)
    for group in GROUPS + ASKING
    for name, asks in cases(group).items()
]


@pytest.mark.parametrize("group, name, asks", [marked(*case) for case in CASES])
def test_each_case_has_the_same_result_as_without_the_shim(groups, group, name, asks):
    without, under = groups(group)
    if "missing" in without.answer[name]:
        pytest.skip(f"no module {without.answer[name]['missing']}")
    if "raised" in without.answer[name] and "raised" in under.answer[name] and older_than("2.13"):
        pytest.skip("this torch raises, also without the shim")
    if all(NOT_LOADED in result.answer[name].get("raised", "") for result in (without, under)):
        pytest.skip("this host's C library loads no library that asks for an executable stack")
    assert under.answer[name] == without.answer[name]
    assert "returned" in without.answer[name], without.answer[name]
    assert bool(under.devices(test=name)) == asks, "asked, so redirected, or neither"
    assert without.record == []


ASKING_FILE = str(HERE / "machinery" / "asking.py")
ASKING_LINES = {
    number
    for number, line in enumerate(pathlib.Path(ASKING_FILE).read_text().splitlines(), 1)
    if re.match(r"        [a-z].*\bdevice\b.*,$", line)
}


def counted(child, **wanted):
    """{line of ask(): count}"""
    counts = {}
    for event in child.devices(file=ASKING_FILE, **wanted):
        counts[event["line"]] = counts.get(event["line"], 0) + event["count"]
    return counts


@pytest.mark.parametrize("group, name, asks", [case for case in CASES if case[0] in ASKING])
def test_every_request_is_counted_on_its_line(groups, group, name, asks):
    without, under = groups(group)
    times = len(without.answer[name]["returned"])
    assert len(ASKING_LINES) == 7
    assert counted(under, test=name) == dict.fromkeys(ASKING_LINES, times)
