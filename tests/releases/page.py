#!/usr/bin/env python3
"""Writes docs/reference/torch-releases.md from the results in tests/releases/results: page.py. It needs
no wheel."""

import json
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path(__file__).parent / "results"
PAGE = ROOT / "docs/reference/torch-releases.md"
HEAD = """\
# Releases of torch

For who moves code to another torch, or makes the shim fit one: what each release changed for code
that is written for CUDA, and whether simulated devices answer it.

<!-- made by tests/releases/page.py -->

`tests/releases/watch.sh BEFORE AFTER` finds the changes by rule in PyPI's wheels for Linux (CUDA)
and macOS, and `tests/releases/page.py` writes this page from its results. No program was run, so
that a change without a trace in Python files, headers, tables or texts is not here. Dates are those
of the files in the wheels. After each change stands the file that answers it, or:

- *no answer*: nothing of ours knows it. Either a program does not notice, or nobody decided yet.
- *needs a decision*: it contradicts our tables, or a simulated device lacks it.
- *decided*: it stays as it is, for the reason given.
"""
CODE = re.compile(r"`[^`]*`|[^\s,;()`]*[_*<>\[\]|](?:[^\s,;()`:]|:(?=\S))*")


def store(before, after, dates, found):
    result = {"before": before, "after": after, "dates": dates, "lines": [line._asdict() for line in found]}
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (RESULTS / f"{before}-{after}.json").write_text(text + "\n")
    PAGE.write_text(page())


def results():
    found = [json.loads(path.read_text()) for path in RESULTS.glob("*.json")]
    return sorted(found, key=lambda each: [int(part) for part in each["after"].split(".")], reverse=True)


def page():
    return HEAD + "".join(map(_release, results()))


def _release(result):
    lines = result["lines"]
    counts = {}
    for line in lines:
        counts[line["status"]] = counts.get(line["status"], 0) + 1
    told = ", ".join(f"{counts[each]} {each}" for each in sorted(counts, key=lambda each: counts[each]))
    summary = f"Wheels of {result['dates'][1]}. {len(lines)} changes since {result['before']}: {told}."
    text = f"\n## {result['after']}\n\n{_filled(summary)}"
    for group in dict.fromkeys(line["group"] for line in lines):
        text += f"\n**{group[0].upper()}{group[1:]}**\n\n"
        text += "".join(_bullet(line) for line in lines if line["group"] == group)
    return text


def _bullet(line):
    answer = line["by"] if line["status"] == "answered" else f"*{line['status']}*{': ' + line['by'] if line['by'] else ''}"
    shown = CODE.sub(_code, f"{line['change']} — {answer}".replace(f"*{line['status']}*", "\0"))
    shown = shown.replace("\0", f"*{line['status']}*")
    return _filled(shown, "- ", "  ")


def _filled(text, first="", next_ones=""):
    return textwrap.fill(text, 98, initial_indent=first, subsequent_indent=next_ones, break_long_words=False, break_on_hyphens=False) + "\n"


def _code(found):
    """A word with Markdown's characters is shown as code; a file is none, which tests would look for."""
    word = found[0].strip("`")
    if word.endswith((".h", ".hpp", ".cc", ".py", ".json")):
        return re.sub(r"([_*<>\[\]|])", r"\\\1", word)
    return f"`{word}`"


if __name__ == "__main__":
    PAGE.write_text(page())
