#!/usr/bin/env python3
"""Looks up the texts of simulated MPS's refusals in torch's macOS wheels: a version whose library
lacks a text does not refuse with it. Prints each rule that differs from the version that the rules
were read from, for `since` and `until` in shim/simulate/mps_refusals.json.

    refusal_texts.py torch-2.13.0-…-macosx_….whl torch-2.15.0-….whl …

The wheels come by `pip download --no-deps --platform macosx_14_0_arm64 torch==VERSION`.
"""

import argparse
import json
import pathlib
import re
import zipfile

RULES = pathlib.Path(__file__).parents[2] / "shim/simulate/mps_refusals.json"
# What torch puts together when it raises.
COMPOSED = re.compile(r"\{[^}]*\}|'[^']*'|#\d+|\(while .*")
# Metal's names of dtypes, in the names of kernels.
METAL = {"bool": "bool", "uint8": "uchar", "int8": "char", "int16": "short", "int32": "int",
         "int64": "long", "float16": "half", "bfloat16": "bfloat", "complex64": "float2",
         "complex32": "half2"}


def library(wheel):
    with zipfile.ZipFile(wheel) as file:
        return file.read("torch/lib/libtorch_cpu.dylib")


def piece(text):
    return max(COMPOSED.split(text), key=len).encode()


def kernels(rule, groups):
    for name in rule["dtypes"]:
        for dtype in groups.get(name, (name,)):
            yield rule["kernel"].replace("{metal}", METAL.get(dtype, dtype)).encode()


def holds(rule, groups, content):
    """True, False, or None where the library cannot tell."""
    if "kernel" not in rule:
        return piece(rule["text"]) in content
    if "{metal}" not in rule["kernel"]:
        return None
    if rule["kernel"].replace("{metal}", "float").encode() not in content:
        return None
    return not all(kernel in content for kernel in kernels(rule, groups))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=pathlib.Path)
    wheels = parser.parse_args().wheels
    rules = json.loads(RULES.read_text())
    contents = {wheel.name.split("-")[1]: library(wheel) for wheel in wheels}
    counts = dict.fromkeys(contents, 0)
    for section in rules["refusals"]:
        for rule in section["rules"]:
            answers = {v: holds(rule, rules["groups"], content) for v, content in contents.items()}
            for version, answer in answers.items():
                counts[version] += answer is True
            if answers.get(rules["version"]) is not True or False in answers.values():
                print(json.dumps(answers), rule["ops"], rule.get("text") or rule["kernel"])
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
