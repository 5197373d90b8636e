"""Sizes that a model's config has in itself or in one of its parts, for what prepares the model's input.

Not here: how they fit a class (processors.py).
"""

PARTS = ("vision_config", "audio_config", "image_config", "video_config", "encoder", "audio_encoder", "thinker_config",
         "speech_encoder", "encoder_config", "backbone_config", "vq_config", "text_config", "decoder")


def parts(config):
    """The config, then its parts and theirs."""
    found, at = [config], 0
    while at < len(found):
        for name in PARTS:
            part = getattr(found[at], name, None)
            if hasattr(part, "to_dict") and all(part is not other for other in found):
                found.append(part)
        at += 1
    return found


def first(config, *names):
    """The first value of the first name that the config or a part of it has."""
    for part in parts(config):
        for name in names:
            value = getattr(part, name, None)
            if value is not None:
                return value
    return None


def number(config, *names):
    """As first, one number: of a list or a mapping, the last."""
    value = first(config, *names)
    if isinstance(value, dict):
        value = next(reversed(value.values()), None)
    if isinstance(value, (list, tuple)):
        value = value[-1] if value else None
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def patches(config):
    """How many patches a picture of the config's size has, or None."""
    side, patch = number(config, "image_size"), number(config, "patch_size")
    return (side // patch) ** 2 if side and patch else None
