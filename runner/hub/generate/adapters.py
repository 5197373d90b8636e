"""PEFT's adapters: of a small model that another repository's name means.

Not here: the model (models.py). Without peft installed nothing could load an adapter.
"""

import dataclasses
import importlib.util
import re
import tempfile
from pathlib import Path

from . import heads, names
from .common import found, missing, seed_everything
from .hints import hints_for, trees_of

# A word of the adapter's name → peft's config class and its fields.
KINDS = {
    "ia3": ("IA3Config", {}),
    "adalora": ("AdaLoraConfig", {"r": 4, "total_step": 10, "init_lora_weights": False}),
    "prompt": ("PromptTuningConfig", {"num_virtual_tokens": 4}),
    "prefix": ("PrefixTuningConfig", {"num_virtual_tokens": 4}),
    "ptuning": ("PromptEncoderConfig", {"num_virtual_tokens": 4, "encoder_hidden_size": 32}),
    "loha": ("LoHaConfig", {"r": 4, "init_weights": False}),
    "lokr": ("LoKrConfig", {"r": 4, "init_weights": False}),
    "oft": ("OFTConfig", {"init_weights": False}),
    "": ("LoraConfig", {"r": 8, "lora_alpha": 16, "init_lora_weights": False}),
}

ANY_BASE = "LlamaForCausalLM"  # where nothing says which model an adapter is for

# Auto class → peft's task; the first that has the model's class.
TASKS = {
    "AutoModelForCausalLM": "CAUSAL_LM", "AutoModelForSeq2SeqLM": "SEQ_2_SEQ_LM",
    "AutoModelForSequenceClassification": "SEQ_CLS", "AutoModelForTokenClassification": "TOKEN_CLS",
    "AutoModelForQuestionAnswering": "QUESTION_ANS",
}  # fmt: skip
_MODEL_FILES = re.compile(r"config\.json|generation_config\.json|.*\.(safetensors|bin)|.*\.index\.json")


def base_of(name, hints):
    """The repository that the adapter belongs to: one that the source loads beside it, the part of
    the name that ends with a class, or a documented one whose name the adapter's begins with."""
    own, plain = names.decide_plain(name), name.rsplit("/", 1)[-1]
    types = [t for t, _ in names.spelled_types(name)] or ([own.model_type] if own else [])
    if beside := _companion(types, hints):
        return beside
    if own is not None and own.word:
        begin = name[: name.rindex(own.word) + len(own.word)]
        return begin if begin != name else f"hf-internal-testing/tiny-random-{own.word}"
    documented = [n for n, all_types in names.documents().items() if set(types) & set(all_types) and "/" in n]
    inside = [n for n in documented if n.rsplit("/", 1)[-1].lower() in plain.lower()]
    if inside or documented:
        return max(inside, key=lambda n: (len(n), n), default=None) or min(documented)
    without = re.sub(r"[-_.]?(q?lora|peft|adapters?|ia3)\b", "", plain, flags=re.I)
    if types and without != plain:
        return "/".join([*name.split("/")[:-1], without])
    return f"hf-internal-testing/tiny-random-{types[0] if types else ANY_BASE}"


def _companion(types, hints):
    """The first repository beside it that is a model of the type that the adapter's name spells."""
    for other in hints.companions:
        decision = None if names.is_adapter(other) else names.decide_plain(other)
        if decision is not None and (not types or decision.model_type in types):
            return other
    return None


def kind_of(name):
    """peft's config class and its fields, by a word of the name."""
    from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING

    words = set(re.split(r"[^a-z0-9]+", name.rsplit("/", 1)[-1].lower()))
    if known := next((KINDS[w] for w in KINDS if w and w in words), None):
        return known
    for kind, config in PEFT_TYPE_TO_CONFIG_MAPPING.items():
        if str(getattr(kind, "value", kind)).lower().replace("_", "") in words - {"lora"}:
            takes = {f.name for f in dataclasses.fields(config)}
            return config.__name__, {"init_weights": False} if "init_weights" in takes else {}
    return KINDS[""]


def task_of(architecture, hints):
    """AutoPeftModelForX loads an adapter of X's task, AutoPeftModel one without a task."""
    for word in hints.ranked():
        if word == "AutoPeftModelForFeatureExtraction":
            return "FEATURE_EXTRACTION"
        if word.startswith("AutoPeftModelFor"):
            return TASKS.get(word.replace("Peft", "", 1))
    if "AutoPeftModel" in hints.classes:
        return None
    return next((t for auto, t in TASKS.items() if any(architecture in c for c in heads.classes_of(auto).values())), None)


def head_of(decision, hints):
    """The class that the source puts the adapter on, where it says so."""
    for word in hints.ranked():
        auto = word.replace("Peft", "", 1).replace("ForFeatureExtraction", "")
        if word.startswith("AutoPeftModelFor") and (found := heads.first_class(auto, decision.model_type)):
            return found
    return None


def make_adapter(decision, name, folder, source, hints):
    """The answer for an adapter's repository."""
    from . import models

    if importlib.util.find_spec("peft") is None:
        return missing("an adapter, and peft is not installed")
    base = base_of(name, hints)
    base_hints = hints_for(base, trees_of(source))
    base_decision = names.decide(base, base_hints)
    if base_decision is None or base_decision.library != "transformers":
        return missing(f"an adapter of {base}, which no rule knows")
    if head := head_of(base_decision, hints):
        base_decision.architecture, base_decision.exact = head, True
    with tempfile.TemporaryDirectory() as place:
        answer = models.make_transformers(base_decision, base, Path(place), base_hints)
        architecture = answer["class"].split(",")[0]
        kind = attach(Path(place), base, name, decision.seed, folder, architecture, task_of(architecture, hints))
        if any("Tokenizer" in word for word in hints.classes):
            copy_tokenizer(Path(place), folder)
    tags = [f"base_model:adapter:{base}", "peft", "safetensors"]
    return found(folder, f"{kind} of {base}", decision.why, library_name="peft", tags=tags)


def copy_tokenizer(place, folder):
    for path in place.iterdir():
        if path.is_file() and not _MODEL_FILES.fullmatch(path.name):
            (folder / path.name).write_bytes(path.read_bytes())


def attach(base_folder, base, name, seed, folder, architecture, task):
    """Puts an adapter on the model and saves the adapter alone."""
    import peft

    from .architectures import class_named

    config_name, fields = kind_of(name)
    model = class_named(architecture).from_pretrained(base_folder)
    seed_everything(seed)
    config_class = getattr(peft, config_name)
    try:
        adapted = peft.get_peft_model(model, config_class(task_type=task, **fields))
    except ValueError:  # peft has no usual modules for the type
        adapted = peft.get_peft_model(model, config_class(task_type=task, target_modules="all-linear", **fields))
    for each in adapted.peft_config.values():
        each.base_model_name_or_path = base
        each.inference_mode = True
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    sort_lists(folder / "adapter_config.json")
    return config_name.removesuffix("Config")


def sort_lists(path):
    """Sets of modules have no order of their own."""
    import json

    content = json.loads(path.read_text())
    content = {k: sorted(v) if isinstance(v, list) and all(isinstance(e, str) for e in v) else v for k, v in content.items()}
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
