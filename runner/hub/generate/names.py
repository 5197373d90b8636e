"""Which model a repository's name means, by rules that hold for any suite.

    1. the suite's hub.names.json
    2. an adapter                             opt-350m-lora
    3. a class that the name spells           tiny-random-BertForMaskedLM
    4. other libraries' words and classes     stable-diffusion
    5. classes that the source loads it with  BertForMaskedLM.from_pretrained("x")
    6. checkpoints that transformers documents
    7. a model type or a known family that the name spells
    8. a folder of the tests named like a model type
    9. the default of an Auto class or a task that the source uses it for

A name that a test expects to be absent stays absent.

Not here: reading the source (hints.py), making the model (models.py).
"""

import dataclasses
import functools
import importlib.util
import pathlib
import re

from . import families
from .architectures import class_named, config_types

_ABSENT_WORDS = re.compile(
    r"non-?_?exist|does-?_?not-?_?exist|doesnt-?exist|not-?_?found|no-?such|missing-?repo|not-?a-?(real|valid)"
)
_ABSENT_ERRORS = ("not a valid model identifier", "RepositoryNotFound", "is not a local folder", "HFValidationError",
                  "Repository Not Found", "404")  # fmt: skip
_REVISION_ERRORS = ("is not a valid git identifier", "RevisionNotFound")
_GATED_ERRORS = ("GatedRepo", "gated repo", "You are trying to access a gated")
# Commits, and branches and tags that hubs commonly have.
_USUAL_REVISION = re.compile(r"main|master|HEAD|refs/.+|[0-9a-f]{7,40}|v?\d[\w.]*|fp16|bf16|fp32|float16|onnx|flax")


@dataclasses.dataclass
class Decision:
    """One thing to make. `architecture`: a class of the library, or empty for the type's own head."""

    library: str  # transformers, diffusers, timm, peft
    model_type: str = ""
    architecture: str = ""
    why: str = ""
    exact: bool = False  # the class itself, also if it is one without a head
    sentence: str = ""  # the sentence-transformers class that loads it
    word: str = ""  # of the name, that spells the class
    auto: str = ""  # the auto class whose head it has
    seed: str = ""  # other revisions have other weights


def absent(name, revision, hints):
    """Why there is no such repository, and the status; None if there may be one."""
    if not hints.stated and _ABSENT_WORDS.search(name.lower()):
        return "the name says that it does not exist", 404
    if any(word in message for message in hints.raised for word in _GATED_ERRORS):
        return "a test expects that it is gated", 403
    if hints.uses and len(hints.raised) == hints.uses:
        if any(word in message for message in hints.raised for word in _ABSENT_ERRORS):
            return "a test expects that it does not exist", 404
    known = revision is None or _USUAL_REVISION.fullmatch(revision)
    if not known and revision not in hints.revisions:
        return f"no revision {revision}: the source names none", 404
    if any(word in message for message in hints.raised for word in _REVISION_ERRORS):
        if not known or re.fullmatch(r"(.)\1+", revision):
            return f"a test expects that revision {revision} does not exist", 404
    return None


def decide(name, hints):
    """The model that the name means; None if no rule knows it."""
    rules = (_by_statement, _by_adapter, _by_spelled_class, _by_other_library, _by_loaded_class, _by_document,
             _by_spelled_type, _by_folder, _by_default)  # fmt: skip
    for rule in (_by_other_library,) if hints.stated and _is_diffusers(hints.stated) else rules:
        decision = rule(name, hints)
        if decision is not None:
            decision.sentence = _sentence_class(name, hints)
            decision.seed = name
            if hints.stated and hints.stated not in (decision.architecture, decision.sentence):
                decision.why += f"; hub.names.json states {hints.stated}, which the installed packages lack"
            return decision
    return None


def decide_plain(name):
    """The meaning of a name that is no adapter's, by its words alone; None if no rule knows it."""
    if is_adapter(name):
        return _by_spelled_class(name, None)
    for rule in (_by_spelled_class, _by_document, _by_spelled_type):
        if (decision := rule(name, None)) is not None:
            return decision
    return None


def seed_word(name, revision):
    """The weights of a commit, and those in another precision, are the main ones."""
    is_main = revision is None or re.fullmatch(r"main|master|HEAD|[0-9a-f]{40}|fp16|bf16|fp32|float16|onnx|flax", revision)
    return name if is_main else f"{name}@{revision}"


def _is_model(found):
    return found is not None and hasattr(found, "from_pretrained") and getattr(found, "config_class", None) is not None


def _by_statement(name, hints):
    """A class of another library than transformers is that of a rule below, which sees it in the hints."""
    found = class_named(hints.stated) if hints.stated else None
    if not _is_model(found):
        return None
    why = f"hub.names.json states {hints.stated}"
    return Decision("transformers", found.config_class.model_type, hints.stated, why, exact=True)


def _by_spelled_class(name, hints):
    words = re.findall(r"[A-Z][A-Za-z0-9_]{3,}", name.rsplit("/", 1)[-1])
    for word in sorted(words, key=len, reverse=True):
        found = class_named(word)
        if _is_model(found):
            model_type = found.config_class.model_type
            return Decision("transformers", model_type, word, f"the name spells {word}", exact=True, word=word)
    return _by_spelled_auto(words)


def _by_spelled_auto(words):
    """T5ForSeq2SeqLM: a type and the head of an auto class, where no class has that name."""
    for word in words:
        base, _, head = word.partition("For")
        model_type = getattr(class_named(base + "Config"), "model_type", None)
        if head and model_type in config_types():
            auto = "AutoModel" if head == "FeatureExtraction" else "AutoModelFor" + head
            return Decision("transformers", model_type, why=f"the name spells {word}", auto=auto, word=word)
    return None


ADAPTER_WORDS = {"lora", "qlora", "dora", "adalora", "loha", "lokr", "peft", "adapter", "adapters", "ia3"}


def is_adapter(name):
    """Whether a word of the name says so."""
    return bool(ADAPTER_WORDS & set(re.split(r"[^a-z0-9]+", name.rsplit("/", 1)[-1].lower())))


def _by_adapter(name, hints):
    if "Adapter" in hints.classes:
        return Decision("peft", why="the source loads it as an adapter")
    if is_adapter(name):
        return Decision("peft", why="the name says adapter")
    return None


def _by_other_library(name, hints):
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    for word in hints.ranked():
        if _is_diffusers(word):
            return Decision("diffusers", architecture=word, why=f"the source loads it with {word}")
    if "stable-diffusion" in name.lower() or words & {"diffusers", "sdxl", "flux", "unet", "ddpm", "ldm"}:
        return Decision("diffusers", why="the name is a diffusion model's")
    if name.startswith("timm/"):
        return Decision("timm", why="the owner is timm")
    return None


def _is_diffusers(word):
    """A class that diffusers has and transformers has not; without diffusers, one named like it."""
    if class_named(word) is not None or not word[:1].isupper():
        return False
    if importlib.util.find_spec("diffusers") is None:
        return word.endswith(("Pipeline", "Scheduler")) or word.startswith(("UNet", "AutoencoderKL", "ControlNet"))
    import diffusers

    return hasattr(getattr(diffusers, word, None), "from_pretrained")


def _by_loaded_class(name, hints):
    """The class whose type the name also spells, else the one that loads it most often."""
    found = [(w, class_named(w)) for w in hints.ranked()]
    models = [(w, c) for w, c in found if _is_model(c) and c.config_class.model_type]
    spelled = {t for t, _ in spelled_types(name)}
    preferred = [m for m in models if m[1].config_class.model_type in spelled] or ([] if spelled else models)
    documented = documented_type(name)
    preferred = [m for m in models if m[1].config_class.model_type == documented] or preferred
    if not preferred:
        return _by_loaded_config(found, spelled)
    word, cls = max(preferred, key=lambda m: ("For" in m[0] or "Head" in m[0], hints.classes[m[0]]))
    return Decision("transformers", cls.config_class.model_type, word, f"the source loads it with {word}")


def _by_loaded_config(found, spelled):
    """A config's class, or a tokenizer's or processor's that belongs to one type."""
    for word, cls in found:
        model_type = getattr(cls, "model_type", None)
        if not isinstance(model_type, str) or not model_type:
            model_type = type_of_helper(word)
        if model_type in config_types() and (not spelled or model_type in spelled):
            return Decision("transformers", model_type, "", f"the source loads it with {word}")
    return None


def type_of_helper(word):
    """The model type of BertTokenizerFast, ViTImageProcessor and the like; None if there is no one."""
    base = re.sub(r"(Tokenizer|ImageProcessor|FeatureExtractor|VideoProcessor|Processor)(Fast)?\Z", "", word)
    if base == word or base in ("", "Auto"):
        return None
    config = class_named(base + "Config")
    return getattr(config, "model_type", None)


def _by_document(name, hints):
    model_type = documented_type(name)
    if model_type is None:
        return None
    return Decision("transformers", model_type, "", f"transformers documents it for {model_type}")


def _by_spelled_type(name, hints):
    types = spelled_types(name)
    if not types:
        return None
    model_type, word = types[0]
    experts = next((t for t in (f"{model_type}_moe", f"{model_type}moe") if t in config_types()), None)
    if experts and re.search(r"\d+b-a\d+(\.\d+)?b", name.lower()):  # active parameters of all
        model_type = experts
    return Decision("transformers", model_type, "", f"the name spells {word}")


def _by_folder(name, hints):
    for path in hints.paths:
        parts = pathlib.PurePath(path).parts
        if "models" in parts[:-1]:
            folder = parts[parts.index("models") + 1]
            for model_type in (folder, folder.replace("_", "-")):
                if model_type in config_types():
                    return Decision("transformers", model_type, "", f"the tests of {folder} ask for it")
    return None


def _by_default(name, hints):
    for task in hints.tasks:
        plain = re.sub(r"_[a-z]+_to_[a-z]+\Z", "", task)
        if plain in families.TASK_DEFAULTS:
            return Decision("transformers", families.TASK_DEFAULTS[plain], "", f"the default for the task {plain}")
    for word in hints.ranked():
        if word in families.AUTO_DEFAULTS:
            return Decision("transformers", families.AUTO_DEFAULTS[word], "", f"the default for {word}")
    if name.startswith(("sentence-transformers/", "cross-encoder/")):
        return Decision("transformers", "bert", "", "the default of the owner")
    if re.search(r"embed(ding)?|sentence|rerank|bi-?encoder|cross-?encoder", name.lower()):
        return Decision("transformers", "bert", "", "the name is of an encoder of texts")
    return None


def _sentence_class(name, hints):
    for word in ("CrossEncoder", "SparseEncoder", "SentenceTransformer", "SetFitModel"):
        if word in hints.classes:
            return word
    owners = {"sentence-transformers": "SentenceTransformer", "cross-encoder": "CrossEncoder"}
    return owners.get(name.split("/")[0], "")


def documented_type(name):
    """The type that transformers documents the checkpoint for; the one that it spells, if several."""
    types = documents().get(name, ())
    spelled = {t for t, _ in spelled_types(name)}
    return next((t for t in types if t in spelled), types[0] if types else None)


@functools.cache
def documents():
    """Checkpoint → model types, as the docstrings of the installed config classes link them, or
    as the decorator that writes them gets the name."""
    import transformers

    found = {}
    root = pathlib.Path(transformers.__file__).parent / "models"
    for file in sorted(root.glob("*/configuration_*.py")):
        text = file.read_text(errors="replace")
        types = re.findall(r'^    model_type = "([^"]+)"', text, re.M)
        whole = next((t for t in types if t.replace("-", "_") == file.parent.name), types[-1] if types else None)
        links = re.findall(r"\]\(https://huggingface\.co/([\w.-]+(?:/[\w.-]+)?)\)", text)
        for link in [*links, *re.findall(r'@auto_docstring\(checkpoint="([\w./-]+)"', text)]:
            if whole and whole not in found.setdefault(link, []):
                found[link].append(whole)
    for link in [n for n in found if "/" in n]:
        found.setdefault(link.split("/", 1)[1], found[link])
    return found


def squash(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


@functools.cache
def _spellings():
    types = [t for t in config_types().keys() if len(squash(t)) > 1]
    # Names of checkpoints leave out how the experts are called: Qwen3-Omni-30B-A3B.
    table = {squash(t.removesuffix("_moe")): t for t in types}
    table.update({squash(t): t for t in types})
    table.update(families.FAMILIES)
    return table


def spelled_types(name):
    """Model types that the last part of the name spells, with the word: the first in the name first,
    and the longest at each place. A word begins where letters begin and ends before one."""
    text = name.rsplit("/", 1)[-1].lower()
    plain = [c.isalnum() for c in text]
    squashed = "".join(c for c, keep in zip(text, plain) if keep)
    places = [i for i, keep in enumerate(plain) if keep]
    found = []
    for start in range(len(squashed)):
        at = places[start]
        if at > 0 and plain[at - 1] and not (text[at - 1].isdigit() and text[at].isalpha()):
            continue
        best = None
        for end in range(start + 2, len(squashed) + 1):
            word = squashed[start:end]
            if word in _spellings() and _ends(text, places, end, word):
                best = word
        if best:
            found.append((_spellings()[best], best))
    return found


def _ends(text, places, end, word):
    if end == len(places):
        return True
    last = places[end - 1]
    following = text[last + 1]
    if not following.isalnum():
        return True
    return following.isdigit() if word[-1].isalpha() else following.isalpha()
