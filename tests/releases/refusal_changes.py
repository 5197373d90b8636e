"""What changed in the texts by which kernels of MPS and CUDA refuse something."""

import json
import re

import answers
import native_facts
import refusal_texts
from lines import ANSWERED, DECIDE, OPEN, Line, by_answer, difference, names
from scope import CUDA_RULES, DTYPES, MPS_RULES

# Suffixes of a kernel's name after its op's name.
KERNEL_WORDS = re.compile(r"_(?:out|cuda|cudnn|kernel|impl|template|typed|stub|frame|v\d)?$")
MPS = re.compile("mps", re.I)
# Words of a function's name that say nothing of its op.
MPS_WORDS = {"structured", "mps", "out", "impl", "kernel", "template", "common", "functional", "stub", "for"}
# Texts that refuse a dtype or an option, and not a shape that every device refuses.
REFUSING = re.compile(
    r"support|implement|doesn't|only (?:for|float|int|bool|on|available|works)|unavailable|requires? macOS|complex|dtype"
    r"|too (?:large|big|many)", re.I
)
# Assertions, and what follows in a longer text.
INTERNAL = re.compile(
    r"Assert|INTERNAL|\.mm|please report|^[A-Z]\w+\(|[{};]|^[.,)]|caffe2|TensorOptions|multi-device|^Queried for"
    r"|\bunexpected\b|[Ii]nvalid state"
)


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
    for part in (_mps_rules, _mps_texts, _alerts, _cuda_texts, _new_cuda_texts):
        yield from part(before, after)


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
    said, facts = {}, after["macos"]
    for text, users in before["macos"]["owners"].items():
        for user in users:
            said.setdefault(_core(native_facts.function_name(user)), []).append(_spaced(text))
    operators, shared = {name.partition(".")[0] for name in after["ops"]}, set(map(_spaced, facts["shared"]))
    for text, users in sorted(facts["owners"].items()):
        text = _spaced(text)
        # Some had the text before, perhaps as a part of a longer one, or under another name.
        having = {native_facts.function_name(user) for user in users}
        having = {name for name in having if not any(text in each for each in said.get(_core(name), ()))}
        if len(text) < 14 or " " not in text or not REFUSING.search(text) or INTERNAL.search(text):
            continue
        found = {}
        for name in having:
            found[name] = _ruled_text(text, [name, *facts["callers"].get(name, ())], operators, after["version"], text in shared)
        yield from by_answer("refusals of MPS", f"new text in {{}}: {text[:160]}", MPS_RULES, found)


def _spaced(text):
    return " ".join(text.split())


def _core(function):
    """A function's name without words that say nothing of its op: its text may move between two of these."""
    words = function.partition("::impl")[0].split("_")
    return "_".join(word for word in words if word not in MPS_WORDS)


def _ruled_text(text, functions, operators, version, is_shared):
    """Whether a rule for this version, or code of ours, has the text of a function. `functions`: it, and
    those that call it. A rule must be of its op, if it has one: many say the same words. `is_shared`:
    whether functions of other devices say it, too."""
    rules, _ = answers.rules("mps")
    having = [rule for rule in rules if any(text in said or refusal_texts.piece(said).decode().strip() in text for said in _said(rule))]
    own = [rule for rule in having if any(_is_of(function, op) for function in functions for op in rule["ops"])]
    named = any(_is_of(functions[0], op) for op in operators if len(op) > 3)
    usual = len({rule["text"] for rule in having}) > 1
    # A text of one rule alone is that rule's, whatever its function is named.
    matching = own if own or named or usual else having
    if any(answers.in_range(rule, version) for rule in matching):
        return ANSWERED, MPS_RULES
    if own:
        return DECIDE, "a rule has it, but not for this version"
    code = next((path for path, content in answers.texts().items() if path.endswith((".cc", ".py")) and text in content), None)
    if code and not having:
        return ANSWERED, code
    if is_shared and not usual:
        return ANSWERED, "functions of other devices say it, too, and the CPU's compute"
    return DECIDE, "a rule of another op has it" if having else ""


def _is_of(function, op):
    """Whether a function has an op's name, in whole words and however many dimensions it has. A gradient
    has its op's name, too: the op refuses first."""
    base = re.sub(r"^_?(?:special|native)_", "", _core(op.partition(".")[0].strip("_")))
    core = _core(function).strip("_")
    names = {base, base.removeprefix("linalg_"), base.removesuffix("_ex"), re.sub(r"\dd", "", base)} - {""}
    return ("backward" not in base or "backward" in core) and any(f"_{name}_" in f"_{core}_" for name in names)


def _said(rule):
    """The text of a rule for each of its ops."""
    return {refusal_texts.named_after(rule["text"], op) for op in rule["ops"]} if "text" in rule else ()


def _alerts(before, after):
    gone, added = difference(before["macos"]["alerts"], after["macos"]["alerts"])
    for name in filter(MPS.search, added):
        answer = (ANSWERED, MPS_RULES) if _alerting(name, after["version"]) else (DECIDE, "no alert in our rules")
        yield Line("refusals of MPS", f"not deterministic now: {name}", MPS_RULES, *answer)
    for name in filter(MPS.search, gone):
        answer = (DECIDE, "our rule has no end") if _alerting(name, after["version"]) else (ANSWERED, MPS_RULES)
        yield Line("refusals of MPS", f"deterministic now: {name}", MPS_RULES, *answer)


def _alerting(alert, version):
    """Whether a rule for this version has an alert, for one of its ops."""
    content = json.loads(answers.texts()[MPS_RULES])
    rules = [rule for section in content["alerts"] for rule in section["rules"] if answers.in_range(rule, version)]
    return any(refusal_texts.named_after(rule["alert"], op) == alert for rule in rules for op in rule["ops"])


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
    operators, callers = {name.partition(".")[0] for name in after["ops"]}, after["linux"]["callers"]
    pieces = _cuda_pieces(after["version"])
    worded = {op for ops in pieces.values() for op in ops}
    lost = {op for (_, piece), ops in pieces.items() if piece in old and piece not in new for op in ops}
    found = {}
    for text, users in after["linux"]["owners"].items():
        said = text.strip()
        if said in old or len(said) < 8 or not re.search(r"[a-z]{3} ", text) or re.search(r"&&", said) or INTERNAL.search(said):
            continue
        own = {_op_of(each, operators) for each in users} - {None}
        # A function that several kernels call says it, as one that checks shapes.
        helped = set() if own else {_op_of(each, operators) for user in users for each in callers.get(user, ())} - {None}
        decide = own & worded or helped & lost
        ops = decide or own or helped
        # Simulated devices say what the CPU's kernels say, where no rule of ours has other words.
        if ops and (decide or said not in shared and REFUSING.search(text)):
            status = _known_to_cuda(_spaced(said), ops, pieces) or ((DECIDE, "rules of ours have other words") if decide else (OPEN, ""))
            found.setdefault((names(ops), status), []).append(_spaced(said))
    for (ops, (status, by)), texts in sorted(found.items()):
        shown = "; ".join(each[:100] for each in sorted(texts)[:6])
        yield Line("refusals of CUDA", f"new words of {ops}: {shown}", CUDA_RULES, status, by)


def _known_to_cuda(said, ops, pieces):
    """Whether a rule for one of these ops has a text, or code of ours."""
    piece = refusal_texts.piece(said).decode().strip()
    for (table, words), ruled in pieces.items():
        if not ops.isdisjoint(ruled) and (piece in words or len(words) > 11 and words in said):
            return ANSWERED, table
    sources = (each for each in answers.texts().items() if re.match(r"shim/simulate.*\.(?:cc|h)$", each[0]))
    code = next((path for path, text in sources if piece in text), None)
    return (ANSWERED, code) if code else None


def _op_of(function, operators):
    """The op that a kernel is of by its name, as _int_mm of _int_mm_out_cuda, or _scaled_mm_v2 of _scaled_mm_cuda_v2."""
    name = function.partition("::")[0].removeprefix("structured_")
    whole = re.sub(r"_(?:out|cuda|cudnn)(?=_|$)", "", name)
    if whole in operators:
        return whole
    while not {name, f"{name}_"} & operators and (shorter := KERNEL_WORDS.sub("", name)) != name:
        name = shorter
    return next((each for each in (name, f"{name}_") if each in operators), None)
