#!/usr/bin/env python3
"""Finds by trial which dtypes the CUDA kernels of torch refuse, and writes
shim/simulate/cuda_dtypes.json. It also writes torch's answers to the calls of calls.txt, and which of
them changed in each version, tests/shim/cuda_calls.json: the rules of cuda_refusals.json are about their
sizes, layouts and options.

    generate.py --headers INCLUDE [--keep FOLDER] torch-2.13.0-….whl torch-2.14.1-….whl …

The wheels are CUDA builds for this Python, from old to new: `pip download --no-deps torch===VERSION`.
No GPU is needed. CUDA's own libraries are replaced by stubs (build.py), so what runs is torch's host code:
it checks dtypes, and then launches a kernel, which does nothing. Each aten op that samples of torch's ops
reach is tried with 18 dtypes (trial.py), whatever OpInfo says of them: its lists of dtypes are not read.

INCLUDE has cuda_runtime_api.h of the wheels' CUDA: the folder nvidia/cu13/include of the wheels
nvidia-cuda-runtime and nvidia-cuda-crt. The Python that runs this has what torch needs (numpy, sympy, …),
PyYAML and expecttest. With --keep, trials that lie in FOLDER are not run again. A wheel takes 10 minutes and 3 GB of disk.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SHIM = HERE.parents[2] / "shim/simulate"
sys.path.insert(0, str(SHIM))
sys.path.insert(0, str(HERE))
from calls import UNANSWERED  # noqa: E402

CALLS = HERE.parents[1] / "shim/cuda_calls.json"
CAPABILITIES = {"7.5": ("flash_attention(h(1,2,4,16)", "bcomplex32"), "8.0": (), "8.6": ("attention(",), "8.9": ("_scaled_mm", "_scaled_addmm"),
                "9.0": ("_scaled_mm", "_scaled_addmm")}
MOST_DEATHS = 300

DTYPES = (
    "uint8 int8 int16 int32 int64 bool float16 bfloat16 float32 float64 complex32 complex64 complex128"
    " uint16 uint32 uint64 float8_e4m3fn float8_e5m2"
).split()
# Words of a text about dtypes that is no AT_DISPATCH error.
ABOUT_DTYPES = re.compile(r"type|complex|bool|float|half|precision|integ|Tensor is not supported", re.I)
DISPATCH = re.compile(r"\"(\w+)\" not implemented for '(\w+)'")

GROUPS = {
    "integral": ["uint8", "int8", "int16", "int32", "int64", "bool"],
    "integers": ["uint8", "int8", "int16", "int32", "int64"],
    "complex": ["complex32", "complex64", "complex128"],
    "half": ["float16", "bfloat16"],
    "unsigned": ["uint16", "uint32", "uint64"],
    "float8": ["float8_e4m3fn", "float8_e5m2"],
}


def unpacked(wheel, folder):
    """Without Triton's and the profiler's parts, which are not loaded."""
    if not (folder / "torch").exists():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def environ(torch, stubs):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "TORCH"))}
    site = next(path for path in sys.path if path.endswith("site-packages"))
    kept.update(LD_LIBRARY_PATH=str(stubs), PYTHONPATH=f"{torch}{os.pathsep}{site}", OMP_NUM_THREADS="1",
                USE_PYTORCH_KERNEL_CACHE="0", PYTHONDONTWRITEBYTECODE="1")
    return kept


def answers(torch, stubs):
    """By capability: what torch says to the calls of calls.txt, or to those that depend on it."""
    for capability, words in CAPABILITIES.items():
        done = subprocess.run(
            [sys.executable, str(HERE / "calls.py"), *words], check=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**environ(torch, stubs), "STUB_CAPABILITY": capability},
        )
        yield capability, dict(map(json.loads, done.stdout.splitlines()))


def changed(by_version):
    """Each version's answers that differ from those of the version before, and calls that lost theirs."""
    known = {}
    for version, of_version in by_version.items():
        new = {}
        for capability, said in of_version.items():
            before = known.setdefault(capability, {})
            said.update(dict.fromkeys(before.keys() - said.keys(), UNANSWERED))
            new[capability] = {call: text for call, text in said.items() if before.get(call, ...) != text}
            before.update(said)
        yield version, {capability: said for capability, said in new.items() if said}


def begun(output):
    return sum('"begins"' in line for line in output.open()) if output.exists() else 0


def try_all(torch, stubs, output):
    """A case that its process did not outlive is left out."""
    for _ in range(MOST_DEATHS):
        before = begun(output)
        errors = output.with_suffix(".stderr").open("a")
        command = [sys.executable, str(HERE / "trial.py"), str(output), str(before)]
        done = subprocess.run(command, env=environ(torch, stubs), stderr=errors)
        if done.returncode == 0:
            return
        if begun(output) == before:
            sys.exit(f"{output}: exit {done.returncode} outside any case")
    sys.exit(f"{output}: more than {MOST_DEATHS} processes died")


def read_trial(path):
    """(aten op with overload, dtype) → Counter of outcomes; a refusal counts by its text."""
    found = collections.defaultdict(collections.Counter)
    for line in path.read_text().splitlines():
        for function, dtype, state, text, count in json.loads(line).get("rows", ()):
            _, name, overload = function.split(".")
            op = name if overload == "default" else f"{name}.{overload}"
            if state == "named":
                continue
            found[op, dtype][text if state == "refused" else f"<{state}>"] += count
    return found


def read_names(path, groups, ruled):
    """(op, name) of AT_DISPATCH in its kernel, of ops for which no rule says it."""
    found = collections.defaultdict(collections.Counter)
    for line in path.read_text().splitlines():
        for function, _, state, text, count in json.loads(line).get("rows", ()):
            _, name, overload = function.split(".")
            op = name if overload == "default" else f"{name}.{overload}"
            if state == "named" and op in groups:
                found[str(groups[op][0].func.name)][text] += count
    for op in sorted(found.keys() - ruled):
        yield op, max(found[op], key=lambda text: (found[op][text], text))


def is_about(text, name):
    dispatched = DISPATCH.fullmatch(text)
    return dispatched[2] == name if dispatched else bool(ABOUT_DTYPES.search(text))


def message(text, name):
    """The rule's message: the name in AT_DISPATCH's error, or the text."""
    dispatched = DISPATCH.fullmatch(text)
    if dispatched:
        return "dispatch", dispatched[1]
    return "text", re.sub(rf"\b{name}(?=\b|Tensor)", "{dtype}", text)


def rules(trial, groups, names):
    """(op, message, condition) → dtypes that every call with elements was refused for."""
    merged = collections.defaultdict(collections.Counter)
    for (op, dtype), outcomes in trial.items():
        if op in groups and dtype in names:
            merged[str(groups[op][0].func.name), dtype].update(outcomes)
    found, lacking = collections.defaultdict(set), collections.defaultdict(set)
    for (op, dtype), outcomes in merged.items():
        said = {
            text: count for text, count in outcomes.items()
            if not text.startswith("<") and is_about(text, names[dtype])
        }
        if said and not outcomes["<ok>"]:
            text = max(said, key=lambda each: (said[each], each))
            condition = "common_dtype_of_dimensions" if outcomes["<scalar>"] else "common_dtype"
            found[op, *message(text, names[dtype]), condition].add(dtype)
        elif outcomes["<ok>"] and outcomes["<cpu lacks>"] and dtype in GROUPS["integral"]:
            lacking[op].add(dtype)
    return found, lacking


def grouped(dtypes):
    left, named = set(dtypes), []
    for name, members in GROUPS.items():
        if left.issuperset(members):
            named.append(name)
            left -= set(members)
    return named + [each for each in DTYPES if each in left]


def ranges(present, versions):
    """The spans of consecutive versions that have a rule, as since and until."""
    for has, span in itertools.groupby(range(len(versions)), key=lambda i: versions[i] in present):
        span = list(span)
        if has:
            yield {
                **({"since": minor(versions[span[0]])} if span[0] else {}),
                **({"until": minor(versions[span[-1] + 1])} if span[-1] + 1 < len(versions) else {}),
            }


def minor(version):
    return ".".join(version.split(".")[:2])


def lines_of(by_version, versions):
    """One rule a line, for the dtypes that it has in the same versions."""
    spans = collections.defaultdict(lambda: collections.defaultdict(set))
    for version, found in by_version.items():
        for key, dtypes in found.items():
            for dtype in dtypes:
                spans[key][dtype].add(version)
    for key in sorted(spans):
        by_span = collections.defaultdict(set)
        for dtype, present in spans[key].items():
            by_span[tuple(sorted(present))].add(dtype)
        for present, dtypes in sorted(by_span.items()):
            for span in ranges(present, versions):
                op, *rest = key if isinstance(key, tuple) else (key,)
                rule = {"op": op, "dtypes": grouped(dtypes), **span}
                if rest:
                    rule = {**rule, rest[0]: rest[1], "condition": rest[2]}
                yield json.dumps(rule)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--headers", type=pathlib.Path, required=True)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("wheels", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    from build import build

    refused, lacking, versions, called, answered = {}, {}, [], {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        for wheel in options.wheels:
            version = wheel.name.split("-")[1]
            versions.append(version)
            torch, output = folder / version, folder / f"{version}.jsonl"
            unpacked(wheel, torch)
            stubs = folder / f"stubs-{version}"
            if not stubs.exists():
                build(torch / "torch", options.headers, stubs)
            if not output.exists():
                try_all(torch, stubs, output)
            sys.path.insert(0, str(torch))
            for name in [each for each in sys.modules if each.startswith(("torchgen", "operators", "refusals"))]:
                del sys.modules[name]
            from operators import kernel_groups, read
            from refusals import SCALAR_TYPES

            groups = kernel_groups(read().native_functions)
            refused[version], lacking[version] = rules(read_trial(output), groups, SCALAR_TYPES)
            ruled = {op for op, kind, *_ in refused[version] if kind == "dispatch"}
            called.update(read_names(output, groups, ruled))
            sys.path.remove(str(torch))
            answered[minor(version)] = dict(answers(torch, stubs))
    CALLS.write_text(json.dumps(dict(changed(answered)), indent=1) + "\n")
    parts = (("refusals", refused), ("computed", lacking))
    text = ",\n".join(
        f'  "{name}": [\n' + ",\n".join(f"    {line}" for line in lines_of(found, versions)) + "\n  ]"
        for name, found in parts
    )
    names = ",\n".join(f"    {json.dumps(each)}: {json.dumps(called[each])}" for each in sorted(called))
    (SHIM / "cuda_dtypes.json").write_text(
        '{\n  "made by": "tests/sweep/cuda_dtypes/generate.py",\n'
        f'  "versions": {json.dumps(versions)},\n  "groups": {json.dumps(GROUPS)},\n{text},\n'
        f'  "names": {{\n{names}\n  }}\n}}\n'
    )


if __name__ == "__main__":
    main()
