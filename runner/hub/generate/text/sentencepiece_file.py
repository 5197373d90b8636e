"""Writes models of SentencePiece: the fields of its ModelProto that readers use, in protobuf's wire format.

The package `sentencepiece` can only write what its own trainer learned. No normalization is written: readers
then keep the text as it is.
"""
import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
UNIGRAM, BPE = 1, 2
LENGTH_DELIMITED, VARINT, FLOAT = 2, 0, 5


def varint(value):
    value &= (1 << 64) - 1  # as protobuf writes negative numbers
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def number(field, value):
    return varint(field << 3 | VARINT) + varint(int(value))


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | LENGTH_DELIMITED) + varint(len(content)) + content


def piece(text, score, kind):
    inner = block(1, text) + varint(2 << 3 | FLOAT) + struct.pack("<f", score) + number(3, kind)
    return block(1, inner)


def kind_of(text, unknown, control, defined):
    if text == unknown:
        return UNKNOWN
    if text.startswith("<0x") and len(text) == 6:
        return BYTE
    return CONTROL if text in control else USER_DEFINED if text in defined else NORMAL


def write_model(path, scored, *, unknown="<unk>", control=(), defined=(), bpe=False, named=None):
    """`scored` are (piece, score) in the order of ids. `named` maps bos, eos and pad to pieces."""
    ids = {text: n for n, (text, _) in enumerate(scored)}
    named = {key: text for key, text in (named or {}).items() if text in ids}
    model = b"".join(piece(text, score, kind_of(text, unknown, control, defined)) for text, score in scored)
    trainer = number(3, BPE if bpe else UNIGRAM) + number(4, len(scored))
    trainer += number(35, any(kind_of(text, unknown, (), ()) == BYTE for text, _ in scored))
    trainer += number(40, ids[unknown])
    for field, key in ((41, "bos"), (42, "eos"), (43, "pad")):
        trainer += number(field, ids.get(named.get(key), -1))
    trainer += block(45, unknown)
    for field, key in ((46, "bos"), (47, "eos"), (48, "pad")):
        if key in named:
            trainer += block(field, named[key])
    normalizer = block(1, "identity") + number(3, 1) + number(4, 1) + number(5, 1)
    path.write_bytes(model + block(2, trainer) + block(3, normalizer))
