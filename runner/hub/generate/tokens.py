"""Tokenizers of each class that the installed transformers has, trained on a small text of ours.

A class of transformers 5 that builds its own pipeline gets a learned vocabulary (text/class_vocabulary.py);
another reads files (text/slow_files.py). Not here: the model beside it (models.py).
"""

import inspect
import json

from .text import chat_template, class_vocabulary, slow_files, special_tokens

LONGEST = 512
COMPOSED = {"RagTokenizer": (("question_encoder_tokenizer", "dpr"), ("generator_tokenizer", "bart"))}
# Types of two models: the part that reads or writes text, as architectures.py chooses it.
TEXT_PARTS = {"encoder-decoder": "bert", "speech-encoder-decoder": "bert", "vision-encoder-decoder": "gpt2", "vision-text-dual-encoder": "bert"}
GENERAL_CLASSES = ("TokenizersBackend", "PreTrainedTokenizerFast")


def make_tokenizer(model_type, folder, want):
    """Writes the tokenizer's files of the class that belongs to `model_type`. `want`: "name" of the
    repository, "architecture", "tokenizer_classes" that the suite names, or []. Returns
    {"vocab_size": n, "special": {"pad_token_id": n, …, "image_token_id": n, …}}, with the id of
    each special token that a config may name, "generation": settings for a generation config}; None where the type has no
    tokenizer."""
    want = want or {}
    problems = []
    for cls in classes_of(model_type, want):
        try:
            if cls.__name__ in COMPOSED:
                return make_composed(COMPOSED[cls.__name__], folder, want)
            tokenizer = make_instance(cls, model_type, folder, want)
        except Exception as error:  # of a class that needs a package, or a vocabulary that it cannot be given
            problems.append(f"{cls.__name__}: {type(error).__name__}: {error}"[:200])
            continue
        return facts(tokenizer, model_type, problems)
    return None


def make_composed(parts, folder, want):
    """Each part in a folder of its own. The facts are those of the last one, which writes text."""
    made = None
    for name, kind in parts:
        (folder / name).mkdir(exist_ok=True)
        made = make_tokenizer(kind, folder / name, {**want, "tokenizer_classes": []})
    return made


def facts(tokenizer, model_type, problems):
    return {"vocab_size": size(tokenizer), "special": special_tokens.ids(tokenizer, model_type),
            "generation": special_tokens.speech_settings(tokenizer),
            "class": type(tokenizer).__name__, "problems": problems}


def size(tokenizer):
    """len() of a tokenizer makes a table, of a million code points for some."""
    if tokenizer.vocab_size > 100_000:
        return tokenizer.vocab_size
    # M2M100 numbers its languages behind the tokens that it counts.
    others = [number for name in ("lang_token_to_id", "lang_code_to_id") for number in (getattr(tokenizer, name, None) or {}).values()]
    return max([len(tokenizer), *(number + 1 for number in others if isinstance(number, int))])


def classes_of(model_type, want):
    """Classes to try, the best first: named by the suite, mapped to the type or to its text part, the general one."""
    names = [*want.get("tokenizer_classes", ())]
    mapped = [name for kind in types_of(model_type) for name in mapped_names(kind)]
    names += mapped
    if not mapped:
        names += declared_names(model_type)
    if not names and not special_tokens.has_vocabulary(model_type):
        return []
    names += GENERAL_CLASSES
    found = {}
    for name in names:
        cls = class_named(name)
        if cls is None and name.endswith("Fast"):
            cls = class_named(name.removesuffix("Fast"))
        if cls is not None and hasattr(cls, "from_pretrained") and not is_placeholder(cls):
            found[cls] = None
    return list(found)


def is_placeholder(cls):
    """Whether it stands for a class whose package is not installed."""
    return "dummy" in cls.__module__ or hasattr(cls, "_backends") and not hasattr(cls, "vocab_files_names")


def class_named(name):
    import transformers
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    try:
        return tokenizer_class_from_name(name) or getattr(transformers, name, None)
    except Exception:
        return None


def types_of(model_type):
    """The type, then the types of its parts that may read text."""
    top = special_tokens.config_class(model_type)
    parts = special_tokens.parts_of(top)
    found = [model_type, *([TEXT_PARTS[model_type]] if model_type in TEXT_PARTS else [])]
    for name in sorted(parts, key=lambda part: "text" not in part):
        kind = getattr(parts[name], "model_type", "")
        if kind and kind not in found and "vision" not in name and "audio" not in name:
            found.append(kind)
    return found


def mapped_names(kind):
    """Names of the classes that transformers maps to a type: one in 5, slow and fast in 4."""
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    found = TOKENIZER_MAPPING_NAMES.get(kind)
    names = found if isinstance(found, (tuple, list)) else (found,)
    return [name for name in reversed(names) if name]


def declared_names(model_type):
    """Names that the type's processor declares in transformers 4. A processor of CTC models takes letters."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    processor = PROCESSOR_MAPPING_NAMES.get(model_type)
    declared = getattr(special_tokens.class_of_transformers(processor), "tokenizer_class", None)
    names = [name for name in (declared if isinstance(declared, (tuple, list)) else (declared,)) if name and name != "AutoTokenizer"]
    return [*reversed(names), *(["Wav2Vec2CTCTokenizer"] if processor == "Wav2Vec2Processor" else [])]


def make_instance(cls, model_type, folder, want):
    """Builds, saves, reads again and checks. Raises where the class cannot be made."""
    named_extra, others = special_tokens.wanted(model_type)
    arguments = {"model_max_length": int(want.get("max_length") or LONGEST)}
    if named_extra:
        arguments["extra_special_tokens"] = dict(named_extra)
    tokenizer = build(cls, model_type, folder, arguments)
    others = [*others, *special_tokens.of_speech(cls)]
    if others and (new := [token for token in others if token not in tokenizer.get_vocab()]):
        tokenizer.add_tokens(new, special_tokens=True)
    give_padding(tokenizer, model_type)
    if want.get("chat", chat_template.is_wanted(model_type)):
        tokenizer.chat_template = chat_template.for_tokenizer(tokenizer)
    tokenizer.save_pretrained(folder)
    if takes_vocabulary(cls):
        class_vocabulary.write_beside(tokenizer, folder)
    clean(folder)
    again = type(tokenizer).from_pretrained(folder) if cls.vocab_files_names else tokenizer
    check(again)
    if size(again) < size(tokenizer):
        raise ValueError(f"{size(again)} of {size(tokenizer)} tokens when read again")
    return again


def give_padding(tokenizer, model_type):
    """Where the config of the type names a padding token and the tokenizer's class none, as Whisper's: the
    repositories have one. It is the end's where the config's two are equal."""
    if getattr(tokenizer, "pad_token", None) is not None:
        return
    try:
        config = special_tokens.config_class(model_type)().get_text_config()
        padding, end = config.pad_token_id, config.eos_token_id
    except Exception:  # no such type, or a config that needs arguments
        return
    if padding is not None:
        tokenizer.pad_token = tokenizer.eos_token if padding == end and tokenizer.eos_token else "<pad>"


def build(cls, model_type, folder, arguments):
    named = special_tokens.of_class(cls)
    if is_general(cls):
        return class_vocabulary.make_general(cls, special_tokens.OF_TYPE.get(model_type, special_tokens.GENERAL), arguments)
    if takes_vocabulary(cls):
        return class_vocabulary.make(cls, named, arguments)
    if is_fast(cls) and getattr(cls, "slow_tokenizer_class", None) is None:  # one of transformers 4 that reads tokenizer.json alone
        return class_vocabulary.make_general(cls, named or special_tokens.GENERAL, arguments)
    if getattr(cls, "slow_tokenizer_class", None) is not None:  # a fast class of transformers 4
        slow = build(cls.slow_tokenizer_class, model_type, folder, arguments)
        slow.save_pretrained(folder)
        return cls.from_pretrained(folder, **arguments)
    if not slow_files.Vocabulary(cls, named).names:
        return cls(**arguments)
    slow_files.write(cls, named, folder)
    return cls.from_pretrained(folder, **arguments)


def is_general(cls):
    """Whether it is a class without a pipeline of its own, as transformers 5's ParakeetTokenizerFast."""
    names = {above.__name__ for above in cls.__mro__ if "__init__" in above.__dict__}
    return cls.__name__ in GENERAL_CLASSES or bool(names & set(GENERAL_CLASSES)) and "__init__" not in cls.__dict__ \
        and getattr(cls, "slow_tokenizer_class", None) is None and "vocab" not in inspect.signature(cls.__init__).parameters


def is_fast(cls):
    return "PreTrainedTokenizerFast" in {above.__name__ for above in cls.__mro__}


def takes_vocabulary(cls):
    return "TokenizersBackend" in {above.__name__ for above in cls.__mro__} and "vocab" in inspect.signature(cls.__init__).parameters


def check(tokenizer):
    """Some text must become ids of the vocabulary that are not all unknown."""
    found = ids_of(tokenizer, "Hello, this is a test")
    unknown = getattr(tokenizer, "unk_token_id", None)
    if not found or all(number == unknown for number in found):
        raise ValueError("all of a text is unknown")
    if max(found) >= size(tokenizer):
        raise ValueError(f"id {max(found)} of {size(tokenizer)}")


def ids_of(tokenizer, text):
    """For classes that read documents, words with their boxes."""
    if "boxes" in inspect.signature(type(tokenizer).__call__).parameters:
        words = text.split()
        return tokenizer(words, boxes=[[1, 2, 3, 4]] * len(words))["input_ids"]
    return tokenizer(text)["input_ids"]


def clean(folder):
    """Removes paths of this machine from the configuration that was saved."""
    path = folder / "tokenizer_config.json"
    if not path.exists():
        return
    settings = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: value for key, value in settings.items()
            if not (isinstance(value, str) and str(folder) in value) and key not in ("name_or_path",)}
    path.write_text(json.dumps(kept, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
