"""What the public API of this environment's torch has for CUDA, and for other devices: one JSON object on stdout.

    python api_scan.py

Run by `runner gaps scan` with the Python of a suite. Imports torch and, where it is on the path, the redirection's tables
(compat_shim.cuda_tables, data only: nothing is activated). What is a gap is not decided here.
"""
import importlib
import inspect
import json
import os
import sys

FORMAT = 1
MODULES = ("torch.cuda", "torch.cuda.amp", "torch.backends.cuda", "torch.backends.cudnn", "torch.accelerator", "torch.mps",
           "torch.backends.mps", "torch.amp", "torch")


def signature_of(value):
    """Its parameters as text; None where Python does not know them (built-in functions)."""
    try:
        return str(inspect.signature(value))
    except (ValueError, TypeError):
        return None


def kind_of(value):
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "value"


def public_names(module):
    """`__all__` where the module has one, else what has no underscore. Where an object with properties stands in for a module
    (torch.backends.cudnn), the module is its `m`."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = {*dir(module), *dir(type(module)), *dir(getattr(module, "m", None))} - {"m"}
    return sorted(name for name in set(names) if not name.startswith("_"))


def scan(name):
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    found = {}
    for public in public_names(module):
        try:
            value = getattr(module, public)
        except Exception:  # a name that is announced and not there, or that only a device can answer
            continue
        owner = str(getattr(value, "__module__", None) or "torch")
        if inspect.ismodule(value) or owner.partition(".")[0] != "torch":
            continue
        found[public] = {"kind": kind_of(value), "signature": signature_of(value) if callable(value) else None}
    return found


def answered():
    """{symbol: "refused" or "stub"} of the redirection; None where it is not on the path."""
    try:
        from compat_shim import cuda_tables
    except ImportError:
        return None
    symbols = {symbol: "stub" for symbol in cuda_tables.STUBS.values()}
    symbols.update((setting.stub, "stub") for setting in cuda_tables.SETTINGS if setting.stub)
    for refused in cuda_tables.REFUSED:
        symbols.update((symbol, "refused") for symbol in refused.names.values())
    for name, (refused, statics) in cuda_tables.REFUSED_CLASSES.items():
        symbol = refused.names[name]
        symbols[symbol] = "refused"
        symbols.update((f"{symbol}.{static}", "refused") for static in statics)
    return symbols


def main():
    import torch
    import torchgen

    report = {
        "format": FORMAT,
        "torch": torch.__version__,
        "git": torch.version.git_version,
        "native_functions": os.path.join(os.path.dirname(torchgen.__file__), "packaged", "ATen", "native", "native_functions.yaml"),
        "modules": {name: scan(name) for name in MODULES},
        "masquerade": answered(),
    }
    report["modules"] = {name: found for name, found in report["modules"].items() if found is not None}
    # Whatever else printed on stdout came before: ours is the last line.
    sys.stdout.write("\n" + json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
