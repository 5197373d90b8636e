"""Prints the public device API of this environment's torch (torch.cuda, torch.mps, ...) as JSON.

    python api_scan.py

`runner gaps scan` runs it with a suite's Python. It imports torch and, if installed, the shim's
tables (compat_shim.cuda.tables: data only, the shim stays off). The runner decides what is a gap.
"""
import importlib
import inspect
import json
import os
import sys

FORMAT = 1
MODULES = (
    "torch.cuda",
    "torch.cuda.amp",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.accelerator",
    "torch.mps",
    "torch.backends.mps",
    "torch.amp",
    "torch",
)


def signature_of(value):
    """The parameters as text; None if Python does not know them (built-in functions)."""
    try:
        return str(inspect.signature(value))
    except (ValueError, TypeError):
        return None


def kind_of(value):
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "value"


def public_names(module):
    """`__all__` if the module has one, else all names without a leading underscore.

    torch.backends.cudnn is an object that wraps its module as the attribute `m`."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = {*dir(module), *dir(type(module)), *dir(getattr(module, "m", None))} - {"m"}
    return sorted(name for name in set(names) if not name.startswith("_"))


def scan(name):
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    symbols = {}
    for public in public_names(module):
        try:
            value = getattr(module, public)
        except Exception:  # listed in __all__ but missing, or needs a device
            continue
        owner = str(getattr(value, "__module__", None) or "torch")
        if inspect.ismodule(value) or owner.partition(".")[0] != "torch":
            continue
        signature = signature_of(value) if callable(value) else None
        symbols[public] = {"kind": kind_of(value), "signature": signature}
    return symbols


def shim_symbols():
    """{symbol: "refused" or "stub"} from the shim's tables; None if the shim is not installed."""
    try:
        from compat_shim.cuda import tables as cuda_tables
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
        "native_functions": os.path.join(
            os.path.dirname(torchgen.__file__), "packaged/ATen/native/native_functions.yaml"
        ),
        "modules": {},
        "masquerade": shim_symbols(),
    }
    for name in MODULES:
        symbols = scan(name)
        if symbols is not None:
            report["modules"][name] = symbols
    # Imports may print on stdout: the reader takes the last line.
    sys.stdout.write("\n" + json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
