"""A chat template that any tokenizer or processor can apply: roles in plain text, media as their own tokens."""

TEXT = (
    "{% for message in messages %}"
    "{{ '[' + message['role'] + ']: ' }}"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% elif message['content'] %}{% for part in message['content'] %}PARTS{% endfor %}{% endif %}"
    "{{ END + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant]: ' }}{% endif %}"
)
PART = "{% if part['type'] == 'text' %}{{ part['text'] }}MEDIA{% endif %}"
MEDIUM = "{% elif part['type'] == 'KIND' %}{{ 'TOKEN' }}"
KINDS = ("image", "video", "audio")


def template(end, media):
    """`end`: the token that ends a message, or "". `media`: {"image": its token, …}."""
    branches = "".join(MEDIUM.replace("KIND", kind).replace("TOKEN", token) for kind, token in media.items())
    return TEXT.replace("PARTS", PART.replace("MEDIA", branches)).replace("END", repr(end))


def for_tokenizer(tokenizer):
    media = {kind: str(token) for kind in KINDS if (token := getattr(tokenizer, f"{kind}_token", None))}
    end = getattr(tokenizer, "eos_token", None)
    return template(str(end) if end else "", media)


def for_processor(processor):
    """A processor may know tokens of media that its tokenizer has no name for."""
    owners = (processor, processor.tokenizer)
    media = {kind: next((str(token) for owner in owners if (token := getattr(owner, f"{kind}_token", None))), None) for kind in KINDS}
    media["image"] = image_token(processor, media["image"])
    end = processor.tokenizer.eos_token
    return template(str(end) if end else "", {kind: token for kind, token in media.items() if token})


def image_token(processor, usual):
    """The token that stands for a picture in a text: some, as Gemma 3's, replace the one that begins it."""
    begin = getattr(processor, "boi_token", None) or getattr(processor.tokenizer, "boi_token", None)
    candidates = [str(token) for token in (usual, begin) if token]
    return next((token for token in candidates if takes_picture(processor, token)), usual)


def takes_picture(processor, token):
    from PIL import Image

    try:
        processor(text=[f"{token} a"], images=[[Image.new("RGB", (96, 80))]])
        return True
    except Exception:
        return False


def is_wanted(model_type):
    """Whether models of the type write text: then people talk with some of them."""
    from transformers.models.auto import modeling_auto

    tables = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES")
    masked = getattr(modeling_auto, "MODEL_FOR_MASKED_LM_MAPPING_NAMES", {})
    return model_type not in masked and any(model_type in getattr(modeling_auto, table, {}) for table in tables)
