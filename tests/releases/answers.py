"""What our own sources answer: found in them by rule, so that no list of answers can go stale."""

import functools
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/sweep"))
import header_facts

FOLDERS = ("shim", "runner/harness/scan", "suites/conformance")
# Where several files have a word, the first of these names the answer: tables before code.
TABLES = re.compile(r"tables\.py|names\.py|_refusals\.json|cuda_dtypes\.json|operators\.py|mac\.py|settings\.py|nccl")
COMMENT = {".py": re.compile(r'#[^\n"\']*$|^\s*"""(?:.|\n)*?"""', re.M), ".json": re.compile(r"(?!)")}
C_COMMENT = re.compile(r"//[^\n]*|/\*(?:.|\n)*?\*/")
QUALIFIED = re.compile(r"\b(?:at|c10|c10d|torch)(?:::\w+)+")


def _files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".cc", ".h", ".json") and path.is_file():
                yield path


@functools.lru_cache(maxsize=None)
def texts():
    """Each source without its comments."""
    return {
        str(path.relative_to(ROOT)): COMMENT.get(path.suffix, C_COMMENT).sub("", path.read_text())
        for path in _files()
    }


@functools.lru_cache(maxsize=None)
def _words():
    found = {}
    for name, text in texts().items():
        for word in set(re.findall(r"\w+", text)):
            found.setdefault(word, []).append(name)
    return {word: sorted(names, key=lambda name: (not TABLES.search(name), name)) for word, names in found.items()}


def of_word(word, within=""):
    """The source that has this identifier, or None."""
    whole = next((name for name in _words().get(word, ()) if name.startswith(within)), None)
    return whole or next((name for name in _composed(word) if name.startswith(within)), None)


def _composed(word):
    """The sources that put the identifier together, as "_nccl_" + name, or have a pattern of such names."""
    for path, text in texts().items():
        if any(re.fullmatch(each, word) for each in re.findall(r're\.compile\(r"(_[a-z]+_[a-z]\w*\\w[^"|]*)"\)', text)):
            yield path
        for prefix in re.findall(r'"(\w+_)" \+', text):
            if word.startswith(prefix) and f'"{word.removeprefix(prefix)}"' in text:
                yield path


def of_all(words, within=""):
    """The source of the first word, if the sources have each."""
    found = [of_word(word, within) for word in words]
    return found[0] if found and all(found) else None


def of_name(module, name):
    """The source that names a function or class of a module of torch."""
    parts = name.split(".")
    for path, text in texts().items():
        whole = rf"\b{re.escape(f'{module}.{name}')}\b(?!\.\w)"
        pair = rf"[\"']{re.escape(module)}[\"'],\s*[\"']{re.escape(name)}[\"']"
        if re.search(f"{whole}|{pair}", text):
            return path
    return _of_class(module, parts[0]) if len(parts) > 1 else None


def _of_class(module, name):
    """The table that has a class as a whole; where a function is called with it, only some of it is changed."""
    entry = re.compile(rf"(?<![\w(])[\"']{re.escape(f'{module}.{name}')}[\"']|[\"']{re.escape(module)}[\"'],\s*[\"']{name}[\"']")
    return next((path for path, text in texts().items() if entry.search(text)), None)


@functools.lru_cache(maxsize=None)
def used_of_torch():
    """Names of torch's Python that our sources use, as "torch.cuda.graphs.graph", with the file."""
    found = {}
    for path, text in texts().items():
        if path.startswith("shim/") and path.endswith(".py"):
            for each in re.findall(r"\btorch(?:\.\w+)+", text):
                found.setdefault(each, path)
            for module, name in re.findall(r'"(torch[\w.]*)",\s*"([\w.]+)"', text):
                found.setdefault(f"{module}.{name}", path)
            for module, names in re.findall(r"from (torch[\w.]*) import ([\w, ]+)", text):
                for name in names.split(","):
                    found.setdefault(f"{module}.{name.split()[0]}", path)
    return found


@functools.lru_cache(maxsize=None)
def used_of_cpp():
    """Qualified names of torch's C++ that our sources use."""
    found = {}
    for path, text in texts().items():
        if path.startswith("shim/") and path.endswith((".cc", ".h")):
            for each in QUALIFIED.findall(text):
                found.setdefault(each, path)
    return found


@functools.lru_cache(maxsize=None)
def includes():
    """The headers of torch that the shim includes, with the file that does."""
    found = {}
    for path, text in texts().items():
        for each in re.findall(r"#include [<\"]((?:torch|ATen|c10|caffe2)/[^>\"]*)", text):
            found.setdefault(each, path)
    return found


@functools.lru_cache(maxsize=None)
def derived():
    """Classes of torch that ours derive from, with the file, and which functions these override: by their
    names, as one may be built with a torch that lacks the function."""
    found = {}
    for path, text in texts().items():
        if not path.endswith((".cc", ".h")) or "public" not in text:
            continue
        header = header_facts.Header(text, False)
        for name, fact in header.classes.items():
            for base in re.findall(r"(?:\w+::)+(\w+)", fact["bases"]):
                known = found.setdefault(base, {"file": path, "overrides": set()})
                known["overrides"].update(each.removeprefix(f"{name}::") for each in header.functions)
    return found


def overriding(function):
    """The source of a class that overrides a function of a class of torch."""
    word = re.compile(rf"\b{re.escape(function)}\([^;{{}}]*\boverride\b")
    return next((path for path, text in texts().items() if path.endswith((".cc", ".h")) and word.search(text)), None)


@functools.lru_cache(maxsize=None)
def rules(device):
    """The rules of a simulated device that refuse something, and the groups of dtypes."""
    content = json.loads((ROOT / f"shim/simulate/{device}_refusals.json").read_text())
    return [rule for section in content["refusals"] for rule in section["rules"]], content["groups"]


def in_range(rule, version):
    number = tuple(int(part) for part in version.split(".")[:2])
    since, until = rule.get("since", "0.0"), rule.get("until", "99.0")
    return tuple(map(int, since.split("."))) <= number < tuple(map(int, until.split(".")))


def refused(device, name, version, sometimes=False):
    """The dtypes that our rules refuse in a version of torch. `name`: an OpInfo's, such as linalg.inv, or
    scatter_reduce.mean. `sometimes`: also under a condition, as for one of an op's reductions."""
    named = {name.replace(".", "_"), name.rpartition(".")[2], *([name.partition(".")[0]] if sometimes else ())}

    def is_of(op):
        base = op.partition(".")[0].strip("_")
        return not named.isdisjoint((base, base.removesuffix("_ex"), base.removeprefix("special_")))

    found, groups = rules(device)
    refusing = [(rule, groups) for rule in found if any(map(is_of, rule["ops"])) and (sometimes or "condition" not in rule)]
    if device == "cuda":
        content = json.loads((ROOT / "shim/simulate/cuda_dtypes.json").read_text())
        refusing += [(rule, content["groups"]) for rule in content["refusals"] if is_of(rule["op"])]
    return {
        dtype
        for rule, members in refusing
        if in_range(rule, version)
        for group in rule.get("dtypes", ())
        for dtype in members.get(group, (group,))
    }
