"""Weights and generation settings on disk, in the file that a client asks for.

Not here: the model's config (architectures.py).
"""

import copy
import inspect
import json
import re

_WEIGHTS = re.compile(r"(?P<stem>pytorch_model|model|adapter_model)(\.(?P<variant>[\w-]+))?\.(?P<format>bin|safetensors)\Z")


def save(model_class, config, folder, name, facts):
    """Makes the model with random weights and saves all that belongs to it."""
    model = build(model_class, config)
    set_generation(model, config, facts)
    options = {"max_shard_size": "64KB"} if "shard" in name.lower() else {}
    model.save_pretrained(folder, **options)
    return model


def has_all_of(model_class, base_class, config):
    """Whether the class has each weight that the class without a head has."""
    prefix = base_class.base_model_prefix
    inside = getattr(build(model_class, copy.deepcopy(config)), prefix, None)
    own = base_class(copy.deepcopy(config)).state_dict()
    return inside is not None and set(own) <= set(inside.state_dict())


def build(model_class, config):
    """The model in the state that users load: no dropout."""
    if getattr(config, "is_encoder_decoder", False) and getattr(config, "decoder_start_token_id", None) is None:
        starts = (getattr(config, n, None) for n in ("pad_token_id", "bos_token_id", "eos_token_id"))
        config.decoder_start_token_id = next((s for s in starts if isinstance(s, int)), 0)
    model = model_class(config)
    model.eval()
    return model


def set_generation(model, config, facts):
    """Ids that generation needs and the config of a part has; a tiny model need not say much."""
    generation = getattr(model, "generation_config", None)
    if generation is None:
        return
    text = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"):
        for owner in (config, text):
            if getattr(generation, name, None) is None and getattr(owner, name, None) is not None:
                setattr(generation, name, getattr(owner, name))
    for name, value in (facts or {}).get("generation", {}).items():
        setattr(generation, name, value)
        generation._from_model_config = False  # or loading would make it anew


def convert(folder, file):
    """Writes the weights in the format and variant of the name. False where it names neither."""
    parts = _WEIGHTS.match(file)
    if not parts:
        return False
    stem = "adapter_model" if parts["stem"] == "adapter_model" else "model"
    source = folder / f"{stem}.safetensors"
    if not source.exists():
        return False
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(source)
    if parts["variant"] in ("fp16", "bf16"):
        dtype = torch.float16 if parts["variant"] == "fp16" else torch.bfloat16
        weights = {k: v.to(dtype) if v.is_floating_point() else v for k, v in weights.items()}
    if parts["format"] == "bin":
        torch.save(weights, folder / file)
    else:
        save_file(weights, folder / file, metadata={"format": "pt"})
    return True


def drop_unread_inputs(model_class, folder):
    """A tokenizer makes no token types for a model that takes none: generate() refuses them."""
    path = folder / "tokenizer_config.json"
    if not path.exists() or "token_type_ids" in inspect.signature(model_class.forward).parameters:
        return
    names = json.loads(path.read_text()).get("model_input_names", ["input_ids", "attention_mask"])
    patch_json(path, {"model_input_names": [n for n in names if n != "token_type_ids"]})


def patch_json(path, fields):
    """Adds fields to a JSON file, sorted as transformers writes it."""
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **fields}, indent=2, sort_keys=True) + "\n")
