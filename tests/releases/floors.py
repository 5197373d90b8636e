"""What changed in what a release needs: Python, macOS, packages; and its entry points."""

import re

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names

README, SETTINGS = "README.md", "shim/python/compat_shim/settings.py"
TABLES = "shim/python/compat_shim/cuda/tables.py"


def lines(before, after):
    yield from _python(before, after)
    yield from _macos(before, after)
    yield from _packages(before, after)
    yield from _entry_points(before, after)


def _python(before, after):
    if before["requires_python"] != after["requires_python"]:
        change = f"Requires-Python {before['requires_python']} → {after['requires_python']}"
        yield Line("floors", change, README, ANSWERED, "the shim is built for each interpreter")
    for kind, wanted in (("Python", r"cp\d+$"), ("free-threaded Python", r"cp\d+t$")):
        old, new = ([each for each in facts["tags"] if re.match(wanted, each)] for facts in (before, after))
        gone, added = difference(old, new)
        if gone:
            yield Line("floors", f"no wheels for {kind} {names(map(_version, gone))}", README, ANSWERED, "nothing of ours needs it")
        found = {_version(each): _tested(each) for each in added}
        yield from by_answer("floors", f"wheels for {kind} {{}}", README, found)
    gone, added = difference(before["python"], after["python"])
    if (gone or added) and not set(added) <= {_version(each).rstrip("t") for each in after["tags"]}:
        yield Line("floors", f"classifiers: without {names(gone)}; with {names(added)}", README, OPEN)


def _version(tag):
    return f"{tag[2]}.{tag[3:]}"


def _tested(tag):
    """Whether README says that the code in test processes runs with it."""
    text = (answers.ROOT / README).read_text()
    found = re.search(r"tested with Python 3\.(\d+) to 3\.(\d+)([^\n]*free-threaded[^\n]*)?", text)
    minor = int(re.sub(r"\D", "", tag[3:]))
    if found and int(found[1]) <= minor <= int(found[2]) and (not tag.endswith("t") or found[3]):
        return ANSWERED, README
    return DECIDE, "README.md does not say that it is tested"


def _macos(before, after):
    kinds = {
        "wheels' tag": lambda facts: names(each for each in facts["platforms"] if "macos" in each),
        "LC_BUILD_VERSION": lambda facts: facts["macos"]["minos"],
    }
    for word, of in kinds.items():
        if of(before) != of(after):
            yield Line("floors", f"macOS by the {word}: {of(before)} → {of(after)}", SETTINGS, *_oldest(of(after)))
    old, new = ([each for each in facts["platforms"] if "macos" not in each] for facts in (before, after))
    if old != new:
        yield Line("floors", f"platforms: {names(old)} → {names(new)}", README, ANSWERED, "the shim is built on the machine")


def _oldest(shown):
    """The oldest simulated Mac must not be older than the oldest that the wheel is for."""
    major = min(int(each) for each in re.findall(r"(?:macosx_)?(\d+)[._]\d+", shown))
    text = answers.texts()[SETTINGS]
    ours = [int(each) for each in re.findall(r'"\d+(?:\.\d+)?": \((\d+),', text)]
    refused = re.search(rf"found < \({major}, \d+\)", text)
    return (ANSWERED, SETTINGS) if ours and (min(ours) >= major or refused) else (DECIDE, f"a simulated Mac may have macOS {min(ours)}")


def _packages(before, after):
    old, new = (dict(_requirement(each) for each in facts["requires"]) for facts in (before, after))
    gone, added = difference(old, new)
    if gone or added:
        change = f"requires {names(added) or 'nothing new'}; no longer {names(gone) or 'any'}"
        yield Line("floors", change, TABLES, ANSWERED, "no package of CUDA is used on simulated devices")
    for name in sorted(set(old) & set(new)):
        if old[name] != new[name] and re.search(r"nccl|cudnn|triton|cuda-toolkit|cuda-bindings|nvshmem", name):
            yield Line("floors", f"{name} {old[name]} → {new[name]}", TABLES, ANSWERED, _package_answer(name))
    if before.get("cuda") != after.get("cuda"):
        yield Line("floors", f"the wheel's CUDA {before.get('cuda')} → {after.get('cuda')}", TABLES, ANSWERED, f"{TABLES} (CUDA_VERSION)")
    old, new = (facts["linux"]["architectures"] for facts in (before, after))
    if old and new and old != new:
        yield Line("floors", f"GPU architectures {old} → {new}", TABLES, ANSWERED, "shim/python/compat_shim/cuda/names.py (_cuda_getArchFlags)")


def _package_answer(name):
    if "triton" in name:
        return "docs/reference/simulated-devices.md: Triton interprets kernels on simulated devices, and compiles none"
    return "our versions fit the simulated GPU's capability"


def _requirement(text):
    name = re.match(r"[\w.-]+", text)[0]
    return re.sub(r"-cu\d+$", "", name), re.sub(r"\[.*?\]|;.*", "", text[len(name) :]).strip()


def _entry_points(before, after):
    old, new = ({name: where for name, where in facts["entry_points"].items() if name.startswith("torch.")} for facts in (before, after))
    gone, added = difference(old, new)
    found = {}
    for each in added:
        name = each.partition(": ")[2]
        module, _, function = new[each].partition(":")
        if not re.search(r"^torch\.distributed|cuda|nccl|mps|accelerator", f"{each} {new[each]}"):
            continue
        # Another back end of NCCL is ours to answer; the rest is torch's own.
        if module not in after["python_files"]:
            found[each] = (ANSWERED, f"the wheel has no {module}, so that none can load it")
        elif "nccl" in name:
            creator = _creator(name, function, after)
            ours = (each for each in answers.texts().items() if each[0].startswith("shim/"))
            quoted = next((path for path, text in ours if f'"{name}"' in text or function in text), None)
            quoted = quoted or (answers.of_word(creator, "shim/") if creator else None)
            found[each] = (ANSWERED, quoted) if quoted else (DECIDE, "init_process_group may be asked for it")
        else:
            found[each] = (ANSWERED, "torch's own")
    yield from by_answer("process groups", "entry points, new: {}", "shim/python/compat_shim/simulate/nccl.py", found)
    if gone:
        yield Line("process groups", f"entry points, gone: {names(gone)}", "shim/python/compat_shim/simulate/nccl.py", ANSWERED, "torch's own")
    for each in sorted(set(old) & set(new)):
        if old[each] != new[each]:
            yield Line("process groups", f"entry point {each}: {old[each]} → {new[each]}", "shim/python/compat_shim/simulate/nccl.py", OPEN)


def _creator(name, function, after):
    """What makes the group of a registrar: what is registered under the name, or has a name like the registrar's."""
    module = after["python_files"].get("torch.distributed.distributed_c10d", {})
    for call in module.get("registered", ()):
        if found := re.search(rf"register_backend\('{re.escape(name)}', (\w+)", call):
            return found[1]
    kind = re.fullmatch(r"_register_builtin_(\w+)_backend", function)
    creator = f"_create_{kind[1]}_process_group" if kind else ""
    return creator if creator in module.get("definitions", {}) else None
