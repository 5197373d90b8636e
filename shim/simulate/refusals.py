"""Writes the rules of a device as C++, one row for each operator: refusals.py DEVICE RULES OUTPUT.
DEVICE is mps or cuda, RULES its file, mps_refusals.json or cuda_refusals.json.

A rule names an op with its overload, or without one for all overloads; in-place and `out` forms are
included. The existing ops are read from the target torch (operators.py), and rules for missing ops
are left out. So are rules for other versions of torch: a rule holds from `since` to the version
before `until`, if it has these; and on a system from `macos_since` to the one before `macos_until`,
which is decided when the program runs. CMakeLists.txt runs it.
"""

import json
import os
import runpy
import sys

import torchgen
from operators import read

SCALAR_TYPES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "bool": "Bool",
    "bfloat16": "BFloat16",
}
# MetalShaderLibrary's text for a missing kernel (OperationUtils.mm).
MISSING = "Failed to create function state object for: "
# The dtypes that replace one without a CPU kernel, in this order. A double holds every 32-bit
# integer, and 64-bit ones up to 2**53.
THROUGH = {"bool": ("uint8", "float64")}
THROUGH_INTEGER = ("float64",)


def names(functions, op):
    """All forms of an op: `lerp.Scalar` includes lerp_.Scalar and lerp.Scalar_out. A base name that
    ends in _ means the in-place form alone."""
    base, _, overload = op.partition(".")
    for function in functions:
        name = function.func.name
        if name.name.base != base.removesuffix("_") or base.endswith("_") and not name.name.inplace:
            continue
        if not overload or name.overload_name in (overload, f"{overload}_out"):
            yield str(name)


def dtypes(rule, groups):
    for name in rule.get("dtypes", ()):
        yield from groups.get(name, (name,))


def mask(chosen):
    return " | ".join(f"bit(c10::ScalarType::{SCALAR_TYPES[each]})" for each in chosen) or "0"


def quoted(text):
    return json.dumps(text, ensure_ascii=True)


def number(version):
    """(2, 13) of "2.13" and of "2.13.0+cpu"."""
    return tuple(int(part) for part in version.split(".")[:2])


def target():
    """The version of the torch that has this torchgen beside it."""
    folder = os.path.dirname(os.path.dirname(torchgen.__file__))
    return number(runpy.run_path(os.path.join(folder, "torch", "version.py"))["__version__"])


def holds(rule, version):
    return number(rule.get("since", "0.0")) <= version < number(rule.get("until", "99.0"))


def system(rule, key):
    """1501 of "15.1", as Accelerator::system has it."""
    major, _, minor = rule.get(key, "0").partition(".")
    return 100 * int(major) + int(minor or 0)


def kernel_name(op):
    """As the device's kernels are named after the op."""
    return op.partition(".")[0].removeprefix("special_")


def message(rule):
    if "kernel" in rule:
        return MISSING + rule["kernel"]
    if "dispatch" in rule:
        return f"\"{rule['dispatch']}\" not implemented for '{{dtype}}'"
    return rule["text"]


ERRORS = {"RuntimeError": "runtime", "NotImplementedError": "not_implemented", "TypeError": "type"}


def error(rule):
    kind = "NotImplementedError" if "dispatch" in rule else rule.get("error", "RuntimeError")
    return f"ErrorType::{ERRORS[kind]}"


def refusals(rules, functions):
    version = target()
    for section in rules["refusals"]:
        for rule in section["rules"]:
            if not holds(rule, version):
                continue
            for op in rule["ops"]:
                text = message(rule).replace("{op}", kernel_name(op))
                for name in names(functions, op):
                    condition = rule.get("condition")
                    yield name, (
                        f'    {{"{name}", "{rule.get("argument", "")}", '
                        f'{mask(dtypes(rule, rules["groups"]))}, '
                        f'{"true" if rule.get("elsewhere") else "false"}, '
                        f'{"&" + condition if condition else "nullptr"}, '
                        f'{"true" if "kernel" in rule or "dispatch" in rule else "false"}, '
                        f"{error(rule)}, "
                        f'{system(rule, "macos_since")}, {system(rule, "macos_until")}, '
                        f"{quoted(text)}}},"
                    )


def through(dtype):
    return THROUGH.get(dtype, THROUGH_INTEGER)


def computed(rules, functions):
    version = target()
    for section in rules["computed"]:
        for rule in section["rules"]:
            if not holds(rule, version):
                continue
            for dtype in dtypes(rule, rules["groups"]):
                steps = rule.get("through") or through(dtype)
                first, second = steps[0], steps[-1]
                for op in rule["ops"]:
                    for name in names(functions, op):
                        yield name, (
                            f'    {{"{name}", c10::ScalarType::{SCALAR_TYPES[dtype]}, '
                            f"c10::ScalarType::{SCALAR_TYPES[first]}, "
                            f'c10::ScalarType::{SCALAR_TYPES[second]}, "{rule.get("keep", "")}"}},'
                        )


def table(kind, name, rows):
    yield f"constexpr std::array<{kind}, {len(rows)}> {name}{{{{"
    # Stable: of an op's rules the first that is met decides.
    yield from (line for _, line in sorted(rows, key=lambda row: row[0]))
    yield "}};"
    yield ""


def main():
    device, rules_path, output = sys.argv[1:]
    with open(rules_path, encoding="utf-8") as file:
        rules = json.load(file)
    functions = read().native_functions
    lines = ["// Made by refusals.py.", '#include "simulate/refusals.h"', "", "#include <array>", ""]
    lines += ["namespace compat::shim::simulate {", "namespace {", ""]
    lines += ["using namespace conditions;", ""]
    refused, replaced = f"k_{device}_refusals", f"k_{device}_computed"
    lines += table("Refusal", refused, list(refusals(rules, functions)))
    lines += table("Computed", replaced, list(computed(rules, functions)))
    lines += ["}  // namespace", ""]
    lines += [
        f"std::span<const Refusal> {device}_refusals() noexcept {{ return {refused}; }}",
        f"std::span<const Computed> {device}_computed() noexcept {{ return {replaced}; }}",
    ]
    lines += ["", "}  // namespace compat::shim::simulate", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
