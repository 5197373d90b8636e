"""Tokenizers whose class builds the whole pipeline around a vocabulary: transformers 5's fast classes.

An instance without a vocabulary says how its class cuts text and which tokens stand first; pieces are learned
from the text as it cuts it, and a second instance gets them. Not here: classes that read files (slow_files.py).
"""

import collections
import json
import re

from . import pieces, sentencepiece_file, slow_files

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def backend_of(tokenizer):
    return json.loads(tokenizer.backend_tokenizer.to_str())


def cut(tokenizer):
    """Words of the text, as the tokenizer's own normalizer and pre-tokenizer make them."""
    backend = tokenizer.backend_tokenizer
    words = collections.Counter()
    for line in pieces.lines():
        text = backend.normalizer.normalize_str(line) if backend.normalizer else line
        parts = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)] if backend.pre_tokenizer else [text]
        for part in parts:
            words.update(word for word in re.findall(r"\u2581?[^\u2581]+|\u2581", part) if word.strip())
    return words


def first_tokens(tokenizer, model, named):
    """(tokens that stand before the learned ones, tokens behind), in the order of the class's ids."""
    vocabulary = model["vocab"]
    own = [token for token, _ in vocabulary] if isinstance(vocabulary, list) else sorted(vocabulary, key=vocabulary.get)
    missing = [token for token in named if token not in own]
    if pieces.SPACE in own:
        at = own.index(pieces.SPACE)
        return own[:at] + missing, own[at + 1:]
    return own + missing, []


def learn(tokenizer, named):
    """{"vocab": …, "merges": …} for the class, by the kind of its model."""
    backend = backend_of(tokenizer)
    model, words = backend["model"], cut(tokenizer)
    before, behind = first_tokens(tokenizer, model, named)
    if model["type"] == "Unigram":
        learned = [(piece, score) for piece, score in pieces.learn_unigram(words) if piece not in (*before, *behind)]
        return {"vocab": [*((t, 0.0) for t in before), *learned, *((t, 0.0) for t in behind)]}
    if model["type"] == "WordPiece":
        return {"vocab": numbered(before, pieces.learn_wordpiece(words), behind)}
    if model["type"] == "WordLevel":
        return {"vocab": numbered(before, sorted(words), behind)}
    return learn_merges(backend, words, before, behind)


def learn_merges(backend, words, before, behind):
    model = backend["model"]
    byte_level = "ByteLevel" in json.dumps([backend["pre_tokenizer"], backend["decoder"], backend["normalizer"]])
    alphabet = pieces.byte_characters() if byte_level else [pieces.SPACE, *pieces.PRINTABLE]
    symbols = pieces.plain_symbols
    if model.get("end_of_word_suffix"):
        alphabet = [*alphabet, *(character + pieces.END_OF_WORD for character in alphabet)]
        symbols = pieces.ended_symbols
    if model.get("byte_fallback"):
        alphabet = [*BYTES, *alphabet]
    if byte_level:  # as tiktoken numbers them, and GPT-2 did before: Whisper's code compares with the first such id
        late = [token for token in before if token.startswith("<|") and token.endswith("|>")]
        before, behind = [token for token in before if token not in late], [*behind, *late]
    tokens, merges = pieces.learn_bpe(words, alphabet, symbols)
    return {"vocab": numbered(before, tokens, behind), "merges": merges}


def numbered(*parts):
    return {token: n for n, token in enumerate(dict.fromkeys(token for part in parts for token in part))}


def without_vocabulary(cls, defaults):
    """An instance that has its special tokens alone; some classes cannot begin without them."""
    try:
        return cls()
    except Exception:
        # Pegasus's looks for <unk> from the second place on.
        tokens = sorted(dict.fromkeys(defaults.values()), key=lambda token: token == defaults.get("unk_token"))
        try:
            return cls(vocab=[(token, 0.0) for token in tokens])
        except TypeError:
            return cls(vocab=numbered(tokens), merges=[])


def make(cls, defaults, arguments):
    """An instance with a learned vocabulary. `defaults`: its named tokens. Raises what the class raises."""
    empty = without_vocabulary(cls, defaults)
    specials = [str(token) for name in ("bos", "pad", "eos", "unk", "cls", "sep", "mask")
                if (token := getattr(empty, f"{name}_token", None)) is not None]
    return cls(**learn(empty, dict.fromkeys(specials)), **arguments)


def write_beside(tokenizer, folder):
    """The files that readers of the vocabulary alone want: vocab.txt, vocab.json with merges.txt, or a .model."""
    backend = backend_of(tokenizer)
    model = backend["model"]
    vocabulary, merges = model.get("vocab"), model.get("merges", [])
    tokens = [t for t, _ in vocabulary] if isinstance(vocabulary, list) else sorted(vocabulary or {}, key=(vocabulary or {}).get)
    for name in tokenizer.vocab_files_names.values():
        path = folder / name
        if path.exists() or not tokens or path.suffix == ".model" and not tokenizer.unk_token in tokens:
            continue
        if name == "vocab.txt":
            path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
        elif name == "vocab.json":
            slow_files.dump(path, {token: n for n, token in enumerate(tokens)})
        elif name == "merges.txt":
            pairs = [pair if isinstance(pair, str) else " ".join(pair) for pair in merges]
            path.write_text("\n".join(["#version: 0.2", *pairs]) + "\n", encoding="utf-8")
        elif path.suffix == ".model":
            write_pieces(path, tokenizer, tokens, vocabulary)


def write_pieces(path, tokenizer, tokens, vocabulary):
    unknown, special = tokenizer.unk_token, set(tokenizer.all_special_tokens)
    is_bpe = isinstance(vocabulary, dict)
    scores = {t: -float(n) for n, t in enumerate(tokens)} if is_bpe else dict(vocabulary)
    if path.name.startswith("sentencepiece.bpe"):  # fairseq's classes shift the ids of such a file
        tokens = [*dict.fromkeys([unknown, "<s>", "</s>"]), *(t for t in tokens if t not in special)]
    scored = [(token, 0.0 if token in special else scores.get(token, 0.0)) for token in tokens if token]
    sentencepiece_file.write_model(path, scored, unknown=unknown, control=special, bpe=is_bpe, named={
        "bos": tokenizer.bos_token, "eos": tokenizer.eos_token, "pad": tokenizer.pad_token})


def make_general(cls, named, arguments):
    """An instance of a class without a pipeline of its own: byte-level BPE, as most newer models have."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    alphabet = pieces.byte_characters()
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = collections.Counter(word for line in pieces.lines() for word, _ in splitter.pre_tokenize_str(line))
    tokens, merges = pieces.learn_bpe(words, alphabet)
    vocabulary = numbered(named.values(), tokens)
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token=named.get("unk_token")))
    backend.pre_tokenizer, backend.decoder = splitter, decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True) for token in dict.fromkeys(named.values())])
    first, last = named.get("cls_token"), named.get("sep_token")
    if first and last:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", pair=f"{first} $A {last} $B {last}",
            special_tokens=[(first, vocabulary[first]), (last, vocabulary[last])])
    else:
        backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return cls(tokenizer_object=backend, **named, **arguments)
