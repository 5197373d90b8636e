"""Learns pieces of words from the small text of this package, deterministically and without a library.

The trainers of the package `tokenizers` promise neither an order of ids nor the same result with several
threads. A few hundred merges of a few kilobytes need no fast program. No tokenizer is made here.
"""
import collections
import functools
import math
import pathlib

TEXT = pathlib.Path(__file__).with_name("corpus.txt")
PRINTABLE = [chr(code) for code in range(33, 127)]
END_OF_WORD = "</w>"
CONTINUED = "##"
SPACE = "\u2581"  # marks a space in the pieces of SentencePiece


@functools.lru_cache(maxsize=1)
def lines():
    return TEXT.read_text(encoding="utf-8").splitlines()


def byte_characters():
    """The 256 characters by which byte-level BPE writes bytes: printable ones as themselves, others from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in set(plain)]
    table = {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [table[byte] for byte in range(256)]


def counted(words):
    return collections.Counter(word for word in words if word)


def plain_symbols(word):
    return tuple(word)


def continued_symbols(word):
    """As WordPiece writes them: all but the first begin with ##."""
    return (word[0], *(CONTINUED + character for character in word[1:]))


def ended_symbols(word):
    """As the first BPE wrote them: the last one ends with </w>."""
    return (*word[:-1], word[-1] + END_OF_WORD)


def joined(first, second):
    return first + second.removeprefix(CONTINUED) if first != CONTINUED else first + second


class Merges:
    """The most frequent pair of neighbours becomes one symbol, again and again; the smaller text wins a tie."""

    def __init__(self, words, symbols):
        self.words = [[list(symbols(word)), count] for word, count in sorted(words.items())]
        self.pairs = collections.Counter()
        self.where = collections.defaultdict(set)
        for index in range(len(self.words)):
            self._count(index, 1)
        self.merges = []

    def _count(self, index, sign):
        symbols, count = self.words[index]
        for pair in zip(symbols, symbols[1:]):
            self.pairs[pair] += sign * count
            self.where[pair].add(index)

    def learn(self, number, longest=12):
        while len(self.merges) < number:
            found = [(-count, pair) for pair, count in self.pairs.items() if count > 1 and len(pair[0] + pair[1]) <= longest]
            if not found:
                break
            self._apply(min(found)[1])
        return self

    def _apply(self, pair):
        self.merges.append(pair)
        for index in sorted(self.where.pop(pair)):
            self._count(index, -1)
            self.words[index][0] = merged(self.words[index][0], pair)
            self._count(index, 1)
        del self.pairs[pair]

    def frequencies(self):
        """How often each symbol stands in the words as they are cut now."""
        found = collections.Counter()
        for symbols, count in self.words:
            for symbol in symbols:
                found[symbol] += count
        return found


def merged(symbols, pair):
    result, n = [], 0
    while n < len(symbols):
        if tuple(symbols[n:n + 2]) == pair:
            result.append(joined(*pair))
            n += 2
        else:
            result.append(symbols[n])
            n += 1
    return result


def learn_bpe(words, alphabet, symbols=plain_symbols, number=400):
    """(tokens, merges): the alphabet, further symbols of the words, then what each merge makes."""
    learned = Merges(words, symbols).learn(number)
    tokens = dict.fromkeys([*alphabet, *sorted({symbol for word in words for symbol in symbols(word)})])
    tokens |= dict.fromkeys(joined(*pair) for pair in learned.merges)
    return list(tokens), learned.merges


def learn_wordpiece(words, number=500):
    alphabet = [*PRINTABLE, *(CONTINUED + character for character in PRINTABLE)]
    return learn_bpe(words, alphabet, continued_symbols, number)[0]


def learn_unigram(words, number=400):
    """Pieces with their scores: the logarithm of how often each stands in the text, cut by merges."""
    learned = Merges(words, plain_symbols).learn(number)
    found = learned.frequencies()
    pieces = dict.fromkeys([SPACE, *PRINTABLE, *sorted({c for word in words for c in word})])
    pieces |= dict.fromkeys(joined(*pair) for pair in learned.merges)
    total = sum(found.values()) + len(pieces)
    # A piece that only stands inside longer ones is still better than its letters.
    return [(piece, round(math.log((found[piece] + 1) / total), 4)) for piece in pieces]


def sentencepiece_words():
    """Words of the text as SentencePiece sees them: each begins with its space."""
    return counted(SPACE + word for line in lines() for word in line.split())


def basic_words(lower=False):
    """Words and punctuation apart, as BERT's basic tokenizer cuts."""
    found = []
    for line in lines():
        spaced = "".join(c if c.isalnum() or c.isspace() else f" {c} " for c in (line.lower() if lower else line))
        found += spaced.split()
    return counted(found)
