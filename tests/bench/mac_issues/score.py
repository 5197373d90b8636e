#!/usr/bin/env python3
"""How often the simulated Mac answers as real Macs did, whose answers users wrote into issues.

    score.py [--all] [--limit SECONDS] [ISSUE…]     ISSUE: a part of an issue's name; --all lists every case

`cases.json` holds the collection. Its programs were written for it; each makes the call of its issue with
the shapes and dtypes of its issue. No rule of the simulation may come from it. Keys of a case:

    issue, date   repository#number, and the day of the answer
    answer        what the Mac did: "refused"; "computes"; "falls back" (to the CPU, which
                  PYTORCH_ENABLE_MPS_FALLBACK allows); "not imitable": a crash of Metal, wrong values,
                  sizes that no test machine holds, Inductor
    text          words of the error, each of which the simulation must say
    fallback      whether PYTORCH_ENABLE_MPS_FALLBACK is on
    since, until  versions of torch for which the answer holds; until is the first without it
    macos         the version of macOS, where the answer depends on it
    evidence      "output": the issue shows it; "statement": its author says so
    note          what else the Mac did
    code          the program's lines, after PRELUDE

Each program runs in a process of its own. A case that holds for other versions than the installed torch is
counted and not run. COMPAT_SHIM_LIBRARY is the shim's library for that torch, as `runner prepare
suites/conformance --python PYTHON` names it.
"""

import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from child import simulated  # noqa: E402

CHILD = "COMPAT_MAC_ISSUES_CHILD"
PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
FALLS_BACK = "fall back to run on the CPU"
# The answers that count as the Mac's. Some ops run on the CPU of every Mac; there a fallback
# computes, too.
RIGHT = {"refused": {"refused"}, "computes": {"computes", "falls back"}, "falls back": {"falls back"}}


def settings(fallback, macos):
    more = {"PYTORCH_ENABLE_MPS_FALLBACK": "1"} if fallback == "on" else {}
    return {**more, "TORCHDEVICE_MACOS": macos} if macos else more


def answer(code):
    """A program's outcome: (answer, text)."""
    import torch

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            exec(PRELUDE + code, {"__name__": "__main__"})
            torch.mps.synchronize()
        except AssertionError as error:
            return "another result", str(error)
        except Exception as error:
            return "refused", f"{type(error).__name__}: {error}"
        return ("falls back" if any(FALLS_BACK in str(each.message) for each in said) else "computes"), ""


def in_a_process(code, limit):
    """The answer of a program in a fork, which a crash and the time limit end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(limit)
        os.write(writing, json.dumps(answer(code)).encode()[:60000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        written = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(written) if written and status == 0 else ("another result", f"the process ended with {status}")


def child(limit):
    import torch

    torch.ones(1, device="mps")
    print(json.dumps([in_a_process("\n".join(code), limit) for code in json.load(sys.stdin)]))


def version(text):
    return tuple(int(part) for part in text.split("+")[0].split(".")[:2])


def holds(case, torch):
    return version(case.get("since", "0.0")) <= torch and ("until" not in case or torch < version(case["until"]))


def ran(cases, limit):
    """(case, answer, text) for each; one process starts those that share a setting."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case["fallback"], case.get("macos")].append(case)
    for setting, group in groups.items():
        done = subprocess.run(
            [sys.executable, __file__],
            env=simulated("mps", **settings(*setting), **{CHILD: str(limit)}),
            input=json.dumps([case["code"] for case in group]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        yield from ((case, *told) for case, told in zip(group, json.loads(done.stdout.splitlines()[-1])))


def ratio(part, whole):
    return f"{part / whole:.3f} ({part} of {whole})" if whole else "nothing to count"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("issues", nargs="*", metavar="ISSUE")
    options = parser.parse_args()
    import torch

    collected = json.loads((HERE / "cases.json").read_text())
    if options.issues:
        collected = [case for case in collected if any(name in case["issue"] for name in options.issues)]
    installed = version(torch.__version__)
    here = [case for case in collected if holds(case, installed)]
    imitable = [case for case in here if case["answer"] != "not imitable"]

    figures = collections.Counter()
    wrong = collections.Counter()
    lines = []
    for case, got, text in ran(imitable, options.limit):
        expected = case["answer"]
        right = got in RIGHT[expected]
        exact = all(words in text for words in case.get("text", []))
        figures[expected, "cases"] += 1
        figures[expected, "right"] += right
        figures["refused here"] += got == "refused"
        if right and "text" in case:
            figures["texts"] += 1
            figures["exact"] += exact
        wrong[expected, got] += not right
        if not right or not exact or options.all:
            program = "; ".join(case["code"])
            lines.append(f"- {case['issue']} ({case['date']}, fallback {case['fallback']}): {expected} on a Mac, "
                         f"{got} here{'' if exact or not right else ', in other words'}\n"
                         f"  {program[:150]}\n  {text.splitlines()[0][:200] if text else ''}".rstrip())

    print(f"torch {torch.__version__}: {len(collected)} cases from {len({c['issue'] for c in collected})} threads; "
          f"{len(collected) - len(here)} hold for other versions\n")
    print("| a Mac | cases | as on the Mac | otherwise |\n|---|---|---|---|")
    for kind in RIGHT:
        others = ", ".join(f"{count} {got}" for (said, got), count in wrong.items() if said == kind and count)
        print(f"| {kind} | {figures[kind, 'cases']} | {figures[kind, 'right']} | {others} |")
    print(f"| not imitable | {len(here) - len(imitable)} | | not run |\n")
    hits = figures["refused", "right"]
    print(f"refused: precision {ratio(hits, figures['refused here'])}, recall {ratio(hits, figures['refused', 'cases'])}; "
          f"texts {ratio(figures['exact'], figures['texts'])}")
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    child(int(os.environ[CHILD])) if CHILD in os.environ else main()
