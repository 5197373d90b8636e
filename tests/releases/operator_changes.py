"""What changed in torch's operators, and for which devices they have kernels."""

import re

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names
from scope import MPS_RULES, OPERATORS

COMPOSITE = re.compile(r"Composite")
OWN_TABLE = f"{OPERATORS} reads torch's own table"
GROUP = "operators"


def lines(before, after):
    old, new = before["ops"], after["ops"]
    yield from _added(old, new)
    yield from _kernels(old, new, after["version"])
    yield from _gone(old, new)
    yield from _schemas(old, new)


def _added(old, new):
    added, found = difference(old, new)[1], {}
    for name in added:
        of_cuda = any(key.endswith("CUDA") for key in new[name]["keys"])
        if of_cuda and not _runs_on_the_cpu(new[name]) and not name.endswith((".out", "_out")):
            ours = answers.of_word(name.split(".")[0], "shim/simulate")
            found[name] = (ANSWERED, ours) if ours else (DECIDE, "simulated CUDA has nothing to compute it with")
    yield from by_answer(GROUP, "new, with a kernel for CUDA and none for the CPU: {}", "shim/simulate/kernels", found)
    plain = [name for name in added if not name.endswith("out") and name not in found and not name.endswith("_backward")]
    if plain:
        yield Line(GROUP, f"new: {names(plain)}", OPERATORS, ANSWERED, OWN_TABLE)


def _runs_on_the_cpu(entry):
    """By a kernel of its own, or composed of other ops."""
    return any(key == "CPU" or COMPOSITE.match(key) for key in entry["keys"])


def _kernels(old, new, version):
    """Ops with a kernel more or less for each of a device's kinds of tensors: MPS, SparseMPS, …"""
    keys = {key for entry in new.values() for key in entry["keys"] if key.endswith(("MPS", "CUDA"))}
    for key in sorted(keys, key=lambda key: (not key.endswith("MPS"), len(key), key)):
        having = [{name for name in ops if key in ops[name]["keys"]} for ops in (old, new)]
        lost, gained = difference(*having)
        if gained:
            shown = {name.partition(".")[0].rstrip("_") for name in gained}
            yield Line(GROUP, f"with a kernel for {key} now: {names(shown)}", OPERATORS, ANSWERED, OWN_TABLE)
        ruled = {name for name in gained if key == "MPS" and name in old and _ruled(name, version)}
        if ruled:
            yield Line(GROUP, f"with a kernel for MPS now, and a rule that refuses some of it: {names(ruled)}", MPS_RULES, ANSWERED, MPS_RULES)
        if lost := [name for name in lost if name in new]:
            yield Line(GROUP, f"without a kernel for {key} now: {names(lost)}", OPERATORS, ANSWERED, OWN_TABLE)


def _ruled(name, version):
    rules, _ = answers.rules("mps")
    return any(name in rule["ops"] and answers.in_range(rule, version) for rule in rules)


def _gone(old, new):
    bases, used = {name.split(".")[0] for name in new}, {}
    for name in difference(old, new)[0]:
        base = name.split(".")[0]
        if base not in bases and (ours := _user(base)):
            used[name] = (OPEN, f"a rule of {ours} is for nothing") if ours.endswith(".json") else (DECIDE, ours)
    yield from by_answer(GROUP, "gone, and named by our sources: {}", OPERATORS, used)


def _schemas(old, new):
    for name in sorted(set(old) & set(new)):
        if old[name]["schema"] != new[name]["schema"] and (ours := _user(name)):
            change = f"{name}: {old[name]['schema']} → {new[name]['schema']}"
            boxed = ours.endswith((".json", ".py"))
            by = f"{ours} names it" + (", by its boxed arguments" if boxed else "")
            yield Line(GROUP, change, ours, ANSWERED if boxed else DECIDE, by)


def _user(name):
    """The source that names an op in quotes or as a function of at::."""
    word = re.compile(rf'"(?:aten::)?{re.escape(name)}"' + (rf"|at::(?:_ops::)?{name}\b" if "." not in name else ""))
    return next((path for path, text in answers.texts().items() if path.startswith("shim/") and word.search(text)), None)
