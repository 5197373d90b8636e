#!/usr/bin/env python3
"""Compares the rules of simulated MPS (shim/simulate/mps_refusals.json) with torch's macOS wheels.

    refusal_texts.py torch-2.13.0-…-macosx_….whl torch-2.15.0-….whl …

Prints, for each wheel:
- rules whose `since` and `until` disagree with it: it lacks the text or the kernels, it has kernels
  for all dtypes that the rule refuses, or a function that has the op's name loads the text in a
  version without the rule, or no longer does in one with it;
- ops whose Metal kernel has another name than the list `metal` says;
- the ops that MPSFallback.mm registers, for ALWAYS_ON_CPU of operators.py;
- with --new, texts of MPS's functions that neither a rule nor the wheel before has.

Name the wheels from old to new. A text that stays in the library may be another op's by then, which
only functions show that have the op's name. Exits 1 if a rule disagrees. The wheels come by
`pip download --no-deps --platform macosx_14_0_arm64 --only-binary :all: torch==VERSION`, before 2.12
macosx_11_0_arm64. A wheel takes 20 seconds and 2 GB of memory.
"""

import argparse
import itertools
import json
import pathlib
import re
import sys
import zipfile

import macho

SHIM = pathlib.Path(__file__).parents[2] / "shim/simulate"
RULES = json.loads((SHIM / "mps_refusals.json").read_text())
# Parts that torch puts together when it raises.
COMPOSED = re.compile(
    r"\{[^}]*\}|'[^']*'|#\d+|double|\(while .*|but expected it|^(?:log_)?softmax(?= not | with )|^normal(?= expects)"
    r"|^\w+_mps(?=:)|(?<![\w.])\d+(?![\w.])"
)
# AT_DISPATCH adds the words to a name.
DISPATCHED = re.compile(r'"(\w+)" not implemented for')
# Metal's names of dtypes, in the names of kernels.
METAL = {"bool": "bool", "uint8": "uchar", "int8": "char", "int16": "short", "int32": "int",
         "int64": "long", "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "float16": "half", "bfloat16": "bfloat", "float32": "float",
         "complex64": "float2", "complex32": "half2"}
REDUCES = ("prod", "mean", "amin", "amax")
# Words of a text that refuses a dtype.
REFUSING = re.compile(r"support|implement|doesn't|only", re.I)
# Which functions are MPS's.
MPS = re.compile(r"mps|Metal", re.I)


def number(version):
    return tuple(int(part) for part in version.split(".")[:2])


def in_range(rule, version):
    since, until = rule.get("since", "0.0"), rule.get("until", "99.0")
    return number(since) <= number(version) < number(until)


def piece(text):
    return max(COMPOSED.split(text), key=len).encode()


def named_after(text, op):
    return text.replace("{op}", op.partition(".")[0].removeprefix("special_"))


def kernel(rule, op, dtype, reduce):
    name = rule["kernel"].replace("{metal}", METAL[dtype]).replace("{reduce}", reduce)
    return named_after(name, op)


def lacks_kernels(rule, kernels):
    """Whether a kernel of this name exists for some dtype, and is lacking for one that is refused."""
    ops = rule["ops"] if "{op}" in rule["kernel"] else rule["ops"][:1]
    reduces = REDUCES if "{reduce}" in rule["kernel"] else ("",)
    return all(
        any(lacks_kernel(rule, op, reduce, kernels) for reduce in reduces) for op in ops
    )


def lacks_kernel(rule, op, reduce, kernels):
    if not any(kernel(rule, op, dtype, reduce) in kernels for dtype in METAL):
        return False
    return any(kernel(rule, op, dtype, reduce) not in kernels for dtype in dtypes(rule))


def dtypes(rule):
    return itertools.chain(*(RULES["groups"].get(group, (group,)) for group in rule.get("dtypes", ())))


def refused_by_others(rule, version):
    """Whether other rules that hold refuse its dtypes of the same argument in every call: the op checks
    them before it looks the kernel up."""
    refused = {
        (op, dtype)
        for other in all_rules()
        if other is not rule and in_range(other, version) and other.get("argument") == rule.get("argument")
        and not {"condition", "requires"} & other.keys()
        for op, dtype in itertools.product(other["ops"], dtypes(other))
    }
    return refused.issuperset(itertools.product(rule["ops"], dtypes(rule)))


def metal_kernels(version):
    """(op, pattern) of each name of a kernel that an op looks up, with any dtypes."""
    dtype = "(?:" + "|".join(METAL.values()) + ")"
    words = {"{metal}": dtype, "{index}": dtype, "{layout}": "dense", "{axis}": "innermost"}
    for section in RULES["metal"]:
        for rule in section["rules"]:
            for op in rule["ops"] if in_range(rule, version) else ():
                pattern = rule["kernel"].replace("{op}", op)
                for word, meaning in words.items():
                    pattern = pattern.replace(word, meaning)
                yield op, re.compile(pattern)


def all_rules():
    for section in RULES["refusals"]:
        yield from section["rules"]


def is_of(function, op):
    """Whether a function of MPS has the op's name, and not that of its gradient or of another op."""
    base = op.partition(".")[0].strip("_")
    return bool(MPS.search(function)) and base in function and ("backward" in base or "backward" not in function)


def said_by_another(rule, version):
    """Whether a rule with the same text and an op of this one holds: for other dtypes, say."""
    return any(
        other.get("text") == rule["text"] and set(other["ops"]) & set(rule["ops"])
        for other in all_rules()
        if in_range(other, version)
    )


def disagreements(version, library, core, before):
    """Pairs of a rule, or of an op whose kernel has another name, and what its wheel says otherwise.
    `core`: the library with texts that every part of torch shares. `before`: the rules whose text an
    op's own function loaded in an earlier wheel."""
    kernels = library.kernels()
    for place, rule in enumerate(all_rules()):
        ours, what = in_range(rule, version), None
        if "kernel" in rule:
            if "{metal}" not in rule["kernel"]:  # a name for one dtype: nothing to compare it with
                continue
            theirs = lacks_kernels(rule, kernels)
            if ours != theirs and (ours or not refused_by_others(rule, version)):
                what = "no such kernels" if ours else "lacks the kernels before or after"
        else:
            text = piece(named_after(rule["text"], rule["ops"][0]))
            if ours and text not in library.content and (name := DISPATCHED.match(rule["text"])):
                text = name[1].encode()
            present = text in library.content
            users = library.users(text) if present else ()
            own = any(is_of(user, op) for user in users for op in rule["ops"])
            if ours and not present and text not in core:
                what = "no such text"
            elif ours and place in before and not own:
                what = "the op's function has the text no more"
            elif own and not ours and not said_by_another(rule, version):
                what = "has the text before or after"
            if own:
                before.add(place)
        if what:
            yield f"{rule['ops']} {rule.get('text') or rule['kernel']}", what
    for op, pattern in metal_kernels(version):
        if not any(map(pattern.fullmatch, kernels)):
            yield op, f"no kernel {pattern.pattern}"


def always_on_cpu(library):
    found = library.loaded_with(b"embedding_renorm_", b"_slow_conv2d_forward")
    for texts in found:
        if not any("out" in text.split(".")[-1:] for text in texts):
            yield [text for text in texts if re.fullmatch(r"[a-z][\w.]+", text)]


def refusing(library):
    """The texts that may refuse something, among those that no rule has."""
    ours = [piece(rule["text"]).decode() for rule in all_rules() if "text" in rule]
    for text in library.texts():
        if len(text) > 11 and REFUSING.search(text) and not any(each in text for each in ours):
            yield text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--new", action="store_true", help="list texts that no rule has")
    parser.add_argument("wheels", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    owners, before, differ = set(), None, 0
    for wheel in options.wheels:
        version = wheel.name.split("-")[1]
        with zipfile.ZipFile(wheel) as file:
            library = macho.Library(file.read("torch/lib/libtorch_cpu.dylib"))
            core = file.read("torch/lib/libc10.dylib")
        for rule, what in disagreements(version, library, core, owners):
            differ += 1
            print(f"{version}: {what}: {rule}")
        for ops in always_on_cpu(library):
            print(f"{version}: MPSFallback.mm registers {', '.join(ops)}")
        if options.new:
            texts = set(refusing(library))
            for text in sorted(texts - before if before is not None else ()):
                users = sorted(name for name in library.users(text.encode()) if MPS.search(name))
                if users:
                    print(f"{version}: new: {text} {users}")
            before = texts
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
