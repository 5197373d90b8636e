"""Names of classes, of models that classify: what the test states, or those of a public data set
whose name the repository's has.

Not here: how many classes a head has otherwise: two, as transformers' configs.
"""

import re

_CONLL = ("O", "B-MISC", "I-MISC", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC")

# A word of the name → end of the class's name, labels in the order that their public cards list.
DATASETS = {
    "conll03": ("ForTokenClassification", _CONLL),
    "conll2003": ("ForTokenClassification", _CONLL),
    "conll": ("ForTokenClassification", _CONLL),
    "ner": ("ForTokenClassification", _CONLL),
    "token": ("ForTokenClassification", _CONLL),
    "sst": ("ForSequenceClassification", ("NEGATIVE", "POSITIVE")),
    "sst2": ("ForSequenceClassification", ("NEGATIVE", "POSITIVE")),
    "mnli": ("ForSequenceClassification", ("contradiction", "neutral", "entailment")),
    "nli": ("ForSequenceClassification", ("contradiction", "entailment", "neutral")),
    "xnli": ("ForSequenceClassification", ("contradiction", "neutral", "entailment")),
    "emotion": ("ForSequenceClassification", ("sadness", "joy", "love", "anger", "fear", "surprise")),
    "imdb": ("ForSequenceClassification", ("NEGATIVE", "POSITIVE")),
    "mrpc": ("ForSequenceClassification", ("not_equivalent", "equivalent")),
}


def labels_for(name, hints, architecture):
    """The labels in order; None where only their number is known."""
    if not architecture or "Classification" not in architecture:
        return None
    if hints.labels:
        return list(hints.labels)
    for word in re.split(r"[^a-z0-9]+", name.lower()):
        end, labels = DATASETS.get(word, (None, None))
        if end and architecture.endswith(end):
            return list(labels)
    return None


def fields_for(labels):
    """The fields of a config."""
    return {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
