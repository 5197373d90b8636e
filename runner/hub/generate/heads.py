"""Which head a model has: the class among those of its type, by what the source does with it.

The auto classes of the installed transformers say which classes a type has.

Not here: which type a name means (names.py).
"""

import collections
import functools
import re

from . import families
from .architectures import class_named
from .names import squash

# Auto class → the task that a hub shows for its models. The first that has the type is the type's
# own head: encoders that could also decode come with masks.
TASKS = {
    "AutoModelForSpeechSeq2Seq": "automatic-speech-recognition",
    "AutoModelForSeq2SeqLM": "text2text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForImageTextToText": "image-text-to-text",
    "AutoModelForMultimodalLM": "image-text-to-text",
    "AutoModelForVision2Seq": "image-to-text",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForCTC": "automatic-speech-recognition",
    "AutoModelForTextToWaveform": "text-to-audio",
    "AutoModelForTextToSpectrogram": "text-to-audio",
    "AutoModelForZeroShotObjectDetection": "zero-shot-object-detection",
    "AutoModelForZeroShotImageClassification": "zero-shot-image-classification",
    "AutoModelForTableQuestionAnswering": "table-question-answering",
    "AutoModelForVisualQuestionAnswering": "visual-question-answering",
    "AutoModelForDocumentQuestionAnswering": "document-question-answering",
    "AutoModelForObjectDetection": "object-detection",
    "AutoModelForUniversalSegmentation": "image-segmentation",
    "AutoModelForDepthEstimation": "depth-estimation",
    "AutoModelForVideoClassification": "video-classification",
    "AutoModelForImageClassification": "image-classification",
    "AutoModelForSemanticSegmentation": "image-segmentation",
    "AutoModelForImageToImage": "image-to-image",
    "AutoModelForMaskGeneration": "mask-generation",
    "AutoModelForKeypointMatching": "keypoint-matching",
    "AutoModelForAudioClassification": "audio-classification",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForTokenClassification": "token-classification",
    "AutoModelForQuestionAnswering": "question-answering",
    "AutoModelForMultipleChoice": "multiple-choice",
    "AutoModelForPreTraining": None,
    "AutoModel": "feature-extraction",
}


@functools.cache
def classes_of(auto):
    """Model type → names of classes, of one auto class."""
    mapping = getattr(class_named(auto), "_model_mapping", None)
    names = getattr(mapping, "_model_mapping", {})
    return {t: (n,) if isinstance(n, str) else tuple(n) for t, n in names.items()}


def first_class(auto, model_type):
    """The class that the auto class makes for the type and that can be made here, or None."""
    for name in classes_of(auto).get(model_type, ()):
        if class_named(name) is not None:
            return name
    return None


@functools.cache
def _pipeline_autos():
    """Task → auto classes, as transformers' pipelines use them."""
    try:
        from transformers.pipelines import SUPPORTED_TASKS, TASK_ALIASES
    except ImportError:
        return {}
    table = {t: [c.__name__ for c in d.get("pt", ())] for t, d in SUPPORTED_TASKS.items()}
    table.update({alias: table[t] for alias, t in TASK_ALIASES.items() if t in table})
    return table


def choose(decision, name, hints):
    """The name of the class. A class without a head, which shares its weights with all others, is
    made with the head that pre-training gives it."""
    stated = decision.architecture
    if stated and (decision.exact or _is_complete(stated)):
        return stated
    if decision.auto and (found := first_class(decision.auto, decision.model_type)):
        return found
    if found := _by_use(decision.model_type, hints) or _by_word(decision.model_type, name):
        return found
    if stated:
        whole = first_class("AutoModelForPreTraining", decision.model_type)
        return whole if whole and _extends(whole, stated) else stated
    return default_head(decision.model_type)


def classes_with_head(architecture, model_type, hints):
    """Classes to make a class without a head with, where the source uses one: loading it with such an
    auto class then finds all weights. The best first; the class itself last."""
    used = _by_use(model_type, hints)
    if _is_complete(architecture) or used is None or used == architecture:
        return [architecture]
    whole = first_class("AutoModelForPreTraining", model_type)
    return [*dict.fromkeys(c for c in (whole, used, architecture) if c)]


def _is_complete(name):
    return "For" in name or "Head" in name or "With" in name or name.endswith("MTModel")


def _extends(whole, base):
    return class_named(whole).base_model_prefix == class_named(base).base_model_prefix and base in (
        first_class("AutoModel", class_named(base).config_class.model_type),
    )


def _by_use(model_type, hints):
    """The head of the auto classes and tasks that the source uses, the most frequent one. A type
    with masks is a decoder only where nothing else is asked for."""
    counts = collections.Counter()
    for auto, count in hints.classes.items():
        auto = "AutoModelForMaskedLM" if auto == "AutoModelWithLMHead" else auto
        if auto.startswith("AutoModelFor") and (found := first_class(auto, model_type)):
            counts[found] += count
    for task, count in hints.tasks.items():
        plain = "translation" if task.startswith("translation") else task
        for auto in _pipeline_autos().get(plain, ()):
            if auto != "AutoModel" and (found := first_class(auto, model_type)):
                counts[found] += count
    decoders = classes_of("AutoModelForCausalLM").get(model_type, ())
    if first_class("AutoModelForMaskedLM", model_type) and set(counts) - set(decoders):
        counts = {n: c for n, c in counts.items() if n not in decoders}
    return min(counts, key=lambda n: (-counts[n], n), default=None)


def _by_word(model_type, name):
    words = {squash(w) for w in re.split(r"[-_/.]", name)}
    pairs = re.split(r"[-_/.]", name)
    words |= {squash(a + b) for a, b in zip(pairs, pairs[1:])}
    for word, head in families.NAME_HEADS.items():
        if word in words and (found := first_class("AutoModelFor" + head, model_type)):
            return found
    return None


def default_head(model_type):
    for auto in TASKS:
        if found := first_class(auto, model_type):
            return found
    return None


def task_of(architecture):
    """The task that a hub shows for the class; None where it has none."""
    for auto, task in TASKS.items():
        if any(architecture in names for names in classes_of(auto).values()):
            return task
    return None
