"""Image processors, feature extractors, video processors and processors, in a model's sizes.

Not here: tokenizers (tokens.py).
"""


def make_processor(model_type, folder, config, facts):
    """Writes what belongs to `model_type` beside its config and tokenizer. `facts`: as
    make_tokenizer returned them, or None. Returns the names of the classes written."""
    return []
