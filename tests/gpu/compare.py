#!/usr/bin/env python3
"""Compares the states of tests on a real GPU with those on simulated CUDA, test by test.

    compare.py RESULTS.tar.gz [--bound 0.5]

RESULTS.tar.gz is what run.sh leaves in OUT: a report.json for each part and side. Exits 1 if more
than the bound, in percent, of all tests differ, and 2 if a part lacks a side or there is none.
"""

import argparse
import collections
import json
import re
import sys
import tarfile

SIDES = ("real", "simulated")
REPORT = re.compile(r"runs/([^/]+)\.(real|simulated)/report\.json")
ABSENT = {"state": "not collected"}
NUMBER = re.compile(r"\s*[-+]?\d[\w.+-]*")  # memory that nobody set, random numbers, addresses


def read(archive):
    """{part: {side: report}}, in the order of the archive's names."""
    reports = collections.defaultdict(dict)
    with tarfile.open(archive) as tar:
        for member in tar:
            if name := REPORT.fullmatch(member.name):
                reports[name[1]][name[2]] = json.load(tar.extractfile(member))
    return dict(sorted(reports.items()))


def tests(report):
    return {case["id"]: case for module in report["modules"] for case in module["cases"]}


def first_line(case):
    """The first line of the error, or of the reason for a skip or a death; else the first broken
    sub-test's."""
    text = (case.get("failure") or {}).get("key_line") or case.get("reason") or ""
    if not text:
        return next(filter(None, map(first_line, case.get("subtests", ()))), "")
    return text.strip().partition("\n")[0]


def used_device(case):
    return "device" in case.get("marks", ())


class Part:
    """One part on both sides."""

    def __init__(self, name, reports):
        self.name = name
        self.reports = reports
        real, simulated = (tests(reports[side]) for side in SIDES)
        self.pairs = {test: (real.get(test, ABSENT), simulated.get(test, ABSENT))
                      for test in sorted(real.keys() | simulated.keys())}
        self.differ = {test: pair for test, pair in self.pairs.items() if pair[0]["state"] != pair[1]["state"]}
        self.other_error = {test: pair for test, pair in self.pairs.items()
                            if test not in self.differ and len({NUMBER.sub(" N", first_line(case)) for case in pair}) > 1}
        self.on_device = [test for test, pair in self.pairs.items() if any(map(used_device, pair))]

    def row(self):
        return [self.name, len(self.pairs), len(self.differ), percent(len(self.differ), len(self.pairs)),
                len(self.on_device), sum(test in self.differ for test in self.on_device), len(self.other_error)]


def percent(some, all_of_them):
    return f"{100 * some / all_of_them:.2f} %" if all_of_them else "-"


def table(parts):
    yield "| part | tests | states differ | share | used the device | of these differ | equal state, other error |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    rows = [part.row() for part in parts]
    sums = [sum(row[n] for row in rows) for n in (1, 2, 4, 5, 6)]
    rows.append(["all", *sums[:2], percent(sums[1], sums[0]), *sums[2:]])
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def details(heading, pairs):
    if pairs:
        yield ""
        yield heading
    for test, pair in pairs.items():
        yield f"- {test}: {pair[0]['state']} / {pair[1]['state']}"
        for side, case in zip(SIDES, pair):
            if line := first_line(case):
                yield f"    {side}: {line[:300]}"


def pages(parts):
    for part in parts:
        for side in SIDES:
            run = part.reports[side]["run"]
            yield (f"{part.name}, {side}: device {run['device']}, simulated {run['simulated'] or 'no'}, "
                   f"torch {run['torch']}, {run['duration_s']:.0f} s, exit code {run['exit_code']}")
    if any(part.reports["real"]["run"]["device"] != "cuda" for part in parts):
        yield "warning: the real side ran without a GPU, so this comparison says nothing about one"
    yield ""
    yield from table(parts)
    for part in parts:
        yield from details(f"{part.name}: states differ (real / simulated)", part.differ)
    for part in parts:
        yield from details(f"{part.name}: equal states, other errors", part.other_error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", metavar="RESULTS.tar.gz")
    parser.add_argument("--bound", type=float, default=0.5, help="percent of tests that may differ (0.5)")
    arguments = parser.parse_args()
    reports = read(arguments.results)
    parts = [Part(name, sides) for name, sides in reports.items() if len(sides) == 2]
    print("\n".join(pages(parts)))
    for name, sides in reports.items():
        if len(sides) < 2:
            print(f"{name}: only the {next(iter(sides))} side was run", file=sys.stderr)
    total, differ = sum(len(part.pairs) for part in parts), sum(len(part.differ) for part in parts)
    if not total or len(parts) < len(reports):
        return 2
    print(f"\n{differ} of {total} tests differ: {percent(differ, total)}; the bound is {arguments.bound} %")
    return 100 * differ > arguments.bound * total


if __name__ == "__main__":
    sys.exit(main())
