"""Diffusion pipelines and their parts, with the installed diffusers' own classes in tiny sizes.

A pipeline's constructor says by its annotations which parts it has. Parts of transformers are made
as any other model is.

Not here: models of transformers (models.py).
"""

import importlib.util
import inspect
import json
import typing

from .common import found, missing, seed_everything

# Values of constructors' parameters, by the names that diffusers' models share.
SIZES = {
    "sample_size": 8, "block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 4, "latent_channels": 4,
    "cross_attention_dim": 32, "attention_head_dim": 8, "num_attention_heads": 4, "num_layers": 1, "joint_attention_dim": 32,
    "pooled_projection_dim": 32, "caption_projection_dim": 32, "caption_channels": 32, "num_single_layers": 1,
    "transformer_layers_per_block": 1, "projection_class_embeddings_input_dim": None, "vq_embed_dim": 4,
    "num_vq_embeddings": 32, "pos_embed_max_size": 32, "text_embed_dim": 32, "ffn_dim": 64, "freq_dim": 32,
    "text_dim": 32, "axes_dims_rope": (4, 2, 2), "conditioning_embedding_out_channels": (8, 16), "act_fn": "silu",
    "base_dim": 32, "dim_mult": [1, 2], "num_res_blocks": 1, "z_dim": 4,
}  # fmt: skip
BLOCKS = {
    "UNet2DModel": ("DownBlock2D", "AttnDownBlock2D"), "UNet2DConditionModel": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "ControlNetModel": ("DownBlock2D", "CrossAttnDownBlock2D"), "AutoencoderKL": ("DownEncoderBlock2D",) * 2,
    "VQModel": ("DownEncoderBlock2D",) * 2,
}  # fmt: skip
DEFAULT_PIPELINES = (("xl", "StableDiffusionXLPipeline"), ("flux", "FluxPipeline"), ("ddpm", "DDPMPipeline"), ("", "StableDiffusionPipeline"))
# The beginning of a pipeline's name and a part → sizes that follow from its two text encoders.
PIPELINE_SIZES = {
    ("StableDiffusionXL", "unet"): {"cross_attention_dim": 64, "addition_embed_type": "text_time",
                                    "addition_time_embed_dim": 8, "projection_class_embeddings_input_dim": 80},
    ("StableDiffusion3", "transformer"): {"pooled_projection_dim": 64},
}  # fmt: skip
TOKENIZER_TYPES = {"CLIPTokenizer": "clip", "T5TokenizerFast": "t5", "T5Tokenizer": "t5", "CLIPTokenizerFast": "clip"}


def make_diffusion(decision, name, folder, source, hints):
    """The answer for a pipeline, or for one model or scheduler."""
    if importlib.util.find_spec("diffusers") is None:
        return missing("a diffusion model, and diffusers is not installed")
    import diffusers

    word = chosen_class(diffusers, decision, name, hints)
    chosen = getattr(diffusers, word)
    seed_everything(name)
    if issubclass(chosen, diffusers.DiffusionPipeline):
        make_pipeline(diffusers, chosen, folder)
    else:
        make_part(chosen, folder)
    return found(folder, word, decision.why, library_name="diffusers", pipeline_tag="text-to-image", tags=["diffusers", "safetensors"])


def chosen_class(diffusers, decision, name, hints):
    """The class that the source uses; a pipeline where it loads only parts of it by folders."""
    words = [w for w in hints.ranked() if hasattr(diffusers, w)]
    pipelines = [w for w in words if w.endswith("Pipeline") and w != "DiffusionPipeline" and not w.startswith("AutoPipeline")]
    if pipelines:
        return pipelines[0]
    if words and not hints.subfolders and not words[0].endswith("Pipeline"):
        return words[0]
    lowered = name.lower()
    return next(p for part, p in DEFAULT_PIPELINES if part in lowered and hasattr(diffusers, p))


def arguments_of(chosen):
    """Tiny values for the parameters that the class has. As many blocks as widths."""
    parameters = inspect.signature(chosen.__init__).parameters
    values = {k: v for k, v in SIZES.items() if k in parameters and v is not None}
    if down := BLOCKS.get(chosen.__name__):
        values["down_block_types"] = down
        up = tuple(b.replace("Down", "Up").replace("Encoder", "Decoder") for b in reversed(down))
        if "up_block_types" in parameters:
            values["up_block_types"] = up
    if "down_block_types" in parameters:
        values.pop("num_attention_heads", None)  # these take attention_head_dim for it
    if chosen.__name__ == "FluxTransformer2DModel":
        values.update(attention_head_dim=8, num_attention_heads=2, in_channels=16, patch_size=1)
    return values


def make_part(chosen, folder, sizes=None):
    """A scheduler or a model of diffusers."""
    import torch

    part = chosen(**{**arguments_of(chosen), **(sizes or {})})
    if isinstance(part, torch.nn.Module):
        part.eval()
    part.save_pretrained(folder)
    return part


def make_pipeline(diffusers, chosen, folder):
    """model_index.json and a folder for each part."""
    index = {"_class_name": chosen.__name__, "_diffusers_version": diffusers.__version__}
    optional = {p for p in getattr(chosen, "_optional_components", ()) if not p.startswith(("tokenizer", "text_encoder"))}
    hints = typing.get_type_hints(chosen.__init__)
    for part, parameter in inspect.signature(chosen.__init__).parameters.items():
        if part == "self":
            continue
        if part not in hints or isinstance(parameter.default, (bool, int, str)):
            continue
        kind = part_class(part, hints[part])
        if part in optional or kind is None:
            index[part] = [None, None]
            continue
        sizes = next((v for (begin, p), v in PIPELINE_SIZES.items() if p == part and chosen.__name__.startswith(begin)), None)
        index[part] = [kind.__module__.split(".")[0], save_part(kind, folder / part, sizes)]
    if "requires_safety_checker" in inspect.signature(chosen.__init__).parameters:
        index["requires_safety_checker"] = False
    (folder / "model_index.json").write_text(json.dumps(index, indent=2) + "\n")


def part_class(part, annotation):
    """The class of a part; for a union the first that can be made."""
    choices = typing.get_args(annotation) or (annotation,)
    if part == "scheduler":
        import diffusers

        named = [c for c in choices if inspect.isclass(c) and c.__name__ in vars(diffusers) or hasattr(diffusers, getattr(c, "__name__", ""))]
        return next((c for c in named if c.__name__ != "KarrasDiffusionSchedulers"), None) or diffusers.DDIMScheduler
    return next((c for c in choices if inspect.isclass(c) and c is not type(None)), None)


def save_part(kind, folder, sizes):
    """Writes one part; returns the name of its class."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind.__module__.startswith("diffusers"):
        make_part(kind, folder, sizes)
        return kind.__name__
    from . import tokens
    from .architectures import class_named, tiny_config

    if kind.__name__ in TOKENIZER_TYPES:
        tokens.make_tokenizer(TOKENIZER_TYPES[kind.__name__], folder, {"name": "", "architecture": None, "tokenizer_classes": [kind.__name__]})
        return kind.__name__
    model_class = class_named(kind.__name__)
    config = tiny_config(model_class.config_class, text_facts(model_class))
    model_class(config).eval().save_pretrained(folder)
    return kind.__name__


def text_facts(model_class):
    """A text encoder knows as many tokens as the tokenizer beside it."""
    import tempfile
    from pathlib import Path

    from . import tokens

    model_type = model_class.config_class.model_type.replace("_text_model", "").replace("_vision_model", "")
    with tempfile.TemporaryDirectory() as place:
        return tokens.make_tokenizer(model_type, Path(place), {"name": "", "architecture": None, "tokenizer_classes": []})
