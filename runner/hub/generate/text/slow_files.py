"""Vocabulary files that tokenizer classes read, by the files' names: vocab.txt, merges.txt, spiece.model and others.

Not here: tokenizer.json, which the classes write themselves.
"""

import inspect
import json

from . import pieces, sentencepiece_file

SPECIAL_ORDER = ("bos_token", "pad_token", "eos_token", "unk_token", "cls_token", "sep_token", "mask_token")
AT = "@@"  # ends a piece that the next one continues, where </w> ends a word's last


class Vocabulary:
    """All pieces that the files of one tokenizer have in common."""

    def __init__(self, cls, named):
        self.names = dict(getattr(cls, "vocab_files_names", {}))
        self.named = {key: str(token) for key, token in named.items()}
        self.unknown = self.named.get("unk_token", "<unk>")
        self.cls_source = source_of(cls)
        self.special = list(dict.fromkeys(self.named[key] for key in SPECIAL_ORDER if key in self.named))
        self.has_model = any(is_model(name) for name in self.names.values())
        self.has_merges = any(is_merges(name) for name in self.names.values())
        self.tokens, self.merges, self.scored = [], [], []
        self._learn()

    def _learn(self):
        if not self.names:  # code points or bytes
            return
        if self.has_model:
            self.scored = pieces.learn_unigram(pieces.sentencepiece_words())
            self.tokens = [piece for piece, _ in self.scored]
        elif self.has_merges:
            self._learn_merges()
        elif any(name.endswith(".json") and name.startswith("vocab") for name in self.names.values()):
            self.tokens = self._characters()
        else:
            self.tokens = wordpieces()

    def _characters(self):
        """For speech: letters of one case and the mark between words."""
        upper = "CTC" in self.cls_source
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if upper else "abcdefghijklmnopqrstuvwxyz"
        delimiter = ["|"] if upper else [" "]
        digits = [] if upper else [*"0123456789-,.!?:;"]
        return [*delimiter, *letters, "'", *digits]

    def _learn_merges(self):
        if "bytes_to_unicode" in self.cls_source and pieces.END_OF_WORD not in self.cls_source:
            words = pieces.counted(byte_words())
            self.tokens, self.merges = pieces.learn_bpe(words, pieces.byte_characters())
            return
        alphabet = [*pieces.PRINTABLE, *(character + pieces.END_OF_WORD for character in pieces.PRINTABLE)]
        words = pieces.basic_words(lower=True) + pieces.basic_words()
        tokens, self.merges = pieces.learn_bpe(words, alphabet, pieces.ended_symbols)
        self.tokens = [at_form(token) for token in tokens] if AT in self.cls_source else tokens
        if AT in self.cls_source and "vocab.json" in self.names.values():
            self.tokens += tokens  # a fast class of transformers 4 looks for what the merges name

    def all_tokens(self):
        return list(dict.fromkeys([*self.special, *self.tokens]))

    def model_pieces(self):
        """Pieces of a SentencePiece file: <unk> is 0, as its trainer writes it."""
        special = [self.unknown, *(t for t in ("<s>", "</s>") if t != self.unknown)]
        return [*((t, 0.0) for t in special), *((p, s) for p, s in self.scored if p not in special)]


def wordpieces():
    """For classes that lower their text and for those that do not."""
    return list(dict.fromkeys([*pieces.learn_wordpiece(pieces.basic_words()),
                               *pieces.learn_wordpiece(pieces.basic_words(lower=True))]))


def source_of(cls):
    try:
        return inspect.getsource(inspect.getmodule(cls))
    except (OSError, TypeError):
        return ""


def is_model(name):
    return name.endswith((".model", ".spm"))


def is_merges(name):
    return "merges" in name or name.endswith(".codes")


def at_form(token):
    return token.removesuffix(pieces.END_OF_WORD) if token.endswith(pieces.END_OF_WORD) else token + AT


def byte_words():
    """Words of the text in byte-level form, each with the space before it."""
    table = pieces.byte_characters()
    for line in pieces.lines():
        for n, word in enumerate(line.split()):
            yield "".join(table[byte] for byte in ((" " if n else "") + word).encode())


def dump(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_json_vocabulary(path, vocabulary):
    dump(path, {token: n for n, token in enumerate(vocabulary.all_tokens())})


def write_lines(path, vocabulary):
    if vocabulary.has_merges or path.name == "dict.txt":  # as fairseq writes dictionaries, without special tokens
        lines = [f"{token} 1" for token in vocabulary.tokens if token not in vocabulary.special]
    elif vocabulary.has_model:  # beside the vocabulary for words that it cuts itself
        lines = list(dict.fromkeys([*vocabulary.special, *wordpieces()]))
    else:
        lines = vocabulary.all_tokens()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_merges(path, vocabulary):
    count = " 1" if path.suffix == ".codes" else ""
    first = [] if count else ["#version: 0.2"]
    path.write_text("\n".join([*first, *(f"{a} {b}{count}" for a, b in vocabulary.merges)]) + "\n", encoding="utf-8")


def write_sentencepiece(path, vocabulary):
    sentencepiece_file.write_model(path, vocabulary.model_pieces(), unknown=vocabulary.unknown, control=("<s>", "</s>"),
                                   named={"bos": "<s>", "eos": "</s>"})


# Files with a form of their own: their whole names.
OTHERS = {
    "entity_vocab.json": lambda v: {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3},
    "emoji.json": lambda v: {"emoji": {}, "emoji_inv": {}},
    "byte_maps.json": lambda v: {"decompose_map": {}, "merge_map": {}},
    "word_shape.json": lambda v: {token: n for n, token in enumerate(v.all_tokens())},
    "word_pronunciation.json": lambda v: {token: n for n, token in enumerate(v.all_tokens())},
    "normalizer.json": lambda v: {"colour": "color"},
}


def write(cls, named, folder):
    """Writes each file that the class names. Returns {argument of the constructor: path}."""
    vocabulary = Vocabulary(cls, named)
    written = {}
    for argument, name in vocabulary.names.items():
        path = folder / name
        if name in ("tokenizer.json", "tokenizer_config.json"):
            continue
        if name in OTHERS:
            dump(path, OTHERS[name](vocabulary))
        elif is_model(name):
            write_sentencepiece(path, vocabulary)
        elif is_merges(name):
            write_merges(path, vocabulary)
        elif name.endswith(".json"):
            write_json_vocabulary(path, vocabulary)
        else:
            write_lines(path, vocabulary)
        written[argument] = path
    return written
