"""Kinds of columns of a dataset, and values drawn for them.

A kind is a name of KINDS, `label:a|b` (one of these classes), `labels:a|b` (one for each token), a list of one
kind, or a mapping of names to kinds. Not here: which dataset has which columns (dataset_source.py, datasets.json).
"""

import random
import re

from ..common import seed_of
from ..text import pieces
from . import drawing, sounds

# The first pattern that a column's name matches says its kind, where only the tests' source names it.
BY_NAME = (
    (r"(.*_)?(image|img|picture|photo|png|jpg|pixel_values)s?(_?\d+)?", "image"),
    (r"(.*_)?(masks?|annotation|annotated|segmentation(_map)?|semantic_seg|scene_category_map)(_?\d+)?", "mask"),
    (r"(.*_)?(audio|speech|wav|sound)(_?\d+)?", "audio"),
    (r"(.*_)?(video|mp4)", "binary"),
    (r"(tokens|words|pos|sentence_tokens)", ["word"]),
    (r"(ner|pos|chunk)_tags", "labels:O|B-PER|I-PER|B-ORG|I-ORG|B-LOC|I-LOC|B-MISC|I-MISC"),
    (r"(bboxes|boxes|bbox)", [["small"]]),
    (r"answers", {"text": ["answer"], "answer_start": ["zero"]}),
    (r"translation", {"en": "text", "de": "text", "fr": "text", "ro": "text"}),
    (r"objects", {"id": ["int"], "area": ["int"], "bbox": [["small"]], "category": ["small"]}),
    (r"(conversations?|messages|chosen|rejected)", [{"role": "role", "content": "text"}]),
    (r"(label|labels|coarse_label|fine_label|target|class|lang_id|intent_class)", "label:0|1"),
    (r"(.*_)?(similarity_)?(score|similarity|rating|stars|value|duration|logits?)", "float"),
    (r"(id|.*_id|uid|key|file|path|filename|title|name)", "name"),
    (r"(idx|index|.*_index|num_.*|.*_count|length|year|age|seconds|height|width|sampling_rate)", "int"),
    (r"(is|has)_.*", "bool"),
    (r"(embeddings?|vector|features?|.*_embeddings?)", ["float"]),
    (r"(choices|options|endings|references|captions|texts|queries)", ["text"]),
    (r"(input_ids|attention_mask|token_type_ids)", ["int"]),
)


def kind_of(name):
    """The kind of a column by its name; text where no pattern matches."""
    return next((kind for pattern, kind in BY_NAME if re.fullmatch(pattern, name.lower())), "text")


def sentence(chosen):
    return chosen.choice([line for line in pieces.lines() if line.isascii()])


class Row:
    """Where a value stands: the values of a row agree in their number of tokens."""

    def __init__(self, dataset, split, number):
        self.name, self.number = f"{dataset}/{split}/{number}", number
        self.chosen = random.Random(seed_of(self.name))
        self.tokens = sentence(random.Random(seed_of(self.name))).split()[:12]


def picture(row, column, maker, suffix="jpg"):
    name = f"{row.name}/{column}"
    return {"bytes": drawing.encode(maker(name), suffix), "path": f"{column}_{row.number}.{suffix}"}


def audio(row, column):
    values = sounds.samples(f"{row.name}/{column}", 2.0 + row.number % 3)
    return {"bytes": sounds.wav(values), "path": f"{column}_{row.number}.wav"}


# Each kind: the type of its values, how one is drawn from a row and the column's name.
KINDS = {
    "text": ("string", lambda row, column: sentence(row.chosen)),
    "word": ("string", lambda row, column: row.chosen.choice(row.tokens)),
    "answer": ("string", lambda row, column: row.tokens[0]),
    "name": ("string", lambda row, column: f"{column}-{row.number}"),
    "role": ("string", lambda row, column: row.chosen.choice(("user", "assistant"))),
    "int": ("int64", lambda row, column: row.number),
    "zero": ("int64", lambda row, column: 0),
    "small": ("int64", lambda row, column: row.chosen.randrange(1, 90)),
    "float": ("float64", lambda row, column: round(row.chosen.random(), 3)),
    "bool": ("bool", lambda row, column: row.number % 2 == 0),
    "binary": ("binary", lambda row, column: row.name.encode()),
    "image": ("image", lambda row, column: picture(row, column, lambda n: drawing.scene(n, drawing.COCO))),
    "small_image": ("image", lambda row, column: picture(row, column, lambda n: drawing.scene(n, (32, 32)))),
    "digit_image": ("image", lambda row, column: picture(row, column, lambda n: drawing.scene(n, (28, 28)).convert("L"))),
    "page_image": ("image", lambda row, column: picture(row, column, lambda n: drawing.page(n, drawing.PAGE))),
    "mask": ("image", lambda row, column: picture(row, column, lambda n: drawing.mask(n, drawing.COCO, 8), "png")),
    "audio": ("audio", audio),
}


def unknown_kinds(kind):
    """The names in a kind that are none."""
    if isinstance(kind, (dict, list)):
        for inner in kind.values() if isinstance(kind, dict) else kind:
            yield from unknown_kinds(inner)
    elif kind not in KINDS and not kind.startswith(("label:", "labels:")):
        yield kind


def names_of(kind):
    return kind.split(":", 1)[1].split("|")


def value(kind, row, column):
    if isinstance(kind, dict):
        return {name: value(inner, row, name) for name, inner in kind.items()}
    if isinstance(kind, list):
        number = len(row.tokens) if kind in (["word"], [["small"]]) else 1 if kind in (["answer"], ["zero"]) else 4 if kind == ["small"] else 3
        found = [value(kind[0], row, column) for _ in range(number)]
        return row.tokens if kind == ["word"] else sorted(found) if kind == ["small"] else found
    if kind.startswith("label:"):
        return row.number % len(names_of(kind))
    if kind.startswith("labels:"):
        return [row.chosen.randrange(len(names_of(kind))) for _ in row.tokens]
    return KINDS[kind][1](row, column)


def is_heavy(kind):
    """Whether a value has some kilobytes: then a split has few rows."""
    if isinstance(kind, dict):
        return any(is_heavy(inner) for inner in kind.values())
    if isinstance(kind, list):
        return is_heavy(kind[0])
    return kind in ("image", "page_image", "mask", "audio")
