"""What changed in torch's C++ headers that concerns our sources."""

import re

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names
from scope import CUDA_RULES, MPS_RULES


def lines(before, after):
    old, new = before["headers"], after["headers"]
    for header, ours in sorted(answers.includes().items()):
        if header in old["files"] and header not in new["files"]:
            yield Line("headers", f"{header} is gone", ours, DECIDE, f"{ours} includes it")
    for base, known in sorted(answers.derived().items()):
        yield from _virtual(base, known, old["classes"], new["classes"])
    yield from _relatives(old["classes"], new["classes"])
    words_old, words_new = set(old["words"]), set(new["words"])
    lost = {}
    for name, ours in answers.used_of_cpp().items():
        last = name.rpartition("::")[2]
        if last in words_old and last not in words_new:
            lost.setdefault(ours, []).append(name)
    for ours, each in sorted(lost.items()):
        guarded = re.search(r"TORCH_VERSION|COMPAT_TORCH|kTorchVersion|if constexpr|requires", answers.texts()[ours])
        answer = (ANSWERED, "by the version of torch") if guarded else (DECIDE, f"{ours} uses it")
        yield Line("headers", f"gone: {names(each)}", ours, *answer)
    yield from _signatures(old, new)
    yield from _enumerations(old["enums"], new["enums"])
    yield from _checks(old["checks"], new["checks"], after["version"])


def _checks(old, new, version):
    """Checks that say the same, and raise another class."""
    found = {}
    for file in sorted(set(old) & set(new)):
        for text in sorted(set(old[file]) & set(new[file])):
            if old[file][text] != new[file][text]:
                was, now = (_raised(checks[file][text]) for checks in (old, new))
                said = " ".join(text.split()).strip(" :")
                found.setdefault((was, now, _rule_otherwise(said, now, version)), []).append(f"{file.rpartition('/')[2]} “{said[:100]}”")
    for (was, now, ours), texts in found.items():
        change = f"checks raise {now}, no longer {was}: {'; '.join(sorted(texts)[:12])}"
        by = f"a rule of {ours} raises another class" if ours else "the code is compiled into kernels that simulated devices run"
        yield Line("errors", change, ours or MPS_RULES, DECIDE if ours else ANSWERED, by)


def _raised(macro):
    """The class that TORCH_CHECK_NOT_IMPLEMENTED, say, raises."""
    words = macro.removeprefix("TORCH_CHECK").strip("_").split("_")
    return ("".join(map(str.capitalize, words)).replace("Linalg", "LinAlg") or "Runtime") + "Error"


def _rule_otherwise(said, kind, version):
    """The table with a rule that says a text for this version and raises another class."""
    for table, device in ((MPS_RULES, "mps"), (CUDA_RULES, "cuda")):
        for rule in answers.rules(device)[0]:
            if said in rule.get("text", "") and answers.in_range(rule, version) and rule.get("error", "RuntimeError") != kind:
                return table
    return None


def _signatures(old, new):
    """Functions of torch that our sources name, and that no header declares as before."""
    for name, ours in sorted(answers.used_of_cpp().items()):
        parts = name.split("::")
        key = "::".join(parts[-2:]) if parts[-2] in old["classes"] else parts[-1]
        was, now = ([_parameters([each])[0] for each in facts["functions"].get(key, ())] for facts in (old, new))
        if was and now and not set(was) & set(now):
            change = f"{name}: {old['functions'][key][0]} → {new['functions'][key][0]}"
            yield Line("headers", change[:300], ours, DECIDE, f"{ours} names it")


def _virtual(base, known, old, new):
    name = next((each for each in new if each.rpartition("::")[2] == base), None)
    was, now = old.get(name or base), new.get(name or base)
    if was is None or now is None:
        if was is not None:
            yield Line("headers", f"class {base} is gone", known["file"], DECIDE, f"{known['file']} derives from it")
        return
    group, file = "headers", known["file"]
    gone, added = difference(was["virtual"], now["virtual"])
    found = {}
    for each in added:
        pure = any(re.search(r"=\s*0$", shown) for shown in now["virtual"][each])
        if each in known["overrides"]:
            found[each] = (ANSWERED, file)
        else:
            found[each] = (DECIDE, f"{file} must have it") if pure else (OPEN, f"{file} has torch's default")
    yield from by_answer(group, f"{base} gains the virtual functions {{}}", file, found)
    lost = {each: (DECIDE, f"{file} overrides it") if each in known["overrides"] else (ANSWERED, "ours does not override it") for each in gone}
    yield from by_answer(group, f"{base} loses the virtual functions {{}}", file, lost)
    for each in sorted(set(was["virtual"]) & set(now["virtual"])):
        if _parameters(was["virtual"][each]) != _parameters(now["virtual"][each]):
            ours = each in known["overrides"]
            change = f"{base}::{each}: {'; '.join(was['virtual'][each])} → {'; '.join(now['virtual'][each])}"
            yield Line(group, change[:300], file, DECIDE if ours else ANSWERED, f"{file} overrides it" if ours else "ours does not override it")


def _relatives(old, new):
    """What classes of MPS, CUDA and NCCL override newly, or no longer, of a class that ours derive from too."""
    derived, found = answers.derived(), {}
    for name in sorted(set(old) & set(new)):
        base = next((each for each in _ancestors(name, new) if each in derived), None)
        if not base or name.rpartition("::")[2] in derived or not re.search(r"mps|cuda|nccl", new[name]["file"], re.I):
            continue
        was, now = (classes[name]["virtual"] for classes in (old, new))
        # Changes of the class that both derive from have a line of their own.
        told = set().union(*difference(*(classes.get(base, {"virtual": ()})["virtual"] for classes in (old, new))))
        gone, added = difference(was, now)
        changed = [each for each in set(was) & set(now) if _parameters(was[each]) != _parameters(now[each])]
        for word, each in (("newly", added), ("with other parameters", changed), ("no longer", gone)):
            for function in sorted(set(each) - told):
                ours = answers.overriding(function)
                if ours or word == "newly":
                    found.setdefault((base, word), {})[f"{name.partition('@')[0]}::{function}"] = ours
    for (base, word), functions in found.items():
        file = derived[base]["file"]
        without = f"{file} has torch's default"
        shown = {
            name: (ANSWERED, ours) if ours and word == "newly" else (OPEN, f"{ours} has it still" if ours else without)
            for name, ours in functions.items()
        }
        yield from by_answer("headers", f"what derives from {base} overrides {word} {{}}", file, shown)


def _ancestors(name, classes):
    """The last names of all classes that a class derives from."""
    for base in re.findall(r"(\w+)(?=<|,|\s|>|$)", classes[name]["bases"]):
        yield base
        if base in classes and base != name:
            yield from _ancestors(base, classes)


def _parameters(shown):
    """Declarations without what no override must repeat."""
    aside = r"\s*=\s*0(?=\s*[,)])|\s*=\s*(?!0)[\w:]+(?:\(\)|\{\})?|\b(?:virtual|override|noexcept)\b|\[\[\w+\]\]|\w+::"
    neat = (re.sub(r"(?<=\()\s+|(?<=[\w&*>]) \w+(?=\s*[,)])", "", " ".join(re.sub(aside, "", each).split())) for each in shown)
    return sorted(re.sub(r"\s+(?=[,)&*])|\s+$", "", each) for each in neat)


def _enumerations(old, new):
    for name in sorted(set(old) & set(new)):
        less, more = difference(old[name], new[name])
        if 4 * len(less) > len(old[name]) and "MacOS" not in name:  # another enumeration of this name
            continue
        if (less or more) and re.search(r"MacOS|Device|Dispatch|Backend|OpType|ScalarType|ErrorType|SDP|Layout|Attention|Stat|Alloc|Event", name):
            found = {}
            for each in more:
                digits = re.search(r"MACOS_(?:VER_)?(\d+)_(\d+)", each)
                ours = answers.of_word(each) or (_macos_known(digits) if digits else None)
                found[each] = (ANSWERED, ours) if ours else (DECIDE, "no simulated macOS of this version") if digits else (OPEN, "")
            yield from by_answer("headers", f"enum {name} gains {{}}", "shim/python/compat_shim/settings.py" if "MacOS" in name else "shim", found)
            if ours := {each: (DECIDE, f"{source} has it") for each in less if (source := answers.of_word(each, "shim/"))}:
                yield from by_answer("headers", f"enum {name} loses {{}}", "shim", ours)


def _macos_known(digits):
    """Whether the simulated Macs have a macOS of this major version."""
    text = answers.texts()["shim/python/compat_shim/settings.py"]
    return "shim/python/compat_shim/settings.py" if re.search(rf'"{digits[1]}(?:\.\d+)?": \({digits[1]},', text) else None
