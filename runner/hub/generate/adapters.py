"""PEFT's adapters: of a small model that another repository's name means.

Not here: the model (models.py). Without peft installed nothing could load an adapter.
"""

import importlib.util
import re
import tempfile
from pathlib import Path

from . import names
from .common import found, missing, seed_everything
from .hints import Trees, hints_for

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

# The end of the class's name → peft's task.
TASKS = {
    "ForCausalLM": "CAUSAL_LM", "LMHeadModel": "CAUSAL_LM", "ForConditionalGeneration": "SEQ_2_SEQ_LM",
    "ForSequenceClassification": "SEQ_CLS", "ForTokenClassification": "TOKEN_CLS",
    "ForQuestionAnswering": "QUESTION_ANS",
}  # fmt: skip


def base_of(name, hints):
    """The repository that the adapter belongs to: the source's, or a documented one whose name the
    adapter's begins with."""
    if hints.companions:
        return sorted(hints.companions)[0]
    plain = name.rsplit("/", 1)[-1].lower()
    types = [t for t, _ in names.spelled_types(name)]
    documented = [n for n, all_types in names.documents().items() if set(types) & set(all_types) and "/" in n]
    inside = [n for n in documented if n.rsplit("/", 1)[-1].lower() in plain]
    if inside or documented:
        return max(inside, key=lambda n: (len(n), n), default=None) or min(documented)
    without = re.sub(r"[-_.]?(q?lora|peft|adapters?|ia3)\b", "", name, flags=re.I)
    return without if types and without != name else None


def kind_of(name):
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return next((KINDS[w] for w in KINDS if w and w in words), KINDS[""])


def make_adapter(decision, name, folder, source, hints):
    """The answer for an adapter's repository."""
    from . import models

    if importlib.util.find_spec("peft") is None:
        return missing("an adapter, and peft is not installed")
    base = base_of(name, hints)
    if base is None:
        return missing("an adapter, and neither its name nor the source says of which model")
    base_hints = hints_for(base, Trees(source))
    base_decision = names.decide(base, base_hints)
    if base_decision is None or base_decision.library != "transformers":
        return missing(f"an adapter of {base}, which no rule knows")
    with tempfile.TemporaryDirectory() as place:
        answer = models.make_transformers(base_decision, base, Path(place), base_hints)
        kind = attach(Path(place), base, name, folder, answer["class"].split(",")[0])
    tags = [f"base_model:adapter:{base}", "peft", "safetensors"]
    return found(folder, f"{kind} of {base}", decision.why, library_name="peft", tags=tags)


def attach(base_folder, base, name, folder, architecture):
    """Puts an adapter on the model and saves the adapter alone."""
    import peft

    from .architectures import class_named

    config_name, fields = kind_of(name)
    task = next((t for end, t in TASKS.items() if architecture.endswith(end)), None)
    model = class_named(architecture).from_pretrained(base_folder)
    seed_everything(name)
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
