"""What changed in environment variables, lists, registrations and settings of torch's Python."""

import re

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, difference, names, without_and_with
from scope import ASIDE, ELSEWHERE, MPS_RULES, OPERATORS, OWN, SCOPE, TABLES, WHOLE, table_of

NEGATION = re.compile(r"(?:^|(?<=[_.]))(?:UN|NON_?|NOT_|IN|DIS|DENY_?|BLOCK_?|ALLOW_?)")


class Tables:
    """Of both releases: their modules, and which of these speak of devices."""

    def __init__(self, old, new, version, speaking):
        self._old, self._new, self.version, self._speaking = old, new, version, speaking

    def lines(self):
        yield from self._environment()
        yield from self._lists()
        yield from self._registered()

    def _environment(self):
        old, new = _variables(self._old), _variables(self._new)
        # A variable that a module sets itself is meant for its child processes.
        setting = {(name, module) for files in (self._old, self._new) for module, fact in files.items() for name in fact.get("sets", ())}
        for name in sorted({*old, *new}):
            where = sorted({module for module, _ in old.get(name, set()) | new.get(name, set())})
            if all((name, module) in setting for module in where) or not _is_of_devices(name, where, self._speaking):
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
            table = MPS_RULES if module.endswith("common_mps") else TABLES
            old, new = ({name: set(each) for name, each in lists.items() if _is_of_list(module, name, each)} for lists in (old, new))
            short = {name for name in {*old, *new} if max(len(old.get(name, ())), len(new.get(name, ()))) < 4}
            old, new = ({name: each for name, each in lists.items() if name not in short} for lists in (old, new))
            gone, added = difference(old, new)
            for name in gone:
                turned = next((each for each in added if NEGATION.sub("", each) == NEGATION.sub("", name)), None)
                if turned:
                    added.remove(turned)
                    yield self._turned(module, name, turned, old[name], new[turned], table)
                elif module in self._new:
                    yield Line("lists", f"{module}: {name} is gone ({names(old[name])})", table, *_list_answer(name, table))
            for name in added:
                if module in self._old:
                    yield Line("lists", f"{module}: new list {name}: {names(new[name])}", table, *self._listed(name, (), new[name], table))
            for name in sorted(set(old) & set(new)):
                less, more = difference(old[name], new[name])
                if less or more:
                    change = without_and_with(less, more)
                    yield Line("lists", f"{module}: {name} {change}", table, *self._listed(name, less, more, table))

    def _listed(self, name, less, more, table):
        """A list of ops that take complex numbers, or do not, must agree with our rules."""
        if "COMPLEX" not in name:
            return _list_answer(name, table)
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
                    registers = re.search(r"backend|device_(?:op|interface)|interface", call)
                    if registers and re.search(r"cuda|mps|nccl", call, re.I) and not ASIDE.search(call):
                        functions = re.findall(r"\b[A-Za-z_]\w*(?:Scheduling|Codegen\w*|Overrides|_process_group)\b", call)
                        ours = next(filter(None, map(answers.of_word, functions)), None)
                        yield Line("back ends and hooks", f"{module} {change} calls {call[:160]}", "shim/python/compat_shim/redirect/compiled.py",
                                   ANSWERED, ours or OWN)
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
    return any(re.match(r"torch\.distributed\.[a-z]\w+$", each) and each in speaking or WHOLE.match(each) for each in modules)


def _shown(uses):
    return " and ".join(f"`{each[:160]}`" for each in sorted(uses)[:2])


def _is_of_list(module, name, entries):
    last = name.rpartition(".")[2]
    if module == "torch._inductor.codegen.common":
        return False
    if module.endswith("common_mps"):  # where a result is undefined or left out, nothing is said of the device
        return not re.search("SKIP|UNDEFINED|EMPTY", name)
    return not last.startswith("_") and re.search("cuda|mps|nccl|backend|device|dtype|sm_", f"{name} {' '.join(entries)}", re.I) is not None


def _list_answer(name, table):
    if "mps" not in table:
        return ANSWERED, OWN
    # Kernels say nothing of wrong arguments, of gradients, or of results.
    return (ANSWERED, f"{OPERATORS} reads torch's own table of kernels") if re.search("UNIMPLEMENTED", name) else (OPEN, "")
