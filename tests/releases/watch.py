#!/usr/bin/env python3
"""Says what changed between two releases of torch and concerns code for CUDA and our tables.

    watch.sh [--store] BEFORE AFTER        e.g. 2.14.1 2.15.0

From PyPI's wheels for Linux (CUDA) and macOS of both; nothing of them is imported or run. Each line
names our file that the change hits, and what answers it. Lines that need a decision come first.
--store: the result is written to tests/releases/results, and docs/reference/torch-releases.md is
made again. A line needs a decision until a file of ours answers it, or decisions.json says why it
stays as it is; the last lines say which these are, and what to write. Exits 0 if nothing is to be
decided, 1 if something is, 2 if that cannot be said, as without a wheel.

The first run for a release takes minutes and 1 GB: its wheels, and what was read in them, are kept in
$XDG_CACHE_HOME/runner/tests/releases.
"""

import argparse
import json
import pathlib
import re
import sys
import time
import traceback

import dtype_changes
import floors
import header_changes
import lines as line_module
import operator_changes
import page
import python_changes
import refusal_changes
import variable_changes
import wheels

HERE = pathlib.Path(__file__).parent
DEVICES = (operator_changes, refusal_changes, dtype_changes, header_changes, variable_changes)
ORDER = (line_module.DECIDE, line_module.OPEN, line_module.DECIDED, line_module.ANSWERED)


def number(version):
    return tuple(int(part) for part in version.split("."))


def compare(before, after):
    found = [
        *floors.lines(before, after),
        *python_changes.Python(before, after).lines(),
        *(line for part in DEVICES for line in part.lines(before, after)),
    ]
    return list(dict.fromkeys(found))


def decide(found, decisions, before, after):
    """The lines with the decisions taken, and the decisions for this release that no line needs."""
    decided, used = [], set()
    for line in found:
        for place, decision in enumerate(decisions):
            if line.status == line_module.DECIDE and _is_about(decision, line.change) and _holds(decision, after):
                line = line._replace(status=line_module.DECIDED, by=decision["why"])
                used.add(place)
        decided.append(line)
    stale = [each for place, each in enumerate(decisions) if each["since"] == after and place not in used]
    return decided, stale


def _is_about(decision, change):
    """Whether a decision is about a line. A text is decided for those that say it: others may say the same."""
    saying = _saying(change)
    parts = change.partition(": ")[2].split("; ") if saying else [change]
    return set(saying) <= set(decision.get("of", ())) and all(re.search(decision["change"], part) for part in parts)


def _saying(change):
    said = re.match(r"new (?:text in|words of) (.*?): ", change)
    return said[1].split(", ") if said else []


def _holds(decision, after):
    return number(decision["since"]) <= number(after)


def shown(found, before, after):
    counts = {status: sum(line.status == status for line in found) for status in ORDER}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    yield f"torch {before} → {after}: {len(found)} lines ({told})"
    for status in ORDER:
        group = None
        for line in (each for each in found if each.status == status):
            if group is None:
                yield f"\n== {status} =="
            if line.group != group:
                yield f"{line.group}:"
                group = line.group
            yield f"  - {line.change}\n    {line.table}: {line.status}{': ' + line.by if line.by else ''}"


def closing(found, stale, after):
    """What is to be done, for who sees only the end."""
    undecided = [line for line in found if line.status == line_module.DECIDE]
    if undecided:
        yield f"\n== to be decided: {len(undecided)} =="
        yield from (f"  - {line.change[:160]}\n    in {line.table}{': ' + line.by if line.by else ''}" for line in undecided)
        saying = _saying(undecided[0].change)
        said = undecided[0].change.partition(": ")[2] if saying else undecided[0].change
        of = {"of": saying} if saying else {}
        example = {"change": re.sub(r'([][\\.*+?^$(){}|])', r"\\\1", said[:60]), **of, "since": after, "why": "…"}
        yield "Change the file that a line names, so that it answers the line, or add to tests/releases/decisions.json why not:"
        yield f"  {json.dumps(example, ensure_ascii=False)}"
        yield '("change": a pattern that the line has; "of": all that say a text; "since": the first release with it.)'
    for each in stale:
        yield f"\ntests/releases/decisions.json: no line needs this decision any more, remove it: {each['change']}"
    if not undecided and not stale:
        yield "\nNothing is to be decided."


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="keep the result, and make the page again")
    parser.add_argument("before")
    parser.add_argument("after")
    options = parser.parse_args(arguments)
    for version in (options.before, options.after):
        if not re.fullmatch(r"\d+(\.\d+)+", version):
            parser.error(f"{version} is no version of torch, such as 2.15.0")
    if number(options.before) >= number(options.after):
        parser.error(f"{options.before} is not before {options.after}")
    began = time.monotonic()
    try:
        facts = wheels.facts((options.before, options.after))
    except wheels.Unavailable as error:
        print(error, file=sys.stderr)
        return 2
    decisions = json.loads((HERE / "decisions.json").read_text())
    found, stale = decide(compare(*facts), decisions, options.before, options.after)
    print("\n".join(shown(found, options.before, options.after)))
    print("\n".join(closing(found, stale, options.after)))
    if options.store:
        page.store(options.before, options.after, [each["date"] for each in facts], found)
    print(f"\n{time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if stale or any(line.status == line_module.DECIDE for line in found) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # Python would exit with 1, which says that something is to be decided
        traceback.print_exc()
        sys.exit(2)
