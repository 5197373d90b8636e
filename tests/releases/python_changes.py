"""What changed in torch's Python that concerns code for CUDA and our tables."""

import re

import answers
import python_tables
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names
from scope import (
    ASIDE, BACKEND, DEEP, ELSEWHERE, HOOKS, OF_CUDA, OF_DEVICES, OF_METAL, OTHERS, OURS, OWN, PARAMETER, REFUSAL, SCOPE, TABLES,
    WHOLE, public, table_of,
)

class Python:
    """The modules of both releases."""

    def __init__(self, before, after):
        self.version = after["version"]
        self._old, self._new = before["python_files"], after["python_files"]
        self._native_old, self._native_new = _native(before), _native(after)
        self._operators = {name.partition(".")[0] for name in after["ops"]}
        self._asked = _asked(self._new)
        self._speaking = {
            module
            for files in (self._old, self._new)
            for module, fact in files.items()
            if any(OURS & set(each.get("devices", ())) for each in fact.get("definitions", {}).values())
        }
        self._given = {}
        for files in (self._old, self._new):
            for module, name, given in _giving(files):
                self._given.setdefault(given, set()).add((module, name))
        self._of_metal = set(after["macos"]["native"]) - set(after["linux"]["native"])

    def lines(self):
        for module in sorted({*self._old, *self._new}):
            if SCOPE.match(module) and not ELSEWHERE.search(module):
                yield from self._module(module)
        yield from self._elsewhere()
        yield from self._used()
        yield from self._native_names()
        yield from self._native_members()
        yield from self._process_groups()
        yield from python_tables.Tables(self._old, self._new, self.version, self._speaking).lines()

    def _definitions(self, files, module):
        """What a module defines for others: of a module with _ in its name, what its package shows."""
        found = files.get(module, {}).get("definitions", {})
        if DEEP.match(module):
            found = {**found, **_shown_by(files, module)}
        last = module.rpartition(".")[2]
        if last.startswith("_") and last != "_symmetric_memory":
            package = files.get(module.rpartition(".")[0], {})
            shown = {
                name
                for name, source in package.get("imported", {}).items()
                if source.startswith((f".{last}:", f"{module}:"))
            }
            return {name: fact for name, fact in found.items() if name.split(".")[0] in shown and public(name, found)}
        return {name: fact for name, fact in found.items() if public(name, found) or self._is_given(module, name, found)}

    def _is_given(self, module, name, definitions):
        """Whether it is a member for others of a private class that something public of the module gives out."""
        owner, _, member = name.partition(".")
        whole = definitions.get(owner, {"kind": ""})["kind"] == "class"
        return whole and bool(member) and public(member) and any(each == module for each, _ in self._given.get(owner, ()))

    def _module(self, module):
        old, new = self._definitions(self._old, module), self._definitions(self._new, module)
        gone, added = difference(old, new)
        gone = [name for name in gone if not name.endswith(".__init__")]  # inherited or overloaded now
        moved = {name for name in gone if self._is_elsewhere(self._new, name, module)}
        arrived = {name for name in added if self._is_elsewhere(self._old, name, module)}
        outermost = [name for name in added if name.rpartition(".")[0] not in added and name not in arrived]
        group = "names of " + ".".join(module.split(".")[:2])
        found = {name: self.answer(module, name, new) for name in outermost if self._counts(module, name, new)}
        shown = self._new.get(module.rpartition(".")[0], {}).get("imported", {})
        from_package = found and all(name in shown for name in found)
        yield from by_answer(group, f"{module.rpartition('.')[0] if from_package else module} gains {{}}", table_of(module), found)
        lost = [name for name in gone if name.rpartition(".")[0] not in gone and name not in moved]
        lost = [name for name in lost if self._counts(module, name, old)]
        if lost:
            used = answers.used_of_torch()
            ours = [used[f"{module}.{name}"] for name in lost if f"{module}.{name}" in used]
            yield Line(group, f"{module} loses {names(lost)}", table_of(module), DECIDE if ours else ANSWERED,
                       f"{ours[0]} uses it" if ours else "no source of ours names them")
        same = {}
        for name in sorted(set(old) & set(new)):
            for said in self._changed(module, name, old[name], new):
                same.setdefault(said, []).append(name)
        for (said, status, by), each in same.items():
            yield Line(group, f"{module}.{each[0]}{said}" if len(each) == 1 else f"{module}: {names(each)}{said}", table_of(module), status, by)
        if public(module):
            yield from self._refused_inside(group, module)

    def _refused_inside(self, group, module):
        """New refusals of a module's private functions, which its public ones hand on."""
        new = self._new.get(module, {}).get("definitions", {})
        known, told, found = _raised(self._old.get(module, {})), self._definitions(self._new, module), {}
        for name, fact in sorted(new.items()):
            shown = public(re.sub(r"\.__\w+__$", "", name))  # as a class's __enter__
            raised = [text for text in fact.get("raises", ()) if text not in known and _refuses(module, text, shown)]
            # A function raises what those inside it raise.
            if raised and name not in told and not name.startswith(tuple(f"{each}." for each in new if new[each]["kind"] != "class")):
                found.setdefault("; ".join(each[:120] for each in raised[:3]), []).append(name)
        for shown, each in found.items():
            yield Line(group, f"{f'{module}.' if len(each) == 1 else f'{module}: '}{names(each)} raises {shown}", table_of(module), ANSWERED, OWN)

    def _is_elsewhere(self, files, name, module):
        """Whether another module of the same package has it: it moved."""
        package = module.rpartition(".")[0]
        return any(
            name in fact.get("definitions", {})
            for other, fact in files.items()
            if other != module and other.rpartition(".")[0] in (package, module) and SCOPE.match(other)
        )

    def _counts(self, module, name, known):
        """Whether a name concerns devices: all of torch.cuda's, elsewhere by what it speaks of."""
        if OTHERS.match(name) or known[name]["kind"] == "value" and re.match(r"f?['\"].* ", known[name]["parameters"]):
            return False  # another device's, or a sentence of a message
        if WHOLE.match(module):
            return True
        members = [fact for each, fact in known.items() if each == name or each.startswith(name + ".")]
        speaks = {device for fact in members for device in fact.get("devices", ())}
        return bool(speaks & OURS) or re.search("|".join(OURS), name.lower()) is not None

    def answer(self, module, name, known):
        """What answers a new or changed name. Its class counts, and what the class derives from."""
        package = module.rpartition(".")[0]
        shown = name.split(".")[0] in self._new.get(package, {}).get("imported", {})
        ours = answers.of_name(module, name) or (answers.of_name(package, name) if shown else None)
        if ours:
            return ANSWERED, ours
        members = [fact for each, fact in known.items() if f"{each}.".startswith(f"{name}.") or f"{name}.".startswith(f"{each}.")]
        native = {each for fact in members for each in fact.get("native", ())}
        bases = re.findall(r"torch\._C\.(\w+)", " ".join(fact["parameters"] for fact in members if fact["kind"] == "class"))
        lacking = sorted(each for each in {*native, *bases} if self._needs_table(each) and not answers.of_word(each))
        if lacking:
            return DECIDE, f"asks torch._C.{lacking[0]}, which no table has"
        driver = sorted({each for fact in members for each in fact.get("driver", ())})
        if driver:
            return DECIDE, f"asks CUDA's libraries itself ({driver[0]})"
        asked = sorted(each for each in {*native, *bases} if self._needs_table(each))
        return ANSWERED, f"{OWN} over {answers.of_word(asked[0])}" if asked else OWN

    def _needs_table(self, native):
        return OF_CUDA.match(native) is not None or native in self._of_metal

    def _changed(self, module, name, old, new):
        """What changed in a name, its status and what answers it."""
        fact, kind = new[name], new[name]["kind"]
        if kind != old["kind"] or not self._counts(module, name, new):
            return
        was, now = old["parameters"], fact["parameters"]
        if kind in ("def", "property") and _shape(now) != _shape(was) and (WHOLE.match(module) or PARAMETER.search(parameters_changed(was, now))):
            yield (f": {parameters_changed(was, now)}", *self._of_shape(module, name, old, fact))
        if kind == "value" and now != was and len(now) < 80 and (now or name not in self._new[module].get("lists", ())):
            yield f" = {was} → {now or '…'}", ANSWERED, answers.of_name(module, name) or OWN
        if kind == "class" and now != was:
            yield (f": bases {was or 'none'} → {now or 'none'}", *self.answer(module, name, new))
        raised = [each for each in sorted(set(fact.get("raises", ())) - set(old.get("raises", ()))) if _refuses(module, each)]
        if raised:
            yield (f" raises {'; '.join(each[:120] for each in raised[:3])}", *self.answer(module, name, new))
        ended = {each for each in set(old.get("raises", ())) - set(fact.get("raises", ())) if _refuses(module, each)} - _raised(self._new[module])
        if ended and not raised:
            yield f" no longer raises {'; '.join(each[:120] for each in sorted(ended)[:3])}", ANSWERED, OWN
        if "deprecated" in fact and "deprecated" not in old:
            yield f" is deprecated {fact['deprecated'][:120]}".rstrip(), ANSWERED, OWN
        warned = [each for each in fact.get("warns", ()) if each not in old.get("warns", ()) and re.search(r"deprecat|will be removed|no longer", each, re.I)]
        if warned and "deprecated" not in fact:
            yield f" warns {warned[0][:160]}", ANSWERED, OWN
        if "deprecated" in old and "deprecated" not in fact:
            yield " is no longer deprecated", ANSWERED, OWN

    def _of_shape(self, module, name, old, fact):
        """A function that our sources name is replaced or wrapped by ours, whose parameters must fit."""
        ours = answers.used_of_torch().get(f"{module}.{name}")
        gained = set(_shape(fact["parameters"])) - set(_shape(old["parameters"]))
        if not ours:
            return ANSWERED, OWN
        text = answers.texts()[ours]
        passes = re.search(r"\*args|\*\*kwargs|\*_|signature", text) is not None
        words = [each.strip("*").partition("=")[0] for each in gained]
        if passes or all(re.search(rf"\b{re.escape(word)}\b", text) for word in words if word):
            return ANSWERED, ours
        return DECIDE, f"{ours} names it"

    def _elsewhere(self):
        """New functions of other public modules that speak of CUDA, MPS or accelerators."""
        for module in sorted(set(self._old) & set(self._new)):
            if SCOPE.match(module) or not public(module) or ASIDE.search(module):
                continue
            old, new = (files[module].get("definitions", {}) for files in (self._old, self._new))
            found = {
                name: self.answer(module, name, new)
                for name in set(new) - set(old)
                if public(name, new) and OURS & set(new[name].get("devices", ()))
            }
            yield from by_answer("names elsewhere", f"{module} gains {{}}", TABLES, found)
            if module in self._speaking:
                yield from self._refused_inside("names elsewhere", module)

    def _used(self):
        """Names that our sources use and the new release lacks."""
        lost = {}
        for name, ours in answers.used_of_torch().items():
            if self._defined(self._old, name) and not self._defined(self._new, name):
                lost.setdefault(ours, []).append(name)
        for ours, each in sorted(lost.items()):
            guarded = all(_is_guarded(answers.texts()[ours], name.rpartition(".")[2]) for name in each)
            yield Line("names that our sources use", f"gone: {names(each)}", ours, ANSWERED if guarded else DECIDE,
                       "used only where torch has it" if guarded else "")

    def _defined(self, files, name):
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            fact = files.get(".".join(parts[:cut]))
            if fact is not None:
                rest = ".".join(parts[cut:])
                return not rest or rest in fact.get("definitions", {}) or parts[cut] in fact.get("imported", {})
        return False

    def _native_names(self):
        gone, added = difference(self._native_old, self._native_new)
        for kind, table, wanted in (("CUDA", TABLES, OF_CUDA), ("MPS", HOOKS, OF_METAL)):
            found = {}
            for each in (each for each in added if wanted.match(each) and each not in self._operators):
                ours = answers.of_word(each)
                if ours or self._needs_table(each):
                    asked = "torch's Python asks it" if each in self._asked else ""
                    found[each] = (ANSWERED, ours) if ours else (DECIDE if asked else OPEN, asked)
                else:
                    found[each] = (ANSWERED, "torch asks the device's hooks")
            yield from by_answer("names of torch._C", f"of {kind}, new: {{}}", table, found)
            lost = {each: (ANSWERED, f"{ours} still has it") if (ours := answers.of_word(each)) else (ANSWERED, "no source of ours has it")
                    for each in gone if wanted.match(each)}
            yield from by_answer("names of torch._C", f"of {kind}, gone: {{}}", table, lost)
        others = [each for each in added if each.startswith("_accelerator_")]
        yield from by_answer("names of torch._C", "of accelerators, new: {}", HOOKS, {each: (ANSWERED, "torch asks the device's guard and allocator") for each in others})

    def _native_members(self):
        """Members of the private classes of torch._C that torch's public Python gives out."""
        module = "torch._C"
        old, new = (files.get(module, {}).get("definitions", {}) for files in (self._old, self._new))
        found, lost = {}, []
        for name in sorted({*old, *new}):
            owner, _, member = name.partition(".")
            if member and public(member) and owner in old and owner in new and owner in self._given and self._needs_table(owner):
                if any(f"{each}.{member}" in self._new.get(where, {}).get("definitions", {}) for where, each in self._given[owner]):
                    continue  # a class of Python's has it itself
                if name not in new:
                    lost.append(name)
                elif name not in old or _shape(old[name]["parameters"]) != _shape(new[name]["parameters"]):
                    found[name] = self._of_member(owner, member)
        yield from by_answer("names of torch._C", f"{module} gains or changes {{}}", TABLES, found)
        if lost:
            yield Line("names of torch._C", f"{module} loses {names(lost)}", TABLES, ANSWERED, "ours may have them still")

    def _of_member(self, owner, member):
        """A member is ours to have, if a class of ours stands for its owner."""
        ours = answers.of_word(member, "shim/") or next(
            filter(None, (answers.of_name(each, f"{name}.{member}") for module, name in sorted(self._given[owner]) for each in (module, module.rpartition(".")[0]))), None)
        return (ANSWERED, ours) if ours else (DECIDE, f"{answers.of_word(owner) or 'no source of ours'} has no such member")

    def _process_groups(self):
        """The classes of torch._C._distributed_c10d, by its stubs."""
        module = "torch._C._distributed_c10d"
        old = self._old.get(module, {}).get("definitions", {})
        new = self._new.get(module, {}).get("definitions", {})
        gone, added = difference(old, new)
        found = {}
        for name in added:
            if name.rpartition(".")[0] in added or not public(name):
                continue
            found[name] = _of_group(name)
        yield from by_answer("process groups", f"{module} gains {{}}", BACKEND, found)
        for name in sorted(set(old) & set(new)):
            if "nccl" in name.lower() and old[name] != new[name] and new[name]["kind"] in ("def", "class"):
                change = f"{module}.{name}: {parameters_changed(old[name]['parameters'], new[name]['parameters'])}"
                gained = set(_shape(new[name]["parameters"])) - set(_shape(old[name]["parameters"]))
                ours = answers.of_all([each.partition("=")[0] for each in gained], "shim/simulate/nccl")
                yield Line("process groups", change, BACKEND, ANSWERED if ours else DECIDE, ours or "ours is made with the old parameters")
        lost = [name for name in gone if name.rpartition(".")[0] not in gone and public(name) and not name.endswith(".__init__")]
        if lost:
            yield Line("process groups", f"{module} loses {names(lost)}", BACKEND, ANSWERED, "torch's own classes; ours may have them still")


def _giving(files):
    """(Module, public name, private class): what functions return by their annotations, and what classes derive from."""
    for module, fact in files.items():
        definitions = fact.get("definitions", {}) if SCOPE.match(module) else {}
        for name, each in definitions.items():
            if public(name, definitions):
                bases = each["parameters"] if each["kind"] == "class" else ""
                for given in {*each.get("gives", ()), *re.findall(r"\b_[A-Z]\w+", bases)}:
                    yield module, name, given


def _refuses(module, text, shown=True):
    """Whether a text refuses something that concerns devices. In a module that is about them, each does
    that a function for others raises."""
    kind, _, said = text.partition(": ")
    of_ours = OURS & set(re.findall(r"[a-z]+", said.lower()))
    if kind == "AssertionError" or not REFUSAL.search(said) or ASIDE.search(said) and not of_ours:
        return False
    if not SCOPE.match(module):
        return bool(of_ours)
    return bool(OF_DEVICES.search(said) or WHOLE.match(module) and (shown or re.search("support|implement", said)))


def _raised(module):
    """All that a module raises: a text may have moved to another function of it."""
    return {text for fact in module.get("definitions", {}).values() for text in fact.get("raises", ())}


def _shown_by(files, package):
    """What a package shows of its modules: the definitions of the names that it imports, with members."""
    found = {}
    for name, source in files.get(package, {}).get("imported", {}).items():
        module, _, original = source.partition(":")
        where = f"{package}.{module.lstrip('.')}".rstrip(".") if module.startswith(".") else module
        if where.startswith(f"{package}.") and not name.startswith("_"):
            for each, fact in files.get(where, {}).get("definitions", {}).items():
                if each == original or each.startswith(f"{original}."):
                    found[name + each.removeprefix(original)] = fact
    return found


def _native(facts):
    stubs = facts["python_files"].get("torch._C", {}).get("definitions", {})
    return {*facts["linux"]["native"], *facts["macos"]["native"], *_asked(facts["python_files"]), *(name for name in stubs if "." not in name)}


def _asked(files):
    """The names of torch._C that functions of torch's Python use."""
    return {each for fact in files.values() for one in fact.get("definitions", {}).values() for each in one.get("native", ())}


def _shape(parameters):
    """Parameters in order, without values that only look different."""
    return [each.strip() for each in re.split(r",\s*(?![^(\[{]*[)\]}])", parameters) if each.strip() not in ("/", "")]


def parameters_changed(old, new):
    """The parameters that are new or gone; all of both where only their order differs."""
    gone, added = ([each for each in _shape(one) if each not in _shape(other)] for one, other in ((old, new), (new, old)))
    said = [f"{word} {', '.join(each)}" for word, each in (("parameters gone:", gone), ("new parameters:", added)) if each]
    return "; ".join(said) or f"({old}) → ({new})"


def _is_guarded(text, name):
    return re.search(rf"(?:hasattr|getattr)\([^\n]*{re.escape(name)}|at_least|SINCE|AttributeError|patching\.patch", text) is not None


def _of_group(name):
    owner, _, member = name.rpartition(".")
    if "nccl" in name.lower():
        ours = answers.of_word(member or name, "shim/simulate/nccl") or answers.of_word(member, "shim/python/compat_shim/simulate/nccl")
        return (ANSWERED, ours) if ours else (DECIDE, "our NCCL has no such name")
    return ANSWERED, "torch's own, in every build"
