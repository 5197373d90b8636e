"""What changed in the dtypes that devices and their kernels take."""

import re

import answers
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names, without_and_with
from scope import DTYPES, MPS_RULES, OPERATORS

# Parts of C++ types, and parameters of the macro itself.
NO_DTYPE = re.compile(r"decltype|c10|at|SCALARTYPE\d*")
CXX_DTYPE = re.compile(r"torch\.(\w+)")
SETS = {
    "floating_types": "float32 float64",
    "all_types": "uint8 int8 int16 int32 int64 float32 float64",
    "complex_types": "complex64 complex128",
    "integral_types": "uint8 int8 int16 int32 int64",
    "double_types": "float64 complex128",
    "empty_types": "",
}
CPP = dict(
    Byte="uint8", Char="int8", Short="int16", Int="int32", Long="int64", Half="float16", Float="float32", Double="float64", Bool="bool",
    ComplexHalf="complex32", ComplexFloat="complex64", ComplexDouble="complex128", BFloat16="bfloat16",
)
SHORT = dict(
    half="float16", float="float32", double="float64", cfloat="complex64", cdouble="complex128", chalf="complex32", long="int64", int="int32",
    short="int16",
)


def lines(before, after):
    for part in (_new, _sample_dtypes, _dtypes, _metal):
        yield from part(before, after)


def _new(before, after):
    """Dtypes that torch has for the first time, by the stub of torch._C."""
    old, new = (
        {name for name, fact in facts["python_files"].get("torch._C", {}).get("definitions", {}).items() if fact.get("of") == "dtype"}
        for facts in (before, after)
    )
    found = {name: (ANSWERED, ours) if (ours := answers.of_word(name, "shim/")) else (OPEN, "no table of ours names it") for name in new - old}
    yield from by_answer("dtypes", "new: {}", DTYPES, {f"torch.{name}": answer for name, answer in sorted(found.items())})


def _evaluated(expression):
    """The dtypes of an OpInfo's expression, such as floating_types_and(torch.half)."""
    found = {SHORT.get(each, each) for each in CXX_DTYPE.findall(expression)}
    for name, dtypes in SETS.items():
        if re.search(rf"\b{name}(?:_and)?\b", expression) or re.search(rf"\b{name}_and_", expression):
            found.update(dtypes.split())
    if "_and_complex" in expression or "floating_and_complex" in expression:
        found.update(("float32", "float64", "complex64", "complex128"))
    return found


def _sample_dtypes(before, after):
    """PyTorch's own lists of the dtypes that an op takes on a device."""
    old, new = (_opinfos(facts) for facts in (before, after))
    changes = {}
    for op in sorted(set(old) & set(new)):
        for key in sorted({*old[op], *new[op]}):
            was, now = (_evaluated(each[op][key]) if key in each[op] else None for each in (old, new))
            if was is None or now is None or was == now or key.startswith("backward"):
                continue
            device = "mps" if key.endswith("MPS") else "cuda"
            wrong = sorted((now - was) & answers.refused(device, op, after["version"]))
            kept = sorted(was - now - answers.refused(device, op, after["version"], sometimes=True))
            if wrong:
                status = DECIDE, f"our rules refuse {', '.join(wrong)}"
            elif kept:
                status = OPEN, f"no rule of ours refuses {', '.join(kept)}"
            else:
                status = ANSWERED, DTYPES if device == "cuda" else MPS_RULES
            changed = (("with", now - was), ("without", was - now))
            what = "; ".join(f"{word} {', '.join(sorted(each))}" for word, each in changed if each)
            changes.setdefault((device, what, status), []).append(op)
    for (device, what, (status, by)), ops in sorted(changes.items()):
        change = f"PyTorch's tests of {device.upper()} run {what} now: {names(ops)}"
        yield Line("dtypes", change, DTYPES if device == "cuda" else MPS_RULES, status, by)


def _opinfos(facts):
    found = {}
    for fact in facts["python_files"].values():
        found.update({name: each for name, each in fact.get("opinfos", {}).items() if each})
    return found


def _dtypes(before, after):
    """The dtypes that functions in headers of devices list, and the lists that macros name."""
    for file in sorted({*before["headers"]["dtypes"], *after["headers"]["dtypes"]}):
        old, new = (facts["headers"]["dtypes"].get(file, {}) for facts in (before, after))
        for name in sorted(set(old) & set(new)):
            less, more = difference(old[name], new[name])
            if not less and not more:
                continue
            ours = _dtype_source(file, more)
            what = without_and_with(less, more)
            status = DECIDE if more and not ours and re.search("mps/MPSGuard|mps/OperationUtils", file) else ANSWERED if ours else OPEN
            yield Line("dtypes", f"{name} ({file}) {what}", "shim/simulate/mps.cc" if "mps" in file.lower() else DTYPES, status, ours or "")
    for name in sorted({*before["headers"]["macros"], *after["headers"]["macros"]}):
        old, new = ({each for each in facts["headers"]["macros"].get(name, ()) if not NO_DTYPE.fullmatch(each)} for facts in (before, after))
        less, more = difference(old, new)
        if less or more:
            what = without_and_with(less, more)
            yield Line("dtypes", f"the list {name} {what}", OPERATORS, ANSWERED, "the shim is compiled with it")


def _dtype_source(file, more):
    folder = "shim/simulate/mps" if "mps" in file.lower() else "shim/simulate"
    found = [answers.of_word(each, folder) or answers.of_word(CPP.get(each, each.lower()), folder) for each in more]
    return found[0] if found and all(found) else None


def _metal(before, after):
    """Words for a dtype that Metal kernels have for the first time."""
    word_of = re.compile(r"(?<=_)(?:float[48]_e\dm\d\w*?|fp[48]|u?int4|complex\w*?)(?=_|$)", re.I)
    old, new = ({word for kernel in facts["macos"]["kernels"] for word in word_of.findall(kernel)} for facts in (before, after))
    for word in sorted(new - old):
        kernels = [each for each in after["macos"]["kernels"] if word in each]
        ours = answers.of_word(word.capitalize(), "shim/simulate/mps")
        yield Line("dtypes", f"Metal kernels for {word}: {names(kernels[:6])}", "shim/simulate/mps.cc", ANSWERED if ours else DECIDE, ours or "")
