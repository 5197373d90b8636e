"""Facts of PyTorch's table of operators, native_functions.yaml, which a wheel has for torchgen: each
op's schema, and for which devices it has kernels. Needs PyYAML."""

import yaml

TABLE = "torchgen/packaged/ATen/native/native_functions.yaml"

def _keys(entry, by_name):
    """Dispatch keys with kernels. A structured op's functional form has those of its out form, too."""
    keys = set()
    for each in (entry, by_name.get(entry.get("structured_delegate", "").strip(), {})):
        for names in each.get("dispatch") or {}:
            keys.update(name.strip() for name in names.split(","))
    return sorted(keys) or ["CompositeImplicitAutograd"]


def facts(read):
    entries = yaml.load(read(TABLE), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    by_name = {entry["func"].partition("(")[0]: entry for entry in entries}
    found = {}
    for name, entry in by_name.items():
        arguments, _, returns = entry["func"].rpartition("->")
        found[name] = {
            "schema": f"{arguments.strip().partition('(')[2][:-1]} -> {returns.strip()}",
            "keys": _keys(entry, by_name),
        }
    return found
