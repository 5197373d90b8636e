"""What changed in the names of torch._C and of its process groups."""

import collections
import itertools

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names, parameters_changed, shape
from scope import BACKEND, HOOKS, OF_CUDA, OF_METAL, TABLES, public

MODULE, GROUPS = "torch._C", "torch._C._distributed_c10d"


class Native:
    """`given`: private class of torch._C → (module, name) of what gives it out."""

    def __init__(self, before, after, given):
        self._old, self._new, self._given = before["python_files"], after["python_files"], given
        self._names_old, self._names_new = _native(before), _native(after)
        self._operators = {name.partition(".")[0] for name in after["ops"]}
        self._of_metal = set(after["macos"]["native"]) - set(after["linux"]["native"])
        classes = {
            name.rpartition(".")[2]
            for files in (self._old, self._new)
            for module in (MODULE, GROUPS)
            for name, fact in files.get(module, {}).get("definitions", {}).items()
            if fact["kind"] == "class"
        }
        self._members_old, self._members_new = (_members(facts["linux"]["words"], classes) for facts in (before, after))
        self._loads_old, self._loads_new = (collections.Counter(itertools.chain(*facts["linux"]["words"])) for facts in (before, after))

    def lines(self):
        yield from self._native_names()
        yield from self._native_members()
        yield from self._process_groups()

    def needs_table(self, name):
        return OF_CUDA.match(name) is not None or name in self._of_metal

    def _native_names(self):
        gone, added = difference(self._names_old, self._names_new)
        asking = _asked(self._new)
        for kind, table, wanted in (("CUDA", TABLES, OF_CUDA), ("MPS", HOOKS, OF_METAL)):
            found = {}
            for each in (each for each in added if wanted.match(each) and each not in self._operators):
                ours = answers.of_word(each)
                if ours or self.needs_table(each):
                    asked = "torch's Python asks it" if each in asking else ""
                    found[each] = (ANSWERED, ours) if ours else (DECIDE if asked else OPEN, asked)
                else:
                    found[each] = (ANSWERED, "torch asks the device's hooks")
            yield from by_answer("names of torch._C", f"of {kind}, new: {{}}", table, found)
            lost = {}
            for each in filter(wanted.match, gone):
                ours = answers.of_word(each)
                lost[each] = ANSWERED, f"{ours} still has it" if ours else "no source of ours has it"
            yield from by_answer("names of torch._C", f"of {kind}, gone: {{}}", table, lost)
        others = {each: (ANSWERED, "torch asks the device's guard and allocator") for each in added if each.startswith("_accelerator_")}
        yield from by_answer("names of torch._C", "of accelerators, new: {}", HOOKS, others)

    def _native_members(self):
        """Members of the private classes of torch._C that torch's public Python gives out."""
        old, new = (files.get(MODULE, {}).get("definitions", {}) for files in (self._old, self._new))
        found, lost = {}, []
        for name in sorted({*old, *new}):
            owner, _, member = name.partition(".")
            if not (member and public(member) and owner in old and owner in new and owner in self._given and self.needs_table(owner)):
                continue
            if any(f"{each}.{member}" in self._new.get(where, {}).get("definitions", {}) for where, each in self._given[owner]):
                continue  # a class of Python's has it itself
            if name not in new:
                lost.append(name)
            elif name in old and shape(old[name]["parameters"]) != shape(new[name]["parameters"]):
                found[name] = self._of_member(owner, member)
            elif name not in old and self._is_new(name):
                found[name] = self._of_member(owner, member)
        yield from by_answer("names of torch._C", f"{MODULE} gains or changes {{}}", TABLES, found)
        if lost:
            yield Line("names of torch._C", f"{MODULE} loses {names(lost)}", TABLES, ANSWERED, "ours may have them still")

    def _is_new(self, name):
        """Whether the library agrees with the stub, which may be written earlier or later than it: code
        that makes the class loads the name, and loaded it less often before."""
        *_, owner, member = ["", *name.split(".")]
        if owner and owner not in self._loads_new or not self._loads_new:
            return True  # made otherwise
        if member in self._members_old.get(owner, ()):
            return False
        return member in self._members_new.get(owner, ()) or self._loads_new[member] > self._loads_old[member]

    def _of_member(self, owner, member):
        """A member is ours to have, if a class of ours stands for its owner."""
        places = ((each, name) for module, name in sorted(self._given[owner]) for each in (module, module.rpartition(".")[0]))
        ours = answers.of_word(member, "shim/") or next(filter(None, (answers.of_name(each, f"{name}.{member}") for each, name in places)), None)
        return (ANSWERED, ours) if ours else (DECIDE, f"{answers.of_word(owner) or 'no source of ours'} has no such member")

    def _process_groups(self):
        """The classes of torch._C._distributed_c10d, by its stubs."""
        old, new = (files.get(GROUPS, {}).get("definitions", {}) for files in (self._old, self._new))
        gone, added = difference(old, new)
        outermost = [name for name in added if name.rpartition(".")[0] not in added and public(name) and self._is_new(name)]
        yield from by_answer("process groups", f"{GROUPS} gains {{}}", BACKEND, {name: _of_group(name) for name in outermost})
        for name in sorted(set(old) & set(new)):
            if "nccl" in name.lower() and old[name] != new[name] and new[name]["kind"] in ("def", "class"):
                change = f"{GROUPS}.{name}: {parameters_changed(old[name]['parameters'], new[name]['parameters'])}"
                gained = set(shape(new[name]["parameters"])) - set(shape(old[name]["parameters"]))
                ours = answers.of_all([each.partition("=")[0] for each in gained], "shim/simulate/nccl")
                yield Line("process groups", change, BACKEND, ANSWERED if ours else DECIDE, ours or "ours is made with the old parameters")
        lost = [name for name in gone if name.rpartition(".")[0] not in gone and public(name) and not name.endswith(".__init__")]
        if lost:
            yield Line("process groups", f"{GROUPS} loses {names(lost)}", BACKEND, ANSWERED, "torch's own classes; ours may have them still")


def _native(facts):
    stubs = facts["python_files"].get(MODULE, {}).get("definitions", {})
    of_python = (name for name in stubs if "." not in name)
    return {*facts["linux"]["native"], *facts["macos"]["native"], *_asked(facts["python_files"]), *of_python}


def _asked(files):
    """The names of torch._C that functions of torch's Python use."""
    return {each for fact in files.values() for one in fact.get("definitions", {}).values() for each in one.get("native", ())}


def _members(words, classes):
    """Class → its members, by the words that functions load: after a class's name, up to the next one's."""
    found = {}
    for loaded in words:
        owner = None
        for word in loaded:
            if word in classes:
                owner = found.setdefault(word, set())
            elif owner is not None:
                owner.add(word)
    return found


def _of_group(name):
    member = name.rpartition(".")[2]
    if "nccl" in name.lower():
        ours = answers.of_word(member, "shim/simulate/nccl") or answers.of_word(member, "shim/python/compat_shim/simulate/nccl")
        return (ANSWERED, ours) if ours else (DECIDE, "our NCCL has no such name")
    return ANSWERED, "torch's own, in every build"
