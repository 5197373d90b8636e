"""Tests that no public name of the installed torch's modules of devices ends in an error that says that
the device is missing: each is answered, or refused in our words. By rule, for names that nobody has
seen yet; what each answers is tested elsewhere (suites/conformance for torch.cuda)."""

import pytest

# Calls every function and class, and the methods of what the classes make, with arguments of the kinds
# that the names of the parameters tell. Wrong arguments are torch's own errors.
SCRIPT = """
import contextlib, importlib, inspect, io, json, pkgutil, re, sys, warnings, torch
warnings.simplefilter("ignore")
roots = sys.argv[1].split(",")
device = torch.accelerator.current_accelerator() or torch.device("cpu")
x = torch.ones(2, device=sys.argv[2])
KINDS = (
    (r"^(device|device_index|idx|index)$", 0), (r"tensor|input|obj", x), (r"stream", None),
    (r"^(func|fn|callable|hook|callback|f)$", lambda *args, **kwargs: None), (r"name|msg|path|mode", "x"),
    (r"", 1),
)
# A message that the device is missing, in torch's words.
FOREIGN = re.compile(
    r"module 'torch[\\w.]*' has no attribute|is not defined|cannot import|No module named 'torch"
    r"|driver|bindings|compiled with|linked with|without (MPS|CUDA)|built with|NoneType|_Dummy|dummy base"
)
def modules():
    for root in roots:
        yield root
        for found in pkgutil.walk_packages(getattr(importlib.import_module(root), "__path__", []), root + "."):
            if not any(part.startswith("_") for part in found.name.split(".")):
                yield found.name
def arguments(function):
    try: parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError): return []
    needed = [each.name for each in parameters if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return [next(value for pattern, value in KINDS if re.search(pattern, name)) for name in needed]
wrong, called = {}, []
def call(name, function):
    called.append(name)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            result = function(*arguments(function))
            if hasattr(result, "__enter__") and hasattr(result, "__exit__"):
                with result: pass
            return result
    except Exception as error:
        ours = isinstance(error, NotImplementedError) and re.search("is not (simulated|available on this device)", str(error))
        if not ours and (isinstance(error, (ImportError, NameError)) or FOREIGN.search(str(error))):
            wrong[name] = f"{type(error).__name__}: {error}".splitlines()[0]
def members(name, made):
    if isinstance(made, (torch.Tensor, torch.TypedStorage, torch.UntypedStorage)) or not type(made).__module__.startswith(("torch.", "compat_shim")):
        return
    for member in dir(made):
        if not member.startswith("_"):
            value = call(f"{name}().{member}", lambda: getattr(made, member))
            if inspect.isroutine(value): call(f"{name}().{member}", value)
seen = set()
for path in modules():
    shown = importlib.import_module(path)
    module = getattr(shown, "m", shown)
    for name in sorted(set(getattr(module, "__all__", ())) | set(vars(module))):
        value = call(f"{path}.{name}", lambda: getattr(shown, name)) if not name.startswith("_") else None
        of_torch = str(getattr(value, "__module__", "")).startswith(tuple(roots) + ("torch._C",))
        if not callable(value) or not of_torch or id(value) in seen: continue
        seen.add(id(value))
        made = call(f"{path}.{name}", value)
        for member, kept in vars(value).items() if inspect.isclass(value) else ():
            if not member.startswith("_") and isinstance(kept, (staticmethod, classmethod)): call(f"{path}.{name}.{member}", getattr(value, member))
        if inspect.isclass(value) and made is not None: members(f"{path}.{name}", made)
print(json.dumps([wrong, sorted(set(called))]))
"""

CUDA = ["torch.cuda", "torch.backends.cuda", "torch.backends.cudnn", "torch.accelerator"]
MPS = ["torch.mps", "torch.backends.mps", "torch.accelerator"]
# For each way to run: its variables, the modules, and the device that the calls name. A machine with a GPU has no MPS, and a Mac no CUDA.
RUNS = {
    "redirected": ({}, CUDA + MPS[:2], "cuda"),
    "simulated CUDA": ({"TORCHDEVICE_SIMULATE": "cuda"}, CUDA, "cuda"),
    "simulated MPS": ({"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"}, MPS, "mps"),
    "redirected to MPS": ({"TORCHDEVICE_SIMULATE": "mps"}, CUDA + MPS[:2], "cuda"),
}


@pytest.mark.parametrize("run", RUNS)
def test_no_public_name_says_that_the_device_is_missing(warm_child, run):
    env, roots, device = RUNS[run]
    ran = warm_child(f"import sys; sys.argv[1:] = {[','.join(roots), device]!r}\n" + SCRIPT, env=env)
    wrong, called = ran.answer
    assert wrong == {}
    assert len(called) > 30 and {f"{root}.is_available" for root in roots if "accel" in root} <= set(called)
