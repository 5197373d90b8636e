"""What changed in the environment variables that torch's libraries name, and in the allocator's settings."""

import re

import answers
import native_facts
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names


def lines(before, after):
    yield from _variables(before, after)
    yield from _settings(before, after)


def _variables(before, after):
    """Environment variables that the libraries name."""
    kept = re.compile(r"(?:TORCH|PYTORCH|CUDA|CUBLAS|CUDNN|NCCL|MPS)")
    gone, added = difference(_named_variables(before), _named_variables(after))
    # A compiler may put a name right behind other bytes.
    old, new = ("\0".join([*(text for each in facts["linux"]["texts"].values() for text in each), ""]) for facts in (before, after))
    gone, added = [each for each in gone if f"{each}\0" not in new], [each for each in added if f"{each}\0" not in old]
    for word, each in (("new", added), ("gone", gone)):
        found = {}
        for name in each:
            aside = r"ROCM|HIP|MIOPEN" if name.startswith("PYTORCH_") else r"ROCM|HIP|MIOPEN|_API$|LIBRARY|_TEST|VERSION|POLICY"
            if kept.match(name) and not re.search(aside, name):
                ours = answers.of_word(name)
                found[name] = (ANSWERED, ours) if ours else (OPEN, "")
        yield from by_answer("environment variables", f"{word} in C++: {{}}", "shim", found)


def _named_variables(facts):
    """Those of the libraries for Linux, and of MPS."""
    of_mps = (text for text in facts["macos"]["texts"] if native_facts.VARIABLE.fullmatch(text) and re.search("MPS|METAL", text))
    return {*facts["linux"]["variables"], *of_mps}


def _settings(before, after):
    """Words that functions in headers list, as the allocator's settings, and the settings that the
    allocator's class parses and its library names."""
    group = "environment variables"
    for file in sorted({*before["headers"]["lists"], *after["headers"]["lists"]}):
        old, new = (facts["headers"]["lists"].get(file, {}) for facts in (before, after))
        for name in sorted(set(old) & set(new)):
            less, more = difference(old[name], new[name])
            yield from by_answer(group, f"{name} ({file}) has also {{}}", "shim", {each: _set_by(each, file) for each in more})
            if less:
                yield Line(group, f"{name} ({file}) has no longer {names(less)}", "shim", ANSWERED, "torch's own")
    listed = {word for facts in (before, after) for each in facts["headers"]["lists"].values() for words in each.values() for word in words}
    gone, added = (set(each) - listed for each in difference(_parsed(before), _parsed(after)))
    everywhere = after["linux"]["texts"]["libc10"]
    found = {each: (ANSWERED, "torch's own, in every build") if each in everywhere else _set_by(each, "") for each in sorted(added)}
    yield from by_answer(group, "settings of the allocator, new: {}", "shim", found)
    if gone:
        yield Line(group, f"settings of the allocator, gone: {names(gone)}", "shim", ANSWERED, "torch's own")


def _set_by(word, file):
    # A source that reads the header when it is built has all its words.
    reading = file and next((path for path, text in answers.texts().items() if path.startswith("shim/") and file in text), None)
    ours = answers.of_word(word, "shim/") or reading
    if ours:
        return ANSWERED, ours
    # Simulated CUDA refuses a setting that it does not list.
    return (DECIDE, "PYTORCH_CUDA_ALLOC_CONF may have it, and no source of ours has") if "AllocatorConfig" in file else (OPEN, "")


def _parsed(facts):
    """The texts of c10's libraries for which the allocator's class has a function that parses them."""
    parsers = {found[1] for each in facts["headers"]["functions"] if (found := re.search(r"AllocatorConfig::parse(\w+)", each))}
    texts = {text for library in ("libc10", "libc10_cuda") for text in facts["linux"]["texts"][library]}
    return {text for text in texts if "".join(part.capitalize() for part in text.removesuffix("_mb").split("_")) in parsers}
