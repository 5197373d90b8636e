"""Which special tokens a tokenizer needs: those of its class, of the model's config and of its processor.

They are read from signatures and sources of the installed transformers. Not here: training (tokens.py).
"""

import ast
import functools
import importlib
import inspect
import pathlib
import re

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
LOOKS_SPECIAL = re.compile(r"<[|/]?[A-Za-z][\w./:|-]*>|\[/?[A-Z_]{2,}\]")
ID_NAMES = re.compile(r"(\w+)_token_(?:id|index)$")

# Types for which transformers has only a general class: their published tokenizers' own names.
OF_TYPE = {
    "bloom": {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
    "falcon": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
    "gpt_neox": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"},
    "gpt_oss": {"bos_token": "<|startoftext|>", "eos_token": "<|return|>", "pad_token": "<|endoftext|>"},
    "modernbert": {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"},
    "fuyu": {"bos_token": "<s>", "eos_token": "|ENDOFTEXT|", "unk_token": "<unk>", "pad_token": "|ENDOFTEXT|"},
}
GENERAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def of_class(cls):
    """Named tokens with a default in the constructor of the class or of the nearest class above it."""
    found = {}
    for above in cls.__mro__:
        init = above.__dict__.get("__init__")
        if init is None or above.__name__ in ("TokenizersBackend", "PreTrainedTokenizerBase"):
            continue
        for name, parameter in inspect.signature(init).parameters.items():
            if name in NAMED and isinstance(parameter.default, str):
                found.setdefault(name, parameter.default)
    return found


def of_speech(cls):
    """Tokens that set language and task of Whisper, then one for each 20 ms of 30 s."""
    languages = getattr(inspect.getmodule(cls), "LANGUAGES", None)
    if not languages or "Whisper" not in cls.__name__:
        return []
    names = ["startoftranscript", *languages, "translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    return [*(f"<|{name}|>" for name in names), *(f"<|{n * 0.02:.2f}|>" for n in range(1501))]


def speech_settings(tokenizer):
    """The generation settings that go with these tokens."""
    if "Whisper" not in type(tokenizer).__name__:
        return {}
    number = tokenizer.convert_tokens_to_ids
    languages = [f"<|{name}|>" for name in inspect.getmodule(type(tokenizer)).LANGUAGES]
    return {
        "decoder_start_token_id": number("<|startoftranscript|>"), "no_timestamps_token_id": number("<|notimestamps|>"),
        "prev_sot_token_id": number("<|startofprev|>"), "is_multilingual": True, "max_initial_timestamp_index": 50,
        "lang_to_id": {token: number(token) for token in languages},
        "task_to_id": {task: number(f"<|{task}|>") for task in ("transcribe", "translate")},
    }


def config_class(model_type):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[model_type]
    except Exception:
        return None


def parts_of(cls):
    """Classes of a config's parts; transformers 4 has a property there for some."""
    found = getattr(cls, "sub_configs", None)
    return found if isinstance(found, dict) else {}


def has_vocabulary(model_type):
    """Whether its config, or a part of it that is for text, counts tokens."""
    top = config_class(model_type)
    found = parts_of(top) if top else {}
    classes = [top, *(cls for name, cls in found.items() if not re.search(r"vision|audio|image|speech|vq", name))] if top else []
    return "text_config" in found or any("vocab_size" in inspect.signature(cls.__init__).parameters for cls in classes if inspect.isclass(cls))


def model_folder(model_type):
    """The folder of transformers with the model's sources, or None."""
    found = config_class(model_type)
    if found is None:
        return None
    return pathlib.Path(inspect.getfile(importlib.import_module(found.__module__))).parent


@functools.lru_cache(maxsize=None)
def of_processor(model_type):
    """({attribute of the tokenizer: token}, [other tokens]) that the model's processor reads."""
    folder = model_folder(model_type)
    named, others = {}, {}
    for file in sorted(folder.glob("processing_*.py")) if folder else ():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                      if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body
                      and isinstance(node.body[0], ast.Expr)}
        defaults, reads, guarded = {}, {}, set()
        for node in ast.walk(tree):
            defaults |= _defaults(node)
            reads |= {name: reads.get(name) or token for name, token in _reads(node).items()}
            guarded |= _guarded(node)
            if isinstance(node, ast.Constant) and id(node) not in docstrings and is_special(node.value):
                others[node.value] = None
        for name in reads:
            token = reads[name] or defaults.get(name) or f"<{name.removesuffix('_token')}>"
            # A processor that first looks whether the tokenizer has a name for it adds it itself, some as no text.
            if name in guarded:
                others[token] = None
            else:
                named[name] = token
        for name, token in defaults.items():
            if name not in guarded:
                named.setdefault(name, token)
    return {name: token for name, token in named.items() if name not in NAMED}, [*others]


def is_special(value):
    return isinstance(value, str) and len(value) < 48 and LOOKS_SPECIAL.fullmatch(value) is not None


def _defaults(node):
    """Defaults `x_token="<x>"` of a function's arguments."""
    if not isinstance(node, ast.FunctionDef):
        return {}
    arguments = node.args.posonlyargs + node.args.args
    given = list(zip(arguments[len(arguments) - len(node.args.defaults):], node.args.defaults))
    given += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None]
    return {argument.arg: default.value for argument, default in given
            if argument.arg.endswith("_token") and isinstance(default, ast.Constant)
            and isinstance(default.value, str) and default.value}


def _reads(node):
    """Attributes x_token of a tokenizer that are read, with the text that stands for one that is not there."""
    if isinstance(node, ast.IfExp):
        names = [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute) and _of_tokenizer(n)]
        texts = [n.value for n in (node.body, node.orelse) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        return {name: texts[0] if texts else None for name in names}
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) == 3:
        name, default = node.args[1:]
        if getattr(node.args[0], "attr", getattr(node.args[0], "id", "")) == "tokenizer" and _text(name).endswith("_token"):
            return {name.value: _text(default) or None}
    if isinstance(node, ast.Attribute) and _of_tokenizer(node):
        return {node.attr: None}
    return {}


def _guarded(node):
    """Names of attributes that the source looks for with hasattr or getattr."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("hasattr", "getattr") and len(node.args) > 1:
        if getattr(node.args[0], "attr", getattr(node.args[0], "id", "")) == "tokenizer":
            return {_text(node.args[1])}
    return set()


def _of_tokenizer(node):
    owner = getattr(node.value, "attr", getattr(node.value, "id", ""))
    return owner == "tokenizer" and node.attr.endswith("_token") and not node.attr.startswith("add_")


def _text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@functools.lru_cache(maxsize=None)
def asked_by_config(model_type):
    """Names x of x_token_id and x_token_index in the constructors of the config and of its parts."""
    top = config_class(model_type)
    classes = [top, *parts_of(top).values()] if top else []
    names = {}
    for cls in classes:
        for name in inspect.signature(cls.__init__).parameters if inspect.isclass(cls) else ():
            if found := ID_NAMES.fullmatch(name):
                names[name] = found[1]
    return names


def wanted(model_type):
    """As of_processor, with a token for each id of media that the config names and the processor does not."""
    named, others = of_processor(model_type)
    named, has_bars = dict(named), any(token.startswith("<|") for token in others)
    for word in asked_by_config(model_type).values():
        is_named = f"{word}_token" in (*NAMED, *named) or any(matches(word, token) for token in (*named.values(), *others))
        if not is_named and re.search(r"image|video|audio|vision|boi|eoi|boa|eoa", word):
            named[f"{word}_token"] = f"<|{word}|>" if has_bars else f"<{word}>"
    return named, others


def matches(word, token):
    """Whether a token is likely the one that a config calls `word`: vision_start and <|vision_start|>."""
    text = re.sub(r"\W+", "_", token).strip("_").lower()
    return text in (word, f"{word}_pad", f"{word}_token")


def ids(tokenizer, model_type):
    """{"pad_token_id": 0, …}: each special token's id under the names that a config may have."""
    named, others = wanted(model_type)
    # Some classes have a token for each of a million code points.
    vocabulary = tokenizer.get_vocab() if named or others else {}
    found = {}
    for name in NAMED:
        token = getattr(tokenizer, name, None)
        if token is not None and (number := tokenizer.convert_tokens_to_ids(str(token))) is not None:
            found[f"{name}_id"] = int(number)
    for name, token in named.items():
        if token in vocabulary:
            found[f"{name}_id"] = found[f"{name}_index"] = int(vocabulary[token])
    for name, word in asked_by_config(model_type).items():
        token = next((t for t in others if t in vocabulary and matches(word, t)), None)
        if name not in found and token is not None:
            found[f"{word}_token_id"] = found[f"{word}_token_index"] = int(vocabulary[token])
    return found


def class_of_transformers(name):
    """The class, or None where a package that it needs is not installed."""
    import transformers

    try:
        cls = getattr(transformers, name, None) if name else None
        getattr(cls, "model_input_names", None)  # a class that stands for one without its package has no attributes
    except Exception:  # transformers 5 imports what the module needs
        return None
    return None if cls is None or "dummy" in cls.__module__ else cls


def source_of_class(cls):
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""
