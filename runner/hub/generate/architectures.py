"""Configs of tiny models for each class that the installed transformers has.

Not here: the values of fields (shapes.py), and the weights (models.py).
"""

import inspect

from . import shapes
from .exceptions import EXCEPTIONS, REQUIRED, SUB_EXCEPTIONS


def config_types():
    """Model type → config class, without importing the classes before they are asked for."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return CONFIG_MAPPING


def class_named(name):
    """A class of the installed transformers; None where it has none of that name, or lacks what
    the class needs."""
    import transformers

    try:
        found = getattr(transformers, name, None)
    except Exception:
        return None
    if found is None or not inspect.isclass(found) or "DummyObject" in type(found).__name__:
        return None
    return found


def _is_config(value):
    return hasattr(value, "to_dict") and hasattr(value, "model_type")


def fields_of(config):
    """The config's own fields. Sub-configs stay objects."""
    fields = {k: v for k, v in vars(config).items() if not k.startswith("_")}
    if hasattr(config, "_out_features"):  # a backbone's, which are properties
        fields["out_indices"], fields["out_features"] = list(config.out_indices), list(config.out_features)
    return {k: v for k, v in fields.items() if k not in ("transformers_version", "dtype", "torch_dtype")}


def shrink(config, facts=None, overrides=None):
    """A tiny config of the same class. `facts`: as make_tokenizer returns them, or None."""
    fields = fields_of(config)
    new = shapes.shrink_fields({k: v for k, v in fields.items() if not _is_config(v)}, facts)
    arguments = {}
    for name, old in fields.items():
        if _is_config(old):
            arguments[name] = shrink(old, facts, SUB_EXCEPTIONS.get((config.model_type, name)))
        elif name in new and new[name] != old:
            arguments[name] = new[name]
    arguments.update({k: v for k, v in new.items() if k not in fields})
    if "backbone_config" in fields and (fields.get("backbone") or fields.get("use_timm_backbone") or is_of_timm(fields["backbone_config"])):
        arguments["backbone_config"] = backbone()
    arguments.update(EXCEPTIONS.get(config.model_type, {}))
    arguments.update(overrides or {})
    return rebuild(config, arguments)


def rebuild(config, arguments):
    """The class made anew with some fields changed; sub-configs are passed as the class expects."""
    kept = {k: v for k, v in fields_of(config).items() if _is_config(v) or k in arguments or k == "out_features"}
    kept.update(arguments)
    for name in ("out_indices", "stage_names"):  # the class makes them of the features
        kept.pop(name, None)
    aliases = getattr(config, "attribute_map", {})
    parameters = inspect.signature(type(config).__init__).parameters
    for alias, name in aliases.items():
        if name in kept and name not in parameters and alias in parameters:
            kept[alias] = kept.pop(name)
    as_dicts = {k: as_dict(v) if _is_config(v) else v for k, v in kept.items()}
    try:
        return type(config)(**as_dicts)
    except (TypeError, AttributeError, ValueError):
        return type(config)(**kept)


def as_dict(config):
    """Without the name of a repository, which some classes would load the part from."""
    return {k: v for k, v in config.to_dict().items() if k != "_name_or_path"}


def is_of_timm(config):
    return getattr(config, "model_type", None) == "timm_backbone"


def backbone():
    """A small ResNet for models that take any backbone; the default would need timm."""
    from transformers import ResNetConfig

    return ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )  # fmt: skip


def tiny_config(config_class, facts=None, overrides=None):
    """A tiny config of the class. `facts`: the tokenizer's, or None. `overrides`: fields that the
    repository's name sets."""
    maker = COMPOSITES.get(config_class.model_type)
    config = maker(config_class, facts) if maker else shrink(default_config(config_class), facts)
    return type(config).from_dict({**config.to_dict(), **overrides}) if overrides else config


def default_config(config_class):
    """Some classes have required arguments that a test would pass."""
    return config_class(**REQUIRED.get(config_class.model_type, {}))


def _tiny(model_type, facts, **overrides):
    return tiny_config(config_types()[model_type], facts, overrides)


def _decoder(model_type, facts):
    return _tiny(model_type, facts, is_decoder=True, add_cross_attention=True)


def _encoder_decoder(config_class, facts):
    return config_class.from_encoder_decoder_configs(_tiny("bert", facts), _decoder("bert", facts))


def _vision_encoder_decoder(config_class, facts):
    return config_class.from_encoder_decoder_configs(_tiny("vit", None), _decoder("gpt2", facts))


def _speech_encoder_decoder(config_class, facts):
    return config_class.from_encoder_decoder_configs(_tiny("wav2vec2", None), _decoder("bert", facts))


def _dual_encoder(config_class, facts):
    width = shapes.WIDTH
    return config_class.from_vision_text_configs(_tiny("vit", None), _tiny("bert", facts), projection_dim=width)


def _musicgen(config_class, facts):
    codebook = {"vocab_size": 64, "pad_token_id": 64, "bos_token_id": 64, "num_codebooks": 2}
    decoder = tiny_config(config_class.sub_configs["decoder"], None, codebook)
    audio = _tiny("encodec", None, codebook_size=64, sampling_rate=32000)
    parts = {"text_encoder": _tiny("t5", facts), "audio_encoder": audio, "decoder": decoder}
    return config_class(**{name: part.to_dict() for name, part in parts.items()})


def _rag(config_class, facts):
    parts = _tiny("dpr", facts), _tiny("bart", facts)
    return config_class.from_question_encoder_generator_configs(*parts, n_docs=2)


COMPOSITES = {
    "encoder-decoder": _encoder_decoder,
    "vision-encoder-decoder": _vision_encoder_decoder,
    "speech-encoder-decoder": _speech_encoder_decoder,
    "vision-text-dual-encoder": _dual_encoder,
    "musicgen": _musicgen,
    "musicgen_melody": _musicgen,
    "rag": _rag,
}
