"""What changed in torch's Python that concerns code for CUDA and our tables."""

import re

import answers
import native_changes
import python_tables
from lines import ANSWERED, DECIDE, Line, by_answer, difference, names, parameters_changed, shape
from scope import (
    ASIDE, COMPILERS, DEEP, ELSEWHERE, OF_DEVICES, OTHERS, OURS, OWN, PARAMETER, PROTOCOL, REFUSAL, SCOPE, TABLES, WHOLE, public, table_of,
)

OF_CUDA_OR_MPS = re.compile(r"torch\.(?:cuda|mps)(?:\.[a-z]\w*)*")
WARNING = re.compile(r"deprecat|will be removed|no longer", re.I)


class Python:
    """The modules of both releases."""

    def __init__(self, before, after):
        self.version = after["version"]
        self._old, self._new = before["python_files"], after["python_files"]
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
        self._native = native_changes.Native(before, after, self._given)

    def lines(self):
        for module in sorted({*self._old, *self._new}):
            if SCOPE.match(module) and not ELSEWHERE.search(module):
                yield from self._module(module)
        yield from self._elsewhere()
        yield from self._error_classes()
        yield from self._gone()
        yield from self._used()
        yield from self._native.lines()
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
        outermost = [name for name in outermost if not self._is_unlisted(module, name, new)]
        found = {name: self.answer(module, name, new) for name in outermost if self._counts(module, name, new)}
        shown = self._new.get(module.rpartition(".")[0], {}).get("imported", {})
        from_package = found and all(name in shown for name in found)
        found = {self._shown(module, name): answer for name, answer in found.items()}
        yield from by_answer(group, f"{module.rpartition('.')[0] if from_package else module} gains {{}}", table_of(module), found)
        lost = [name for name in gone if name.rpartition(".")[0] not in gone and name not in moved]
        lost = [name for name in lost if self._counts(module, name, old) and f"{module}.{self._shown(module, name)}" not in self._new]
        if lost:
            used = answers.used_of_torch()
            ours = [used[f"{module}.{name}"] for name in lost if f"{module}.{name}" in used]
            shown = names({self._shown(module, name) for name in lost})
            yield Line(group, f"{module} loses {shown}", table_of(module), DECIDE if ours else ANSWERED,
                       f"{ours[0]} uses it" if ours else "no source of ours names them")
        same = {}
        for name in sorted(set(old) & set(new)):
            for said in self._changed(module, name, old[name], new):
                same.setdefault(said, []).append(name)
        for (said, status, by), each in same.items():
            yield Line(group, f"{module}.{each[0]}{said}" if len(each) == 1 else f"{module}: {names(each)}{said}", table_of(module), status, by)
        if public(module):
            yield from self._refused_inside(group, module)

    def _shown(self, module, name):
        """A member of a class by the module's object of this class, if it has one: matmul.allow_tf32."""
        owner, _, member = name.partition(".")
        known = self._new.get(module, self._old.get(module, {})).get("definitions", {})
        if not member:
            return name
        if "PropModule" in known.get(owner, {"parameters": ""})["parameters"]:
            return member  # the class of the module itself
        objects = [each for each, fact in known.items() if fact["parameters"] == f"{owner}()" and public(each, known)]
        return f"{objects[0]}.{member}" if objects else name

    def _is_unlisted(self, module, name, known):
        """Whether it is a constant that a module with a list of what is for others does not list."""
        listed = self._new[module].get("lists", {}).get("__all__")
        return bool(listed) and name.isupper() and known[name]["kind"] == "value" and name not in listed

    def _refused_inside(self, group, module):
        """New refusals of a module's private functions, which its public ones hand on."""
        new = self._new.get(module, {}).get("definitions", {})
        known, told, found = _raised(self._old.get(module, {})), self._definitions(self._new, module), {}
        for name, fact in sorted(new.items()):
            shown = public(re.sub(r"\.__\w+__$", "", name))  # as a class's __enter__
            raised = [text for text in fact.get("raises", ()) if not _is_said(text, known) and _refuses(module, text, shown)]
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
            # Settings of torch.backends are for others, and not the classes that hold them.
            return not module.startswith("torch.backends") or "." in name or not name[0].isupper()
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
        lacking = sorted(each for each in {*native, *bases} if self._native.needs_table(each) and not answers.of_word(each))
        if lacking:
            return DECIDE, f"asks torch._C.{lacking[0]}, which no table has"
        driver = sorted({each for fact in members for each in fact.get("driver", ())})
        if driver:
            return DECIDE, f"asks CUDA's libraries itself ({driver[0]})"
        asked = sorted(each for each in {*native, *bases} if self._native.needs_table(each))
        return ANSWERED, f"{OWN} over {answers.of_word(asked[0])}" if asked else OWN

    def _changed(self, module, name, old, new):
        """What changed in a name, its status and what answers it."""
        fact, kind = new[name], new[name]["kind"]
        if kind != old["kind"] or not self._counts(module, name, new):
            return
        was, now = old["parameters"], fact["parameters"]
        speaks = WHOLE.match(module) or PROTOCOL.search(name.rpartition(".")[2]) or PARAMETER.search(parameters_changed(was, now))
        if kind in ("def", "property") and shape(now) != shape(was) and speaks:
            yield (f": {parameters_changed(was, now)}", *self._of_shape(module, name, old, fact))
        if kind == "value" and now != was and len(now) < 80 and (now or name not in self._new[module].get("lists", ())):
            yield f" = {was} → {now or '…'}", ANSWERED, answers.of_name(module, name) or OWN
        if kind == "class" and now != was:
            yield (f": bases {was or 'none'} → {now or 'none'}", *self.answer(module, name, new))
        raised = [each for each in fact.get("raises", ()) if not _is_said(each, old.get("raises", ())) and _refuses(module, each)]
        if raised:
            yield (f" raises {'; '.join(each[:120] for each in raised[:3])}", *self.answer(module, name, new))
        kept = {*fact.get("raises", ()), *_raised(self._new[module])}
        ended = {each for each in old.get("raises", ()) if not _is_said(each, kept) and _refuses(module, each)}
        if ended and not raised:
            yield f" no longer raises {'; '.join(each[:120] for each in sorted(ended)[:3])}", ANSWERED, OWN
        if "deprecated" in fact and "deprecated" not in old:
            yield f" is deprecated {fact['deprecated'][:120]}".rstrip(), ANSWERED, OWN
        warned = [each for each in fact.get("warns", ()) if each not in old.get("warns", ()) and WARNING.search(each)]
        if warned and "deprecated" not in fact:
            yield f" warns {warned[0][:160]}", ANSWERED, OWN
        if "deprecated" in old and "deprecated" not in fact:
            yield " is no longer deprecated", ANSWERED, OWN

    def _of_shape(self, module, name, old, fact):
        """A function that our sources name is replaced or wrapped by ours, whose parameters must fit."""
        ours = answers.used_of_torch().get(f"{module}.{name}")
        gained = set(shape(fact["parameters"])) - set(shape(old["parameters"]))
        if not ours:
            return ANSWERED, OWN
        text = answers.texts()[ours]
        passes = re.search(r"\*args|\*\*kwargs|\*_|signature", text) is not None
        words = [each.strip("*").partition("=")[0] for each in gained]
        if passes or all(re.search(rf"\b{re.escape(word)}\b", text) for word in words if word):
            return ANSWERED, ours
        return DECIDE, f"{ours} names it"

    def _elsewhere(self):
        """Functions of other public modules that speak of CUDA, MPS or accelerators, or have a parameter
        that does: new ones, what they refuse, and what changed in the rest."""
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
            lost = {name for name in set(old) - set(new) if public(name, old) and OURS & set(old[name].get("devices", ()))}
            lost = {name: (ANSWERED, "no source of ours names it") for name in lost if not self._is_elsewhere(self._new, name, module)}
            yield from by_answer("names elsewhere", f"{module} loses {{}}", TABLES, lost)
            for name in sorted(set(old) & set(new)):
                changed = parameters_changed(old[name]["parameters"], new[name]["parameters"])
                functions = public(name, new) and old[name]["kind"] == new[name]["kind"] == "def"
                if functions and shape(old[name]["parameters"]) != shape(new[name]["parameters"]) and OF_DEVICES.search(changed):
                    yield Line("names elsewhere", f"{module}.{name}: {changed}", TABLES, *self._of_shape(module, name, old[name], new[name]))
            if module in self._speaking:
                yield from self._refused_inside("names elsewhere", module)

    def _error_classes(self):
        """Functions of other modules that say the same, and raise another class."""
        found = {}
        for module in sorted(set(self._old) & set(self._new)):
            if SCOPE.match(module) or COMPILERS.match(module):
                continue
            old, new = (files[module].get("definitions", {}) for files in (self._old, self._new))
            for name in sorted(set(old) & set(new)):
                raises = (([each.partition(": ") for each in known[name].get("raises", ())]) for known in (old, new))
                was, now = ({text: kind for kind, _, text in each} for each in raises)
                for text in sorted(set(was) & set(now)):
                    if was[text] != now[text]:
                        found.setdefault((now[text], was[text]), []).append(f"{module}.{name} (“{text[:80]}”)")
        for (now, was), each in sorted(found.items()):
            yield Line("errors", f"raise {now}, no longer {was}: {names(each)}", TABLES, ANSWERED, OWN)

    def _gone(self):
        """Modules that are gone, and private functions of the modules of devices."""
        gone = {module for module in set(self._old) - set(self._new) if SCOPE.match(module) and not ELSEWHERE.search(module)} & self._speaking
        kept = {name for fact in self._new.values() for name in fact.get("definitions", {})}
        for module in sorted(gone):
            own = [name for name in self._old[module].get("definitions", {}) if "." not in name]
            if module.rpartition(".")[0] in self._old.keys() - self._new.keys() or 2 * len(kept.intersection(own)) > len(own):
                continue  # gone with its package, or moved
            ours = next((ours for name, ours in answers.used_of_torch().items() if f"{name}.".startswith(f"{module}.")), None)
            by = f"{ours} uses it" if ours else "no source of ours names it"
            yield Line("names of " + ".".join(module.split(".")[:2]), f"module {module} is gone", table_of(module), DECIDE if ours else ANSWERED, by)
        private = [
            f"{module}.{name}"
            for module in self._old.keys() & self._new.keys()
            for name, fact in self._old[module].get("definitions", {}).items()
            if OF_CUDA_OR_MPS.fullmatch(module) and re.match("_[a-z]", name) and "." not in name and fact["kind"] == "def" and name not in kept
        ]
        if private := sorted(set(private) - answers.used_of_torch().keys()):  # _used tells of the others
            yield Line("names of torch.cuda", f"private functions that are gone: {names(private)}", TABLES, ANSWERED, "no source of ours names them")

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


def _is_said(text, known):
    """Whether a text is among others, but for the spelling of a word."""
    def same(one, other):
        return one == other or min(len(one), len(other)) > 4 and one[:4] == other[:4] and (one + other).isalpha()

    words = text.split()
    return any(len(words) == len(each.split()) and all(map(same, words, each.split())) for each in known)


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


def _is_guarded(text, name):
    return re.search(rf"(?:hasattr|getattr)\([^\n]*{re.escape(name)}|at_least|SINCE|AttributeError|patching\.patch", text) is not None
