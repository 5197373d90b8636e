"""What changed in torch's kernels, texts and headers that concerns the simulated devices."""

import json
import re

import answers
import native_facts
import refusal_texts
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names

MPS_RULES, CUDA_RULES = "shim/simulate/mps_refusals.json", "shim/simulate/cuda_refusals.json"
DTYPES, OPERATORS = "shim/simulate/cuda_dtypes.json", "shim/simulate/operators.py"
# Suffixes of a kernel's name after its op's name.
KERNEL_WORDS = re.compile(r"_(?:out|cuda|cudnn|kernel|impl|template|typed|stub|frame|v\d)?$")
COMPOSITE = re.compile(r"Composite")
# Texts that refuse a dtype or an option, and not a shape that every device refuses.
REFUSING = re.compile(
    r"support|implement|doesn't|only (?:for|float|int|bool|on|available|works)|unavailable|requires? macOS|complex|dtype", re.I
)
CXX_DTYPE = re.compile(r"torch\.(\w+)")
SETS = {
    "floating_types": "float32 float64",
    "all_types": "uint8 int8 int16 int32 int64 float32 float64",
    "complex_types": "complex64 complex128",
    "integral_types": "uint8 int8 int16 int32 int64",
    "double_types": "float64 complex128",
    "empty_types": "",
}
CPP = {"Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Half": "float16", "Float": "float32", "Double": "float64",
       "ComplexHalf": "complex32", "ComplexFloat": "complex64", "ComplexDouble": "complex128", "Bool": "bool", "BFloat16": "bfloat16"}


class Recorded:
    """A library's facts, as macho.Library answers for the library itself."""

    def __init__(self, facts):
        self.content = "\0".join(facts["texts"]).encode()
        self._owners, self._kernels = facts["owners"], set(facts["kernels"])

    def users(self, text):
        text = text.decode()
        return {user for each, users in self._owners.items() if text in each for user in users}

    def kernels(self):
        return self._kernels


def lines(before, after):
    for part in (_operators, _mps_rules, _mps_texts, _alerts, _cuda_texts, _new_cuda_texts, _sample_dtypes, _dtypes, _metal, _headers, _variables, _settings):
        yield from part(before, after)


def _has(entry, device):
    """Whether an op runs on a device: by a kernel of its own, or composed of others."""
    return any(key == device or COMPOSITE.match(key) for key in entry["keys"])


def _kernels(entry, device):
    return {key for key in entry["keys"] if key.endswith(device)}


def _operators(before, after):
    old, new = before["ops"], after["ops"]
    gone, added = difference(old, new)
    group = "operators"
    found = {}
    for name in added:
        if _kernels(new[name], "CUDA") and not _has(new[name], "CPU") and not name.endswith((".out", "_out")):
            ours = answers.of_word(name.split(".")[0], "shim/simulate")
            found[name] = (ANSWERED, ours) if ours else (DECIDE, "simulated CUDA has nothing to compute it with")
    yield from by_answer(group, "new, with a kernel for CUDA and none for the CPU: {}", "shim/simulate/kernels", found)
    plain = [name for name in added if not name.endswith("out") and name not in found and not name.endswith("_backward")]
    if plain:
        yield Line(group, f"new: {names(plain)}", OPERATORS, ANSWERED, f"{OPERATORS} reads torch's own table")
    for device in ("MPS", "CUDA"):
        gained = {name for name in new if _kernels(new[name], device) and not _kernels(old.get(name, {"keys": ()}), device)}
        shown = {name.partition(".")[0].rstrip("_") for name in gained}
        lost = {name for name in set(old) & set(new) if _kernels(old[name], device) and not _kernels(new[name], device)}
        if gained:
            yield Line(group, f"with a kernel for {device} now: {names(shown)}", OPERATORS, ANSWERED, f"{OPERATORS} reads torch's own table")
        ruled = {name for name in gained if device == "MPS" and name in old and _ruled(name, after["version"])}
        if ruled:
            yield Line(group, f"with a kernel for MPS now, and a rule that refuses some of it: {names(ruled)}", MPS_RULES, ANSWERED, MPS_RULES)
        if lost:
            yield Line(group, f"without a kernel for {device} now: {names(lost)}", OPERATORS, ANSWERED, f"{OPERATORS} reads torch's own table")
    used = {}
    for name in gone:
        base = name.split(".")[0]
        if not any(each.split(".")[0] == base for each in new) and (ours := _op_user(base)):
            used[name] = (OPEN, f"a rule of {ours} is for nothing") if ours.endswith(".json") else (DECIDE, ours)
    yield from by_answer(group, "gone, and named by our sources: {}", OPERATORS, used)
    for name in sorted(set(old) & set(new)):
        if old[name]["schema"] != new[name]["schema"] and (ours := _op_user(name)):
            change = f"{name}: {old[name]['schema']} → {new[name]['schema']}"
            boxed = ours.endswith((".json", ".py"))
            yield Line(group, change, ours, ANSWERED if boxed else DECIDE, f"{ours} names it" + (", by its boxed arguments" if boxed else ""))


def _op_user(name):
    """The source that names an op in quotes or as a function of at::."""
    word = re.compile(rf'"(?:aten::)?{re.escape(name)}"' + (rf"|at::(?:_ops::)?{name}\b" if "." not in name else ""))
    return next((path for path, text in answers.texts().items() if path.startswith("shim/") and word.search(text)), None)


def _ruled(name, version):
    rules, _ = answers.rules("mps")
    return any(name in rule["ops"] and answers.in_range(rule, version) for rule in rules)


def _mps_rules(before, after):
    owners = set()
    disagreed = {}
    for facts in (before, after):
        core = "\0".join(facts["macos"]["core"]).encode()
        disagreed = dict(refusal_texts.disagreements(facts["version"], Recorded(facts["macos"]), core, owners))
        if facts is before:
            earlier = set(disagreed.items())
    for rule, what in sorted(disagreed.items()):
        if (rule, what) not in earlier and not (what == "no such text" and _is_composed(rule, after["macos"]["texts"])):
            yield Line("refusals of MPS", f"{what}: {rule}", MPS_RULES, DECIDE, "the rule and the wheel disagree")


def _is_composed(rule, texts):
    """Whether the library has a text of a rule but for names in it, which it puts in as it raises."""
    parts = [part.strip() for part in re.split(r"\{[^}]*\}|\b\w+_\w+\b|\b\d+\b", rule.partition("] ")[2])]
    return all(any(part in each for each in texts) for part in parts if len(part) > 5)


def _mps_texts(before, after):
    """Texts that only functions of MPS load, and that refuse something."""
    said = {}
    for text, users in before["macos"]["owners"].items():
        for user in users:
            said.setdefault(native_facts.function_name(user), []).append(text)
    for text, users in sorted(after["macos"]["owners"].items()):
        # Some had the text before, perhaps as a part of a longer one.
        having = {native_facts.function_name(user) for user in users}
        having = {name for name in having if not any(text.strip() in each for each in said.get(name, ()))}
        if not having or len(text) < 16 or " " not in text.strip() or not REFUSING.search(text):
            continue
        # Assertions, and what follows in a longer text.
        if re.search(r"Assert|INTERNAL|\.mm|please report|^[A-Z]\w+\(|[{};]|^[.,)]|caffe2|TensorOptions|multi-device|^Queried for", text):
            continue
        status, by = _ruled_text(text.strip(), after["version"])
        if status == DECIDE and text in after["macos"].get("shared", ()):
            status, by = ANSWERED, "functions of other devices say it, too, and the CPU's compute"
        yield Line("refusals of MPS", f"new text in {names(having)}: {text.strip()[:160]}", MPS_RULES, status, by)


def _ruled_text(text, version):
    """Whether a rule for this version, or code of ours, has a text of the library."""
    rules, _ = answers.rules("mps")
    having = [rule for rule in rules if any(text in said or refusal_texts.piece(said).decode().strip() in text for said in _said(rule))]
    if any(answers.in_range(rule, version) for rule in having):
        return ANSWERED, MPS_RULES
    if having:
        return DECIDE, "a rule has it, but not for this version"
    code = next((path for path, content in answers.texts().items() if path.endswith((".cc", ".py")) and text in content), None)
    return (ANSWERED, code) if code else (DECIDE, "")


def _said(rule):
    """The text of a rule for each of its ops."""
    return {refusal_texts.named_after(rule["text"], op) for op in rule["ops"]} if "text" in rule else ()


def _alerts(before, after):
    gone, added = difference(before["macos"]["alerts"], after["macos"]["alerts"])
    texts = answers.texts()[MPS_RULES]
    for name in added:
        if re.search(r"mps", name, re.I):
            ours = f'"{name}"' in texts or ("{op}_mps" in texts and name.removesuffix("_mps") in texts)
            yield Line("refusals of MPS", f"not deterministic now: {name}", MPS_RULES, ANSWERED if ours else DECIDE, MPS_RULES if ours else "no alert in our rules")
    for name in gone:
        if re.search(r"mps", name, re.I):
            still = f'"{name}"' in texts and not _ended(name, after["version"])
            yield Line("refusals of MPS", f"deterministic now: {name}", MPS_RULES, DECIDE if still else ANSWERED, "our rule has no end" if still else MPS_RULES)


def _ended(alert, version):
    content = json.loads(answers.texts()[MPS_RULES])
    found = [rule for section in content["alerts"] for rule in section["rules"] if rule["alert"] == alert]
    return not any(answers.in_range(rule, version) for rule in found)


def _cuda_texts(before, after):
    """Texts and names by which our rules let simulated CUDA refuse, and that the libraries lack now."""
    old, new = ("\0".join(text for each in facts["linux"]["texts"].values() for text in each) for facts in (before, after))
    for (table, piece), ops in sorted(_cuda_pieces(after["version"]).items()):
        if "{" not in piece and len(piece) > 5 and piece in old and piece not in new:
            yield Line("refusals of CUDA", f"gone: {piece} ({names(set(ops))})", table, DECIDE, "a rule says it still")


def _cuda_pieces(version):
    """(Our table, a part of a text or a kernel's name in it) → the ops of the rules with it."""
    rules, _ = answers.rules("cuda")
    pieces = {}
    for rule in [*rules, *json.loads(answers.texts()[DTYPES])["refusals"]]:
        table = CUDA_RULES if "ops" in rule else DTYPES
        if not answers.in_range(rule, version):
            continue
        for key in ("text", "dispatch"):
            if key in rule:
                ops = [op.partition(".")[0] for op in rule.get("ops") or [rule["op"]]]
                piece = rule[key] if key == "dispatch" else refusal_texts.piece(refusal_texts.named_after(rule[key], ops[0])).decode()
                pieces.setdefault((table, piece.strip()), []).extend(ops)
    return pieces


def _new_cuda_texts(before, after):
    """New words of CUDA's own kernels: refusals, and any text of an op whose words our rules have."""
    old, new = ("\0".join(text for each in facts["linux"]["texts"].values() for text in each) for facts in (before, after))
    shared = {text.strip() for text in after["linux"]["texts"]["libtorch_cpu"]}
    operators = {name.partition(".")[0] for name in after["ops"]}
    worded = {op for ops in _cuda_pieces(after["version"]).values() for op in ops}
    lost = {op for (_, piece), ops in _cuda_pieces(after["version"]).items() if piece in old and piece not in new for op in ops}
    ours = "\0".join(text for path, text in answers.texts().items() if path.startswith("shim/simulate"))
    found = {}
    for text, users in after["linux"]["owners"].items():
        said = text.strip()
        if said in old or len(said) < 8 or not re.search(r"[a-z]{3} ", text) or re.search(r"[{};]|&&|^[.,)]", said):
            continue
        own = {_op_of(each, operators) for each in users} - {None}
        # A function that several kernels call says it, as one that checks shapes.
        helped = set() if own else {_op_of(each, operators) for user in users for each in after["linux"]["callers"].get(user, ())} - {None}
        decide = own & worded or helped & lost
        ops = decide or own or helped
        # Simulated devices say what the CPU's kernels say, where no rule of ours has other words.
        if ops and (decide or said not in shared and REFUSING.search(text)):
            known = refusal_texts.piece(said).decode().strip() in ours
            status = (ANSWERED, CUDA_RULES) if known else (DECIDE, "rules of ours have other words") if decide else (OPEN, "")
            found.setdefault((names(ops), status), []).append(said)
    for (ops, (status, by)), texts in sorted(found.items()):
        yield Line("refusals of CUDA", f"new words of {ops}: {'; '.join(each[:100] for each in sorted(texts)[:6])}", CUDA_RULES, status, by)


def _op_of(function, operators):
    """The op that a kernel is of by its name, as _int_mm of _int_mm_out_cuda."""
    name = function.partition("::")[0].removeprefix("structured_")
    while not {name, f"{name}_"} & operators and (shorter := KERNEL_WORDS.sub("", name)) != name:
        name = shorter
    return next((each for each in (name, f"{name}_") if each in operators), None)


def _evaluated(expression):
    """The dtypes of an OpInfo's expression, such as floating_types_and(torch.half)."""
    found = {CPP_NAMES.get(each, each) for each in CXX_DTYPE.findall(expression)}
    for name, dtypes in SETS.items():
        if re.search(rf"\b{name}(?:_and)?\b", expression) or re.search(rf"\b{name}_and_", expression):
            found.update(dtypes.split())
    if "_and_complex" in expression or "floating_and_complex" in expression:
        found.update(("float32", "float64", "complex64", "complex128"))
    return found


CPP_NAMES = {"half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32", "long": "int64", "int": "int32", "short": "int16"}


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
            refused = answers.refused(device, op, after["version"])
            wrong, kept = sorted((now - was) & refused), sorted(was - now - refused)
            status = (DECIDE, f"our rules refuse {', '.join(wrong)}") if wrong else (OPEN, f"no rule of ours refuses {', '.join(kept)}") if kept else (ANSWERED, DTYPES if device == "cuda" else MPS_RULES)
            what = "; ".join(f"{word} {', '.join(sorted(each))}" for word, each in (("with", now - was), ("without", was - now)) if each)
            changes.setdefault((device, what, status), []).append(op)
    for (device, what, (status, by)), ops in sorted(changes.items()):
        yield Line("dtypes", f"PyTorch's tests of {device.upper()} run {what} now: {names(ops)}", DTYPES if device == "cuda" else MPS_RULES, status, by)


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
            what = "; ".join(f"{word} {names(each)}" for word, each in (("without", less), ("with", more)) if each)
            status = DECIDE if more and not ours and re.search("mps/MPSGuard|mps/OperationUtils", file) else ANSWERED if ours else OPEN
            yield Line("dtypes", f"{name} ({file}) {what}", "shim/simulate/mps.cc" if "mps" in file.lower() else DTYPES, status, ours or "")
    for name in sorted({*before["headers"]["macros"], *after["headers"]["macros"]}):
        old, new = (set(facts["headers"]["macros"].get(name, ())) - {"decltype", "c10", "at"} for facts in (before, after))
        less, more = difference(old, new)
        if less or more:
            what = "; ".join(f"{word} {names(each)}" for word, each in (("without", less), ("with", more)) if each)
            yield Line("dtypes", f"the list {name} {what}", OPERATORS, ANSWERED, "the shim is compiled with it")


def _dtype_source(file, more):
    folder = "shim/simulate/mps" if "mps" in file.lower() else "shim/simulate"
    found = [answers.of_word(each, folder) or answers.of_word(CPP.get(each, each.lower()), folder) for each in more]
    return found[0] if found and all(found) else None


def _metal(before, after):
    """Words for a dtype that Metal kernels have for the first time."""
    old, new = ({word for kernel in facts["macos"]["kernels"] for word in re.findall(r"(?<=_)(?:float[48]_e\dm\d\w*?|fp[48]|u?int4|complex\w*?)(?=_|$)", kernel, re.I)} for facts in (before, after))
    for word in sorted(new - old):
        kernels = [each for each in after["macos"]["kernels"] if word in each]
        yield Line("dtypes", f"Metal kernels for {word}: {names(kernels[:6])}", "shim/simulate/mps.cc", *((ANSWERED, ours) if (ours := answers.of_word(word.capitalize(), "shim/simulate/mps")) else (DECIDE, "")))


def _headers(before, after):
    old, new = before["headers"], after["headers"]
    for header, ours in sorted(answers.includes().items()):
        if header in old["files"] and header not in new["files"]:
            yield Line("headers", f"{header} is gone", ours, DECIDE, f"{ours} includes it")
    for base, known in sorted(answers.derived().items()):
        yield from _virtual(base, known, old["classes"], new["classes"])
    yield from _relatives(old["classes"], new["classes"])
    words_old, words_new = set(old["words"]), set(new["words"])
    lost = {}
    for name, ours in answers.used_of_cpp().items():
        last = name.rpartition("::")[2]
        if last in words_old and last not in words_new:
            lost.setdefault(ours, []).append(name)
    for ours, each in sorted(lost.items()):
        guarded = re.search(r"TORCH_VERSION|COMPAT_TORCH|kTorchVersion|if constexpr|requires", answers.texts()[ours])
        yield Line("headers", f"gone: {names(each)}", ours, ANSWERED if guarded else DECIDE, "by the version of torch" if guarded else f"{ours} uses it")
    yield from _signatures(old, new)
    yield from _enumerations(old["enums"], new["enums"])


def _signatures(old, new):
    """Functions of torch that our sources name, and that no header declares as before."""
    for name, ours in sorted(answers.used_of_cpp().items()):
        parts = name.split("::")
        key = "::".join(parts[-2:]) if parts[-2] in old["classes"] else parts[-1]
        was, now = ([_parameters([each])[0] for each in facts["functions"].get(key, ())] for facts in (old, new))
        if was and now and not set(was) & set(now):
            change = f"{name}: {old['functions'][key][0]} → {new['functions'][key][0]}"
            yield Line("headers", change[:300], ours, DECIDE, f"{ours} names it")


def _virtual(base, known, old, new):
    name = next((each for each in new if each.rpartition("::")[2] == base), None)
    was, now = old.get(name or base), new.get(name or base)
    if was is None or now is None:
        if was is not None:
            yield Line("headers", f"class {base} is gone", known["file"], DECIDE, f"{known['file']} derives from it")
        return
    group, file = "headers", known["file"]
    gone, added = difference(was["virtual"], now["virtual"])
    found = {}
    for each in added:
        pure = any(re.search(r"=\s*0$", shown) for shown in now["virtual"][each])
        if each in known["overrides"]:
            found[each] = (ANSWERED, file)
        else:
            found[each] = (DECIDE, f"{file} must have it") if pure else (OPEN, f"{file} has torch's default")
    yield from by_answer(group, f"{base} gains the virtual functions {{}}", file, found)
    lost = {each: (DECIDE, f"{file} overrides it") if each in known["overrides"] else (ANSWERED, "ours does not override it") for each in gone}
    yield from by_answer(group, f"{base} loses the virtual functions {{}}", file, lost)
    for each in sorted(set(was["virtual"]) & set(now["virtual"])):
        if _parameters(was["virtual"][each]) != _parameters(now["virtual"][each]):
            ours = each in known["overrides"]
            change = f"{base}::{each}: {'; '.join(was['virtual'][each])} → {'; '.join(now['virtual'][each])}"
            yield Line(group, change[:300], file, DECIDE if ours else ANSWERED, f"{file} overrides it" if ours else "ours does not override it")


def _relatives(old, new):
    """What classes of MPS, CUDA and NCCL override newly, or no longer, of a class that ours derive from too."""
    derived, found = answers.derived(), {}
    for name in sorted(set(old) & set(new)):
        base = next((each for each in _ancestors(name, new) if each in derived), None)
        if not base or name.rpartition("::")[2] in derived or not re.search(r"mps|cuda|nccl", new[name]["file"], re.I):
            continue
        was, now = (classes[name]["virtual"] for classes in (old, new))
        # Changes of the class that both derive from have a line of their own.
        told = set().union(*difference(*(classes.get(base, {"virtual": ()})["virtual"] for classes in (old, new))))
        gone, added = difference(was, now)
        changed = [each for each in set(was) & set(now) if _parameters(was[each]) != _parameters(now[each])]
        for word, each in (("newly", added), ("with other parameters", changed), ("no longer", gone)):
            for function in sorted(set(each) - told):
                ours = answers.overriding(function)
                if ours or word == "newly":
                    found.setdefault((base, word), {})[f"{name.partition('@')[0]}::{function}"] = ours
    for (base, word), functions in found.items():
        file = derived[base]["file"]
        without = f"{file} has torch's default"
        shown = {name: (ANSWERED, ours) if ours and word == "newly" else (OPEN, f"{ours} has it still" if ours else without) for name, ours in functions.items()}
        yield from by_answer("headers", f"what derives from {base} overrides {word} {{}}", file, shown)


def _ancestors(name, classes):
    """The last names of all classes that a class derives from."""
    for base in re.findall(r"(\w+)(?=<|,|\s|>|$)", classes[name]["bases"]):
        yield base
        if base in classes and base != name:
            yield from _ancestors(base, classes)


def _parameters(shown):
    """Declarations without what no override must repeat."""
    aside = r"\s*=\s*0(?=\s*[,)])|\s*=\s*(?!0)[\w:]+(?:\(\)|\{\})?|\b(?:virtual|override|noexcept)\b|\[\[\w+\]\]|\w+::"
    neat = (re.sub(r"(?<=\()\s+|(?<=[\w&*>]) \w+(?=\s*[,)])", "", " ".join(re.sub(aside, "", each).split())) for each in shown)
    return sorted(re.sub(r"\s+(?=[,)&*])|\s+$", "", each) for each in neat)


def _enumerations(old, new):
    for name in sorted(set(old) & set(new)):
        less, more = difference(old[name], new[name])
        if 4 * len(less) > len(old[name]) and "MacOS" not in name:  # another enumeration of this name
            continue
        if (less or more) and re.search(r"MacOS|Device|Dispatch|Backend|OpType|ScalarType|ErrorType|SDP|Layout|Attention|Stat|Alloc|Event", name):
            found = {}
            for each in more:
                digits = re.search(r"MACOS_(?:VER_)?(\d+)_(\d+)", each)
                ours = answers.of_word(each) or (_macos_known(digits) if digits else None)
                found[each] = (ANSWERED, ours) if ours else (DECIDE, "no simulated macOS of this version") if digits else (OPEN, "")
            yield from by_answer("headers", f"enum {name} gains {{}}", "shim/python/compat_shim/settings.py" if "MacOS" in name else "shim", found)
            if ours := {each: (DECIDE, f"{source} has it") for each in less if (source := answers.of_word(each, "shim/"))}:
                yield from by_answer("headers", f"enum {name} loses {{}}", "shim", ours)


def _macos_known(digits):
    """Whether the simulated Macs have a macOS of this major version."""
    text = answers.texts()["shim/python/compat_shim/settings.py"]
    return "shim/python/compat_shim/settings.py" if re.search(rf'"{digits[1]}(?:\.\d+)?": \({digits[1]},', text) else None


def _variables(before, after):
    """Environment variables that the libraries name."""
    kept = re.compile(r"(?:TORCH|PYTORCH|CUDA|CUBLAS|CUDNN|NCCL|MPS)")
    gone, added = difference(_named_variables(before), _named_variables(after))
    # A compiler may put a name right behind other bytes.
    old, new = ("\0".join([*(text for each in facts["linux"]["texts"].values() for text in each), ""]) for facts in (before, after))
    gone, added = [each for each in gone if f"{each}\0" not in new], [each for each in added if f"{each}\0" not in old]
    for word, each in (("new", added), ("gone", gone)):
        found = {}
        for name in each:
            aside = r"ROCM|HIP|MIOPEN" if name.startswith("PYTORCH_") else r"ROCM|HIP|MIOPEN|_API$|LIBRARY|_TEST|VERSION|POLICY"
            if kept.match(name) and not re.search(aside, name):
                ours = answers.of_word(name)
                found[name] = (ANSWERED, ours) if ours else (OPEN, "")
        yield from by_answer("environment variables", f"{word} in C++: {{}}", "shim", found)


def _named_variables(facts):
    """Those of the libraries for Linux, and of MPS."""
    of_mps = (text for text in facts["macos"]["texts"] if native_facts.VARIABLE.fullmatch(text) and re.search("MPS|METAL", text))
    return {*facts["linux"]["variables"], *of_mps}


def _settings(before, after):
    """Words that functions in headers list, as the allocator's settings, and the settings that the
    allocator's class parses and its library names."""
    group = "environment variables"
    for file in sorted({*before["headers"]["lists"], *after["headers"]["lists"]}):
        old, new = (facts["headers"]["lists"].get(file, {}) for facts in (before, after))
        for name in sorted(set(old) & set(new)):
            less, more = difference(old[name], new[name])
            yield from by_answer(group, f"{name} ({file}) has also {{}}", "shim", {each: _set_by(each, file) for each in more})
            if less:
                yield Line(group, f"{name} ({file}) has no longer {names(less)}", "shim", ANSWERED, "torch's own")
    listed = {word for facts in (before, after) for each in facts["headers"]["lists"].values() for words in each.values() for word in words}
    gone, added = (set(each) - listed for each in difference(_parsed(before), _parsed(after)))
    yield from by_answer(group, "settings of the allocator, new: {}", "shim", {each: _set_by(each, "") if each not in after["linux"]["texts"]["libc10"] else (ANSWERED, "torch's own, in every build") for each in sorted(added)})
    if gone:
        yield Line(group, f"settings of the allocator, gone: {names(gone)}", "shim", ANSWERED, "torch's own")


def _set_by(word, file):
    # A source that reads the header when it is built has all its words.
    reading = file and next((path for path, text in answers.texts().items() if path.startswith("shim/") and file in text), None)
    ours = answers.of_word(word, "shim/") or reading
    if ours:
        return ANSWERED, ours
    # Simulated CUDA refuses a setting that it does not list.
    return (DECIDE, "PYTORCH_CUDA_ALLOC_CONF may have it, and no source of ours has") if "AllocatorConfig" in file else (OPEN, "")


def _parsed(facts):
    """The texts of c10's libraries for which the allocator's class has a function that parses them."""
    parsers = {found[1] for each in facts["headers"]["functions"] if (found := re.search(r"AllocatorConfig::parse(\w+)", each))}
    texts = {text for library in ("libc10", "libc10_cuda") for text in facts["linux"]["texts"][library]}
    return {text for text in texts if "".join(part.capitalize() for part in text.removesuffix("_mb").split("_")) in parsers}
