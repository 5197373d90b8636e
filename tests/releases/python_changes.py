"""What changed in torch's Python that concerns code for CUDA and our tables."""

import re

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names

# Modules that speak of devices, process groups, or what a device's memory and randomness are.
SCOPE = re.compile(
    r"torch\.(?:cuda|mps|accelerator|amp|backends|random|storage|serialization|profiler|_dynamo\.device_interface"
    r"|utils\.cpp_extension|utils\.data\._utils\.pin_memory|nn\.attention|nn\.parallel|multiprocessing\.reductions"
    r"|_inductor\.codegen\.(?:common|mps))(?:\.|$)|torch\.distributed(?:\.\w+)?$"
)
ELSEWHERE = re.compile(r"torch\.(?:backends|profiler)\.(?!cuda|cudnn|mps|profiler)|\.(?:xpu|mtia|tunable|_memory_viz|_cuspy)\b|^torch\.distributed\.(?:run|launch|argparse_util|remote_device)")
# Modules whose every public name counts; elsewhere a name counts that speaks of a device.
WHOLE = re.compile(
    r"torch\.(?:cuda|mps|accelerator|amp|nn\.parallel|_dynamo\.device_interface|_inductor\.codegen\.mps)(?:\.|$)"
    r"|torch\.distributed(?:\.distributed_c10d|\.(?:fsdp|algorithms))?$"
)
# Packages of torch.distributed with many modules: what they show counts.
DEEP = re.compile(r"torch\.distributed\.(?:fsdp|tensor|algorithms|pipelining)$")
OURS = {"cuda", "mps", "nccl", "accelerator"}
# torch._C's names that only a build with the device has, as our names.py removes them.
OF_CUDA = re.compile(r"_(?:cuda|cudnn|cudart|cusparselt|gds|nccl|nvtx)|_Cuda|_CUDA|_graph_pool|_MemPool")
OF_METAL = re.compile(r"_mps_|_MPS|\w*MPS")
TABLES = "shim/python/compat_shim/cuda/tables.py"
HOOKS, MPS = "shim/simulate/accelerator.h", "shim/python/compat_shim/simulate/mps.py"
BACKEND = "shim/simulate/nccl/module.cc"
OWN = "torch's own Python"
# What is tuned, or of other devices.
ASIDE = re.compile(
    r"(?<![^\W_])(?:rocm|hip|amd\w*|xpu|mtia|tpu|halide|ck|cutlass\w*|helion|pallas|jax|test\w*|autotune|benchmark\w*|cudagraphs?|triton|tunable\w*)(?![^\W_])"
    r"|XpuInterface|MtiaInterface", re.I
)
OTHERS = re.compile(r"_?(?i:xpu|mtia|hpu)(?![a-z])")
# A text that refuses something of devices or groups.
REFUSAL = re.compile(r"(?=.*(?:cuda|mps|nccl|device|accelerator|backend|stream))(?=.*(?:not|must|only|n't|expect|cannot))", re.I)
NEGATION = re.compile(r"(?:^|(?<=[_.]))(?:UN|NON_?|NOT_|IN|DIS|DENY_?|BLOCK_?|ALLOW_?)")


def public(name, definitions=()):
    """Whether a name is for others: no part of it is private or defined inside a function."""
    parts = name.split(".")
    owners = (".".join(parts[:count]) for count in range(1, len(parts)))
    return not any(part.startswith("_") and part != "__init__" for part in parts) and all(
        definitions[owner]["kind"] == "class" for owner in owners if owner in definitions
    )


def table_of(module):
    if module.startswith("torch.distributed"):
        return BACKEND
    return MPS if module.startswith("torch.mps") else HOOKS if module.startswith("torch.accelerator") else TABLES


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
        self._of_metal = set(after["macos"]["native"]) - set(after["linux"]["native"])

    def lines(self):
        for module in sorted({*self._old, *self._new}):
            if SCOPE.match(module) and not ELSEWHERE.search(module):
                yield from self._module(module)
        yield from self._elsewhere()
        yield from self._used()
        yield from self._native_names()
        yield from self._process_groups()
        yield from self._environment()
        yield from self._lists()
        yield from self._registered()

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
        return {name: fact for name, fact in found.items() if public(name, found)}

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
        yield from self._refused_inside(group, module)

    def _refused_inside(self, group, module):
        """New refusals of a module's private functions, which its public ones hand on."""
        old, new = (files.get(module, {}).get("definitions", {}) for files in (self._old, self._new))
        known = {text for fact in old.values() for text in fact.get("raises", ())}
        for name in sorted(set(old) & set(new)):
            raised = [text for text in new[name].get("raises", ()) if text not in known and REFUSAL.search(text) and not text.startswith("AssertionError")]
            if raised and not public(name, new):
                shown = "; ".join(each[:120] for each in raised[:3])
                yield Line(group, f"{module}.{name} raises {shown}", table_of(module), ANSWERED, OWN)

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
        if OTHERS.match(name):
            return False
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
        if kind in ("def", "property") and _shape(now) != _shape(was):
            yield (f": {parameters_changed(was, now)}", *self._of_shape(module, name, old, fact))
        if kind == "value" and now != was and len(now) < 80 and (now or name not in self._new[module].get("lists", ())):
            yield f" = {was} → {now or '…'}", ANSWERED, answers.of_name(module, name) or OWN
        if kind == "class" and now != was:
            yield (f": bases {was or 'none'} → {now or 'none'}", *self.answer(module, name, new))
        raised = [each for each in sorted(set(fact.get("raises", ())) - set(old.get("raises", ()))) if not each.startswith("AssertionError")]
        if raised and self._refuses(raised, old):
            yield (f" raises {'; '.join(each[:120] for each in raised[:3])}", *self.answer(module, name, new))
        ended = set(old.get("raises", ())) - set(fact.get("raises", ()))
        if ended and not raised and self._refuses(sorted(ended), fact) and not ended & self._raised(module):
            yield f" no longer raises {'; '.join(each[:120] for each in sorted(ended)[:3])}", ANSWERED, OWN
        if "deprecated" in fact and "deprecated" not in old:
            yield f" is deprecated {fact['deprecated'][:120]}".rstrip(), ANSWERED, OWN
        if "deprecated" in old and "deprecated" not in fact:
            yield " is no longer deprecated", ANSWERED, OWN

    def _raised(self, module):
        """All that the new release's module raises: a text may have moved to another function of it."""
        return {text for fact in self._new[module]["definitions"].values() for text in fact.get("raises", ())}

    @staticmethod
    def _refuses(raised, old):
        """A new text is a new refusal if it speaks of support or of a device; the rest check arguments."""
        refuses = [each for each in raised if re.search(r"support|implement|device|cuda|mps|nccl|stream", each, re.I)]
        return bool(refuses) and refuses != sorted(old.get("raises", ()))

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

    def _environment(self):
        old, new = _variables(self._old), _variables(self._new)
        for name in sorted({*old, *new}):
            where = sorted({module for module, _ in old.get(name, set()) | new.get(name, set())})
            if not _is_of_devices(name, where, self._speaking):
                continue
            uses_old = {use for _, use in old.get(name, ())}
            uses_new = {use for _, use in new.get(name, ())}
            if uses_old == uses_new:
                continue
            functions = re.findall(r"\b_?[a-z]\w+_\w+\b", " ".join(uses_new - uses_old))
            ours = answers.of_word(name) or answers.of_all([each for each in functions if "getenv" not in each and "environ" not in each])
            if not uses_old:
                status, change = OPEN, f"new: {name}, read by {names(where)} as {_shown(uses_new)}"
            elif not uses_new:
                status, change = OPEN, f"gone: {name}, which {names(where)} read"
            elif uses_old - uses_new and uses_new - uses_old:
                status = DECIDE
                change = f"{name} in {names(where)}: {_shown(uses_old - uses_new)} → {_shown(uses_new - uses_old)}"
            else:  # read in more places or in fewer, in the same way
                continue
            yield Line("environment variables", change, table_of(where[0]), ANSWERED if ours else status, ours or "")

    def _lists(self):
        """Named lists of modules that are about devices: which ops a device accepts, say."""
        for module in sorted({*self._old, *self._new}):
            if not (SCOPE.match(module) or module.endswith("common_mps")) or ELSEWHERE.search(module):
                continue
            old, new = (files.get(module, {}).get("lists", {}) for files in (self._old, self._new))
            table = "shim/simulate/mps_refusals.json" if "mps" in module else TABLES
            old, new = ({name: set(each) for name, each in lists.items() if _is_of_list(module, name, each)} for lists in (old, new))
            gone, added = difference(old, new)
            for name in gone:
                turned = next((each for each in added if NEGATION.sub("", each) == NEGATION.sub("", name)), None)
                if turned:
                    added.remove(turned)
                    yield self._turned(module, name, turned, old[name], new[turned], table)
                elif module in self._new:
                    yield Line("lists", f"{module}: {name} is gone ({names(old[name])})", table, ANSWERED, _list_answer(table))
            for name in added:
                if module in self._old:
                    yield Line("lists", f"{module}: new list {name}: {names(new[name])}", table, *self._listed(name, (), new[name], table))
            for name in sorted(set(old) & set(new)):
                less, more = difference(old[name], new[name])
                if less or more:
                    change = "; ".join(f"{word} {names(each)}" for word, each in (("without", less), ("with", more)) if each)
                    yield Line("lists", f"{module}: {name} {change}", table, *self._listed(name, less, more, table))

    def _listed(self, name, less, more, table):
        """A list of ops that take complex numbers, or do not, must agree with our rules."""
        if "COMPLEX" not in name:
            return ANSWERED, _list_answer(table)
        supported = less if re.search("UNSUPPORTED|XFAIL", name) else more
        wrong = [op for op in supported if "complex64" in answers.refused("mps", op, self.version)]
        return (DECIDE, f"our rules refuse complex64 of {names(wrong)}") if wrong else (ANSWERED, table)

    def _turned(self, module, name, turned, old, new, table):
        lacking = []
        if "COMPLEX" in turned and turned.split(".")[-1].startswith("UN"):
            lacking = [op for op in sorted(new) if not {"complex64", "complex32"} & answers.refused("mps", op, self.version)]
        change = f"{module}: {name} ({len(old)} names) is turned round to {turned} ({len(new)}): {names(new)}"
        by = f"without a rule for complex: {names(lacking)}" if lacking else "our rules refuse all of them"
        return Line("lists", change, table, OPEN if lacking else ANSWERED, by)

    def _registered(self):
        """Back ends, devices and hooks that Inductor, Dynamo and torch.distributed register."""
        for module in sorted({*self._old, *self._new}):
            if not re.match(r"torch\.(?:_inductor|_dynamo|distributed\.[a-z]\w+$|utils\.backend)", module):
                continue
            old, new = (set(files.get(module, {}).get("registered", ())) for files in (self._old, self._new))
            for change, calls in (("no longer", old - new), ("now", new - old)):
                for call in sorted(calls):
                    if re.search(r"backend|device_(?:op|interface)|interface", call) and re.search(r"cuda|mps|nccl|cpu", call, re.I) and not ASIDE.search(call):
                        functions = re.findall(r"\b[A-Za-z_]\w*(?:Scheduling|Codegen\w*|Overrides|_process_group)\b", call)
                        ours = next(filter(None, map(answers.of_word, functions)), None)
                        yield Line("back ends and hooks", f"{module} {change} calls {call[:160]}", "shim/python/compat_shim/redirect/compiled.py",
                                   ANSWERED, ours or "torch's own choice, by the device's type")
        yield from self._configuration()

    def _configuration(self):
        for module in ("torch._inductor.config", "torch._dynamo.config", "torch.distributed.config"):
            old, new = (files.get(module, {}).get("definitions", {}) for files in (self._old, self._new))
            for name in sorted({*old, *new}):
                was, now = (each[name]["parameters"] if name in each else None for each in (old, new))
                if was != now and re.search(r"mps|metal|backend|device|nccl", name, re.I) and not ASIDE.search(name):
                    ours = answers.of_word(name.rpartition(".")[2])
                    yield Line("back ends and hooks", f"{module}.{name}: {was or 'new'} → {now or 'gone'}"[:260],
                               "shim/python/compat_shim/redirect/compiled.py", ANSWERED if ours else OPEN, ours or "")


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


def _variables(files):
    """Environment variable → (module, use) of each place that reads it."""
    found = {}
    for module, fact in files.items():
        for name, uses in fact.get("environment", {}).items():
            found.setdefault(name, set()).update((module, each["use"]) for each in uses)
    return found


def _is_of_devices(name, modules, speaking):
    if ASIDE.search(name) or all(re.search(r"testing|\.xpu|mtia|\.codegen\.|cpp_builder|cpp_extension", each) for each in modules):
        return False
    if all(map(ELSEWHERE.search, modules)):
        return False
    if re.search(r"CUDA|NCCL|MPS|METAL|ACCELERATOR|DEVICE|LOCAL_RANK", name):
        return True
    return any(re.match(r"torch\.distributed\.\w+$", each) and each in speaking or WHOLE.match(each) for each in modules)


def _shown(uses):
    return " and ".join(f"`{each[:160]}`" for each in sorted(uses)[:2])


def _is_of_list(module, name, entries):
    last = name.rpartition(".")[2]
    if module == "torch._inductor.codegen.common":
        return False
    if module.endswith("common_mps"):  # where a result is undefined or left out, nothing is said of the device
        return not re.search("SKIP|UNDEFINED|EMPTY", name)
    return not last.startswith("_") and re.search("cuda|mps|nccl|backend|device|dtype|sm_", f"{name} {' '.join(entries)}", re.I) is not None


def _list_answer(table):
    return "shim/simulate/operators.py reads torch's own table of kernels" if "mps" in table else OWN


