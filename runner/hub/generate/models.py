"""Model repositories: which one a name means, and its files.

Not here: tokenizers (tokens.py), processors (processors.py), libraries beside transformers
(others.py).
"""

import re
import sys
import traceback

from . import heads, labels, names, others, processors, saving, tokens
from .architectures import class_named, config_types, tiny_config
from .common import found, listing, missing, seed_everything
from .hints import hints_for, trees_of

# A model of two parts writes with the tokenizer of its decoder (architectures.py).
TEXT_TYPES = {"vision-encoder-decoder": "gpt2", "encoder-decoder": "bert", "speech-encoder-decoder": "bert"}
_NO_WEIGHTS = re.compile(r"no-?model|config-?only|without-?weights|no-?weights|tokenizer-?only")


def make_model(name, revision, file, folder, source):
    """The answer for a model's repository, with each file that transformers saves for it."""
    hints = hints_for(name, trees_of(source))
    if (gone := names.absent(name, revision, hints)) is not None:
        return missing(*gone)
    decision = names.decide(name, hints)
    if decision is None:
        return missing("no rule knows this name, and the source does not say what it is")
    decision.seed = names.seed_word(name, revision)
    seed_everything(decision.seed)
    if decision.library != "transformers":
        answer = others.make(decision, name, file, folder, source, hints)
        if "files" not in answer or decision.library == "diffusers":  # whose parts have folders of their own
            return answer
    else:
        answer = make_transformers(decision, name, folder, hints)
    return {**answer, "files": add_subfolders(folder, hints.subfolders)}


def add_subfolders(folder, subfolders):
    """The same files below each folder that the source loads the repository from."""
    for path in [f for f in folder.iterdir() if f.is_file()] if subfolders else []:
        for subfolder in sorted(s for s in subfolders if re.fullmatch(r"[\w.-]+", s)):
            (folder / subfolder).mkdir(exist_ok=True)
            (folder / subfolder / path.name).write_bytes(path.read_bytes())
    return listing(folder)


def make_transformers(decision, name, folder, hints):
    """One model of transformers with its tokenizer and processor."""
    architecture = heads.choose(decision, name, hints)
    if decision.sentence in ("SentenceTransformer", "SetFitModel"):  # embeddings have no head
        architecture = heads.first_class("AutoModel", decision.model_type) or architecture
    model_class = class_named(architecture) if architecture else None
    config_class = getattr(model_class, "config_class", None) or config_types()[decision.model_type]
    model_type = config_class.model_type
    want = {"name": name, "architecture": architecture, "tokenizer_classes": tokenizer_classes(hints)}
    text_type = TEXT_TYPES.get(model_type, model_type)
    facts = attempt(lambda: tokens.make_tokenizer(text_type, folder, want), "tokenizer")
    seed_everything(decision.seed)
    overrides = config_overrides(model_class, model_type, decision)
    if stated := labels.labels_for(name, hints, architecture):
        overrides.update(labels.fields_for(stated))
    config = tiny_config(config_class, facts, overrides)
    config.architectures = [architecture] if architecture else None
    config.save_pretrained(folder)
    why = decision.why
    if model_class is not None and not _NO_WEIGHTS.search(name.lower()):
        candidates = heads.classes_with_head(architecture, model_type, hints)
        if (problem := save_weights(candidates, config, folder, name, facts)) is not None:
            why = f"{why}; no weights: {problem}"
    written = attempt(lambda: processors.make_processor(model_type, folder, config, facts), "processor")
    task = heads.task_of(architecture) if architecture else None
    library = "transformers"
    if decision.sentence:
        others.add_sentence_files(decision, config, folder, name)
        library, task = "sentence-transformers", "sentence-similarity"
    made = ", ".join([architecture or config_class.__name__, *(written or [])])
    tags = sorted({library, "transformers", "safetensors", model_type})
    return found(folder, made, why, pipeline_tag=task, library_name=library, tags=tags)


def save_weights(candidates, config, folder, name, facts):
    """Why there are none; None where there are. Tests of configs and tokenizers need none. The last
    candidate is the class that the config names."""
    try:
        *with_head, own = map(class_named, candidates)
        chosen = next((c for c in with_head if saving.has_all_of(c, own, config)), own)
        saving.save(chosen, config, folder, name, facts)
    except (MemoryError, OSError):  # the machine's trouble, not the class's: an answer would be kept
        raise
    except Exception as error:
        traceback.print_exc()
        for path in folder.glob("*.safetensors*"):
            path.unlink()
        return f"{type(error).__name__}: {error}"[:300]
    if chosen is not own:
        saving.patch_json(folder / "config.json", {"architectures": [own.__name__]})
    saving.drop_unread_inputs(own, folder)
    return None


def attempt(make, part):
    """A repository without its tokenizer or processor is of more use than none."""
    try:
        return make()
    except Exception as error:
        print(f"no {part}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def tokenizer_classes(hints):
    """The tokenizers that the source loads from this repository, the most frequent first."""
    return [w for w in hints.ranked() if "Tokenizer" in w and not w.startswith("Auto") and w[:1].isupper()]


def config_overrides(model_class, model_type, decision):
    """Fields that the head asks for."""
    overrides = {}
    name = model_class.__name__ if model_class is not None else ""
    masked = heads.classes_of("AutoModelForMaskedLM").get(model_type)
    if name in heads.classes_of("AutoModelForCausalLM").get(model_type, ()) and masked:
        overrides["is_decoder"] = True
    if name == "ReformerModelWithLMHead":
        overrides["is_decoder"] = True
    if decision.sentence == "CrossEncoder":
        overrides["num_labels"] = 1
    return overrides


def make_file(name, file, folder, made):
    """The answer for a file that the repository does not have yet: the same weights in another
    format, where the name of the file says which."""
    if file and saving.convert(folder, file):
        return {**found(folder, made["class"], made["why"]), "info": made["info"]}
    return missing(f"{name} has no {file}")
