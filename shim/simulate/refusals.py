"""Writes the rules of a device as C++, one row for each operator: refusals.py DEVICE RULES OUTPUT.
DEVICE is mps or cuda, RULES its file, mps_refusals.json or cuda_refusals.json. CUDA's rules go
before those that were found by trial (cuda_dtypes.json beside them). A rule found by trial holds
for an op in all its forms. It holds for calls with elements whose other tensors and numbers do not
widen the dtype.

`taken` lists the ops whose kernels take a dtype that the others refuse.

`alerts` are rules for deterministic mode. There torch raises or warns that the name `alert` "does
not have a deterministic implementation". `asserts` list the errors of CPU kernels that are
assertions on the device.

A rule names an op with its overload, or without one for all overloads; in-place and `out` forms are
included. It refuses `dtypes` of the argument, or with `promoted` those to which the op promotes its
tensors. `requires` is the op's check, as C++ over its arguments by their names in the schema; {…}
in the text of such a rule is C++ as well. The existing ops are read from the target torch
(operators.py), and rules for missing ops are left out. So are rules for other versions of torch: a
rule holds from `since` to the version before `until`, if it has these. It holds on systems from
`macos_since` to the one before `macos_until`, which is checked when the program runs.
CMakeLists.txt runs it.
"""

import functools
import json
import os
import re
import runpy
import sys

import torchgen
from operators import kernel_groups, read

SCALAR_TYPES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "bcomplex32": "BComplex32",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
}
# MetalShaderLibrary's text for a missing kernel (OperationUtils.mm).
MISSING = "Failed to create function state object for: "
# The dtypes that replace one without a CPU kernel, in this order. A double holds every 32-bit
# integer, and 64-bit ones up to 2**53.
THROUGH = {"bool": ("uint8", "float64")}
THROUGH_INTEGER = ("float64",)


@functools.cache
def groups():
    return kernel_groups(read().native_functions)


def names(functions, op):
    """All forms of an op: `lerp.Scalar` includes lerp_.Scalar and lerp.Scalar_out, and `mul.Tensor`
    mul.out, which shares its kernel. A base name that ends in _ means the in-place form alone, and
    `median.` the form without a name of its own. Forms by the name of a dimension, which older
    releases have, are left out: each calls the form by number."""
    base, dot, overload = op.partition(".")
    group = groups().get(op.removesuffix("."), ())
    members = {str(each.func.name) for each in group if each.func.is_out_fn()}
    for function in functions:
        name = function.func.name
        if name.name.base != base.removesuffix("_") or base.endswith("_") and not name.name.inplace:
            continue
        if any("Dimname" in str(argument.type) for argument in function.func.arguments.flat_all):
            continue
        named_so = name.overload_name in (overload, f"{overload}_out")
        if not dot or named_so or str(name) in members:
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
    """The version of the torch whose torchgen this is."""
    folder = os.path.dirname(os.path.dirname(torchgen.__file__))
    return number(runpy.run_path(os.path.join(folder, "torch", "version.py"))["__version__"])


def holds(rule, version):
    return number(rule.get("since", "0.0")) <= version < number(rule.get("until", "99.0"))


def system(rule, key):
    """1501 of "15.1", as Accelerator::system has it."""
    major, _, minor = rule.get(key, "0").partition(".")
    return 100 * int(major) + int(minor or 0)


def kernel_name(name):
    """The name of the device's kernel for a form of an op: "i0e" for special_i0e_ and
    special_i0e.out."""
    return name.partition(".")[0].removesuffix("_").removeprefix("special_")


def filled(text, name):
    out = name.partition(".")[2].endswith(("out", "grad_input"))
    return text.replace("{op}", kernel_name(name)).replace("{out}", "_out" if out else "")


# The C++ types that IValue::to reads.
CPP_TYPES = {
    "Tensor": "at::Tensor",
    "Scalar": "at::Scalar",
    "int": "std::int64_t",
    "SymInt": "std::int64_t",
    "float": "double",
    "bool": "bool",
    "str": "std::string",
    "ScalarType": "at::ScalarType",
    "Layout": "at::Layout",
}


def cpp_type(text):
    """The C++ type for an argument's type in native_functions.yaml: Tensor(a!)?, SymInt[2],
    int[]?."""
    text = re.sub(r"\(\w+!?\)", "", text)
    if text.endswith("?"):
        return f"std::optional<{cpp_type(text[:-1])}>"
    if item := re.fullmatch(r"(.*)\[\w*\]", text):
        return f"std::vector<{cpp_type(item[1])}>"
    return CPP_TYPES.get(text)


def given(cpp, i):
    return f"maybe(v[{i}])" if cpp == "std::optional<at::Tensor>" else f"v[{i}].to<{cpp}>()"


class Checks:
    """C++ functions over the arguments of an op: its rules' requirements and their texts."""

    # Fields of a text that refusals.cc fills in from the argument that the rule names.
    FILLED = ("dtype", "metal", "device", "input", "reduce", "op")

    def __init__(self, functions, device):
        self.device = device
        self.arguments = {
            str(each.func.name): [
                (argument.name, cpp_type(str(argument.type)))
                for argument in each.func.arguments.flat_all
            ]
            for each in functions
        }
        self.lines = []

    def _function(self, kind, name, expression):
        """Write the function and return its name. It reads only the arguments that the expression
        names."""
        code = re.sub(r'"(\\.|[^"\\])*"', "", expression)
        words = set(re.findall(r"(?<![.>:\w])[A-Za-z_]\w*", code))
        function = f"{self.device}_check_{len(self.lines)}"
        bound = "".join(
            f"const auto {argument} = {given(cpp, i)}; "
            for i, (argument, cpp) in enumerate(self.arguments[name])
            if argument in words and cpp
        )
        parameters = f"const c10::FunctionSchema&, {'Values v' if bound else 'Values'}"
        self.lines.append(f"{kind} {function}({parameters}) {{ {bound}return {expression}; }}")
        return function

    def broken(self, name, rule):
        """The function that says whether a call breaks the rule's requirement."""
        return self._function("bool", name, f"!({rule['requires']})")

    def text(self, name, rule):
        parts = re.split(r"\{([^{}]*)\}", rule["text"])
        pieces = [
            part if i % 2 and part not in self.FILLED else quoted("{%s}" % part if i % 2 else part)
            for i, part in enumerate(parts)
        ]
        text = f"c10::str({', '.join(pieces)})".replace("{op}", kernel_name(name))
        return self._function("std::string", name, text)


# TORCH_CHECK's text if the caller gives none.
UNWORDED = (
    "Expected {} to be true, but got false.  (Could this error message be improved?  If so, please "
    "report an enhancement request to PyTorch.)"
)


def message(rule):
    if "alert" in rule:
        return rule["alert"]
    if "expected" in rule:
        return UNWORDED.replace("{}", rule["expected"])
    if "kernel" in rule:
        return MISSING + rule["kernel"]
    if "dispatch" in rule:
        return f"\"{rule['dispatch']}\" not implemented for '{{dtype}}'"
    return rule["text"]


def listed(rules, kind, functions):
    """The rules of a file, each with its ops."""
    for section in rules[kind]:
        for rule in section["rules"]:
            yield {
                **rule,
                "names": [name for op in rule["ops"] for name in names(functions, op)],
                "dtypes": list(dtypes(rule, rules["groups"])),
            }


ERRORS = {
    "RuntimeError": "runtime",
    "NotImplementedError": "not_implemented",
    "TypeError": "type",
    "cuBLAS": "cublas",
    "ValueError": "value",
}


def error(rule):
    if "alert" in rule:
        return "ErrorType::nondeterministic"
    kind = "NotImplementedError" if "dispatch" in rule else rule.get("error", "RuntimeError")
    return f"ErrorType::{ERRORS[kind]}"


def is_check(rule):
    """Whether the rule checks the arguments' values, for any dtype."""
    return "requires" in rule and not rule["dtypes"] and "dispatch" not in rule


def refusals(rules, checks):
    version = target()
    for rule in rules:
        if not holds(rule, version):
            continue
        condition, required = rule.get("condition"), "requires" in rule
        kernel = "kernel" in rule or "dispatch" in rule or rule.get("elements")
        for name in rule["names"]:
            met = checks.broken(name, rule) if required else condition
            words = checks.text(name, rule) if required and "{" in rule.get("text", "") else None
            yield name, (
                f'    {{"{name}", "{rule.get("argument", "")}", {mask(rule["dtypes"])}, '
                f'{"true" if rule.get("promoted") else "false"}, '
                f'{"true" if rule.get("elsewhere") else "false"}, '
                f'{"&" + met if met else "nullptr"}, {"&" + words if words else "nullptr"}, '
                f'{"true" if kernel else "false"}, '
                f'{"true" if is_check(rule) else "false"}, '
                f"{error(rule)}, "
                f'{system(rule, "macos_since")}, {system(rule, "macos_until")}, '
                f'{quoted(filled(message(rule), name))}}},'
            )


def first_tensor(function):
    """The first argument that is a tensor or a list of them."""
    for argument in function.func.arguments.flat_non_out:
        if str(argument.type).startswith("Tensor") and not str(argument.type).endswith("?"):
            return argument.name
    return None


def indices(function):
    """The argument that has indices, whose dtype does not affect the dtype of the computation."""
    for argument in function.func.arguments.flat_non_out:
        if argument.name in ("indices", "index"):
            return argument.name
    return ""


def tried(rules, kind, functions, known):
    """The rules found by trial, in the form of the rules above: each op's forms, with its
    arguments. They leave out dtypes of an op that a rule above covers."""
    version = target()
    ruled = {
        (name, dtype)
        for rule in known
        if holds(rule, version)
        for name in rule["names"]
        for dtype in rule["dtypes"]
    }
    for rule in rules[kind]:
        for each in groups().get(rule["op"], ()):
            name, argument = str(each.func.name), first_tensor(each)
            left = [dtype for dtype in dtypes(rule, rules["groups"]) if (name, dtype) not in ruled]
            if argument and left:
                rule = {**rule, "names": [name], "argument": argument, "dtypes": left}
                yield {**rule, "elements": True, "keep": indices(each)}


def through(dtype):
    return THROUGH.get(dtype, THROUGH_INTEGER)


def computed(rules):
    version = target()
    for rule in rules:
        if not holds(rule, version):
            continue
        for dtype in rule["dtypes"]:
            steps = rule.get("through") or through(dtype)
            first, second = steps[0], steps[-1]
            for name in rule["names"]:
                yield name, (
                    f'    {{"{name}", c10::ScalarType::{SCALAR_TYPES[dtype]}, '
                    f"c10::ScalarType::{SCALAR_TYPES[first]}, "
                    f'c10::ScalarType::{SCALAR_TYPES[second]}, "{rule.get("keep", "")}"}},'
                )


def dispatch_names(rules):
    """Rows for ops that have no rule with such a name, and for their other forms."""
    for op, name in rules.get("names", {}).items():
        for each in groups().get(op, ()):
            yield str(each.func.name), f'    {{"{each.func.name}", {quoted(name)}}},'


def ignored(rules, functions):
    for rule in rules.get("ignored", ()):
        for op in rule["ops"]:
            for name in names(functions, op):
                yield name, f'    {{"{name}", "{rule["argument"]}"}},'


def metal_kernels(rules):
    version = target()
    for section in rules.get("metal", ()):
        for rule in section["rules"]:
            for op in rule["ops"] if holds(rule, version) else ():
                yield op, f'    {{"{op}", {quoted(rule["kernel"].replace("{op}", op))}}},'


def taken(rules, functions):
    for section in rules.get("taken", ()):
        for rule in section["rules"]:
            for op in rule["ops"]:
                for name in names(functions, op):
                    yield name, f'    {{"{name}", {mask(rule["dtypes"])}}},'


def assertions(rules, functions):
    version = target()
    for section in rules["asserts"]:
        for rule in section["rules"]:
            for op in rule["ops"] if holds(rule, version) else ():
                for name in names(functions, op):
                    yield name, f'    {{"{name}", {quoted(rule["text"])}}},'


def table(kind, name, rows):
    yield f"constexpr std::array<{kind}, {len(rows)}> {name}{{{{"
    # The sort is stable: the first rule of an op that matches decides.
    yield from (line for _, line in sorted(rows, key=lambda row: row[0]))
    yield "}};"
    yield ""


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    device, rules_path, output = sys.argv[1:]
    rules, functions = load(rules_path), read().native_functions
    found = {kind: list(listed(rules, kind, functions)) for kind in ("refusals", "computed")}
    alerts = list(listed(rules, "alerts", functions))
    tried_path, named = rules_path.replace("_refusals.json", "_dtypes.json"), []
    if os.path.exists(tried_path):
        trials = load(tried_path)
        for kind, known in found.items():
            known += list(tried(trials, kind, functions, known))
        named = list(dispatch_names(trials))
    checks = Checks(functions, device)
    refused, replaced = f"k_{device}_refusals", f"k_{device}_computed"
    rows = list(refusals(alerts + found["refusals"], checks))
    lines = ["// Made by refusals.py.", '#include "simulate/kernels/assertions.h"']
    lines += ['#include "simulate/refusals.h"', "", "#include <array>", "#include <optional>"]
    lines += ["#include <string>", "#include <vector>", ""]
    lines += ["#include <ATen/ATen.h>", "#include <cmath>", '#include "simulate/kernels/capability.h"', ""] if checks.lines else []
    lines += ["namespace compat::shim::simulate {", "namespace {", ""]
    lines += ["using namespace conditions;", "", *checks.lines, ""]
    lines += table("Refusal", refused, rows)
    lines += table("Computed", replaced, list(computed(found["computed"])))
    lines += table("Assertion", f"k_{device}_assertions", list(assertions(rules, functions)))
    called = f"k_{device}_dispatch_names"
    lines += table("DispatchName", called, named)
    left_out = f"k_{device}_ignored"
    lines += table("Ignored", left_out, list(ignored(rules, functions)))
    looked_up = list(metal_kernels(rules))
    if looked_up:
        lines += table("MetalKernel", f"k_{device}_metal_kernels", looked_up)
        lines += table("Taken", f"k_{device}_taken", list(taken(rules, functions)))
    lines += ["}  // namespace", ""]
    lines += [
        f"std::span<const Refusal> {device}_refusals() noexcept {{ return {refused}; }}",
        f"std::span<const Computed> {device}_computed() noexcept {{ return {replaced}; }}",
        f"std::span<const Assertion> {device}_assertions() noexcept {{ return k_{device}_assertions; }}",
        f"std::span<const Ignored> {device}_ignored() noexcept {{ return {left_out}; }}",
        f"std::span<const DispatchName> {device}_dispatch_names() noexcept {{ return {called}; }}",
    ]
    if looked_up:
        lines.append(
            f"std::span<const MetalKernel> {device}_metal_kernels() noexcept "
            f"{{ return k_{device}_metal_kernels; }}"
        )
        lines.append(
            f"std::span<const Taken> {device}_taken() noexcept {{ return k_{device}_taken; }}"
        )
    lines += ["", "}  // namespace compat::shim::simulate", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
