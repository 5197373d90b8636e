"""Reads torch's libraries for Linux on x86-64: their texts, and which function loads which text.
Needs numpy."""

import re
import struct

import numpy

TEXT = re.compile(rb"[\x20-\x7e]{6,}(?=\0)")
HEADER = struct.Struct("<IIQQQQI12xQ")
SYMBOL = [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
FUNCTION = 2
# Texts are in the second of these where code is compiled for a large library.
DATA, CODE = (b".rodata", b".lrodata"), (b".text", b".ltext")
# lea register, [rip + distance]: a prefix, the code, and a byte that says so.
PREFIX, LEA, RELATIVE = (0xF8, 0x48), 0x8D, (0xC7, 0x05)
CALL = 0xE8


class Library:
    def __init__(self, content):
        self._content = content
        (sections,) = struct.unpack_from("<Q", content, 40)
        size, count, names = struct.unpack_from("<HHH", content, 58)
        found = [HEADER.unpack_from(content, sections + i * size) for i in range(count)]
        start = found[names][4]
        self._sections = {content[start + each[0] : content.find(b"\0", start + each[0])]: each[3:6] for each in found}

    def _section(self, name):
        address, offset, length = self._sections.get(name, (0, 0, 0))
        return address, self._content[offset : offset + length]

    def texts(self):
        """Address → text."""
        found = {}
        for name in DATA:
            address, content = self._section(name)
            found.update((address + each.start(), each[0].decode()) for each in TEXT.finditer(content))
        return found

    def users(self):
        """The mangled names of functions: text → those that load it, and function → those that call it."""
        symbols = numpy.frombuffer(self._section(b".symtab")[1], dtype=SYMBOL)
        symbols = symbols[(symbols["info"] & 15) == FUNCTION]
        symbols = symbols[numpy.argsort(symbols["value"], kind="stable")]
        names, texts = self._section(b".strtab")[1], self.texts()
        known = numpy.array(sorted(texts), dtype=numpy.int64)
        starts = symbols["value"].astype(numpy.int64)
        loading, calling = {}, {}

        def name(at):
            return names[at : names.find(b"\0", at)].decode()

        for section in CODE if len(symbols) and len(known) else ():
            address, code = self._section(section)
            code = numpy.frombuffer(code, dtype=numpy.uint8)
            for opcode, before, targets in ((LEA, 2, known), (CALL, 1, starts)):
                places, loaded = _relative(code, address, opcode, before)
                at = numpy.searchsorted(targets, loaded).clip(max=len(targets) - 1)
                exact = targets[at] == loaded
                inside = symbols["name"][numpy.searchsorted(starts, places[exact], side="right") - 1]
                for user, used in {*zip(inside.tolist(), at[exact].tolist())}:
                    if opcode == LEA:
                        loading.setdefault(texts[int(known[used])], set()).add(name(user))
                    else:
                        calling.setdefault(name(int(symbols["name"][used])), set()).add(name(user))
        return loading, calling


def _relative(code, address, opcode, before):
    """The addresses of instructions with a distance to an address, and these addresses. `before`: how many
    bytes are before the distance, its opcode among them."""
    at = numpy.nonzero(code[1:-5] == opcode)[0] + 1
    if opcode == LEA:
        at = at[((code[at - 1] & PREFIX[0]) == PREFIX[1]) & ((code[at + 1] & RELATIVE[0]) == RELATIVE[1])]
    distance = sum(code[at + before + i].astype(numpy.uint32) << (8 * i) for i in range(4)).astype(numpy.int32)
    places = address + at.astype(numpy.int64)
    return places, places + before + 4 + distance
