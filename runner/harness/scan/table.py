"""The table of what code uses CUDA for, cuda_uses.json, with its patterns made ready for lookup.

A row has a category, what to do, and the device-neutral code; docs/guide/porting.md shows it. A row's
patterns (`match`) override its values. Not here: where a pattern is looked for (sites.py).
"""
import json
import os
import re

FORMAT = 1
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_uses.json")


class Use:
    """A pattern with the values of its row."""

    def __init__(self, row, match):
        values = {**row, **match}
        self.category = values["category"]
        self.action = values["action"]
        self.write = values["write"].replace("`", "")
        self.torch = values.get("torch")  # the first version that has the replacement
        self.fix = values.get("fix")
        self.fix_torch = values.get("fix_torch", self.torch)  # the first version that has what --fix writes
        self.recorded = match.get("recorded", False)  # a call of it leaves a line in the shim's record
        self.needs = match.get("with")


class Table:
    def __init__(self, data):
        self.data = data
        self.code = data["code"]
        self.actions = [action["name"] for action in data["actions"]]
        self.categories = list(dict.fromkeys(use.category for use in _uses(data)))
        self._aliases = data["aliases"]
        self._by = {}
        for row in data["uses"]:
            for match in row["match"]:
                kind = next(iter(match))
                self._by[kind, match[kind]] = Use(row, match)
        self.words = _words(self._by)
        self._imports = [value for kind, value in self._by if kind == "import"]

    def get(self, kind, value=True):
        return self._by.get((kind, value))

    def canonical(self, dotted):
        """torch.cuda.memory.empty_cache -> torch.cuda.empty_cache: one name for one thing."""
        for module, short in self._aliases.items():
            if dotted.startswith(module + "."):
                return short + dotted[len(module):]
        return dotted

    def by_name(self, dotted):
        """(use, symbol) of the longest pattern for a dotted name or what it is an attribute of."""
        dotted = self.canonical(dotted)
        tail = dotted.rpartition(".")[2]
        if dotted.startswith("torch.cuda.") and dotted.count(".") == 2 and tail.endswith(("Tensor", "Storage")):
            return self.get("tensor_type"), dotted
        if dotted.startswith("torch._C._cuda"):
            return self.get("name", "torch._C._cuda*"), dotted
        prefix = dotted
        while prefix:
            use = self.get("name", prefix) or self.get("name", prefix.rpartition(".")[0] + ".*")
            if use:
                return use, dotted
            prefix = prefix.rpartition(".")[0]
        return None, dotted

    def by_import(self, dotted):
        """The use of an import of this module, or of a name from it."""
        found = [name for name in self._imports if dotted == name or dotted.startswith(name + ".")]
        return self.get("import", max(found, key=len)) if found else None


def _words(patterns):
    """Matches text in which a pattern may be found: most files have none and need no search."""
    words = {"cuda", "cudnn", "cublas", "nccl", "nvml", r"\.cuh?\b"}
    for (kind, value), use in patterns.items():
        if kind in ("name", "import", "method", "keyword", "attribute") and not use.needs and not re.search("cuda|cudnn", value, re.I):
            parts = value.replace(".*", "").split(".")
            words.add(parts[-1] if parts[0] == "torch" else parts[0])
    return re.compile("|".join(sorted(words)).encode(), re.IGNORECASE)


def _uses(data):
    return [Use(row, match) for row in data["uses"] for match in row["match"]]


def load():
    with open(_FILE, encoding="utf-8") as file:
        return Table(json.load(file))
