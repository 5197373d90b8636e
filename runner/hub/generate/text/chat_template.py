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
    end = processor.tokenizer.eos_token
    return template(str(end) if end else "", {kind: token for kind, token in media.items() if token})


def is_wanted(model_type):
    """Whether models of the type write text: then people talk with some of them."""
    from transformers.models.auto import modeling_auto

    tables = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES")
    masked = getattr(modeling_auto, "MODEL_FOR_MASKED_LM_MAPPING_NAMES", {})
    return model_type not in masked and any(model_type in getattr(modeling_auto, table, {}) for table in tables)
