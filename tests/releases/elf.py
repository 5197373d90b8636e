"""Reads torch's libraries for Linux on x86-64: their texts, and which function loads which text.
Needs numpy."""

import functools
import re
import struct

import numpy

# Characters up to a zero, which no pattern asks for: it would go back from each place without one.
TEXT, WORD = re.compile(rb"[\t\n\x20-\x7e]{6,}"), re.compile(rb"[A-Za-z_]\w*")
HEADER = struct.Struct("<IIQQQQI12xQ")
SYMBOL = [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
FUNCTION = 2
# Texts are in the second of these where code is compiled for a large library.
DATA, CODE = (b".rodata", b".lrodata"), (b".text", b".ltext")
READ = {*DATA, *CODE, b".symtab", b".strtab"}
# lea register, [rip + distance]: a prefix, the code, and a byte that says so.
PREFIX, LEA, RELATIVE = (0xF8, 0x48), 0x8D, (0xC7, 0x05)
CALL = 0xE8


class Library:
    def __init__(self, content):
        (sections,) = struct.unpack_from("<Q", content, 40)
        size, count, names = struct.unpack_from("<HHH", content, 58)
        found = [HEADER.unpack_from(content, sections + i * size) for i in range(count)]
        start, self._sections = found[names][4], {}
        for name, _, _, address, offset, length, *_ in found:
            name = content[start + name : content.find(b"\0", start + name)]
            if name in READ:
                self._sections[name] = address, content[offset : offset + length]

    def _section(self, name):
        return self._sections.get(name, (0, b""))

    @functools.cached_property
    def _loads(self):
        """The addresses of instructions that load an address of data, and these addresses."""
        loads = [_relative(*self._code(section), LEA, 2) for section in CODE]
        places, loaded = (numpy.concatenate(each) for each in zip(*loads))
        inside = numpy.zeros(len(loaded), dtype=bool)
        for name in DATA:
            address, content = self._section(name)
            inside |= (address <= loaded) & (loaded < address + len(content))
        return places[inside], loaded[inside]

    def _code(self, section):
        address, code = self._section(section)
        return numpy.frombuffer(code, dtype=numpy.uint8), address

    def _at(self, pattern):
        """Address → what a pattern finds there, of all addresses that are loaded: the linker lets a text
        be the end of another one, and constants before a text may be characters, too."""
        found = {}
        for name in DATA:
            start, content = self._section(name)
            loaded = numpy.unique(self._loads[1]) - start
            for at in loaded[(loaded >= 0) & (loaded < len(content))].tolist():
                if (text := pattern.match(content, at)) and content[text.end() : text.end() + 1] == b"\0":
                    found[start + at] = text[0].decode()
        return found

    def texts(self):
        whole = {text for name in DATA for text in texts(self._section(name)[1])}
        return whole | set(self._at(TEXT).values())

    @functools.cached_property
    def _symbols(self):
        """The functions in the order of their addresses."""
        if b".symtab" not in self._sections:
            raise ValueError("the library has no .symtab, which says where its functions are: it was stripped")
        symbols = numpy.frombuffer(self._section(b".symtab")[1], dtype=SYMBOL)
        symbols = symbols[(symbols["info"] & 15) == FUNCTION]
        return symbols[numpy.argsort(symbols["value"], kind="stable")]

    def _names(self, places):
        """The place in the table of names of the function around each address."""
        starts = self._symbols["value"].astype(numpy.int64)
        return self._symbols["name"][numpy.searchsorted(starts, places, side="right") - 1]

    def _name(self, at):
        names = self._section(b".strtab")[1]
        return names[at : names.find(b"\0", at)].decode()

    def users(self):
        """The mangled names of functions: text → those that load it, and function → those that call it."""
        symbols, texts, loading, calling = self._symbols, self._at(TEXT), {}, {}
        if not len(symbols):
            return loading, calling
        name = functools.lru_cache(maxsize=None)(self._name)
        places, loaded = self._loads
        for user, address in {*zip(self._names(places).tolist(), loaded.tolist())}:
            if address in texts:
                loading.setdefault(texts[address], set()).add(name(user))
        starts = symbols["value"].astype(numpy.int64)
        for section in CODE:
            places, called = _relative(*self._code(section), CALL, 1)
            at = numpy.searchsorted(starts, called).clip(max=len(starts) - 1)
            exact = starts[at] == called
            for user, used in {*zip(self._names(places[exact]).tolist(), symbols["name"][at[exact]].tolist())}:
                calling.setdefault(name(used), set()).add(name(user))
        return loading, calling

    def words(self):
        """The words that each function loads, in the order of its instructions: a class and its members,
        where it makes them known to Python."""
        words, found = self._at(WORD), {}
        if not len(self._symbols):
            return []
        places, loaded = self._loads
        order = numpy.argsort(places, kind="stable")
        for user, address in zip(self._names(places[order]).tolist(), loaded[order].tolist()):
            if address in words:
                found.setdefault(user, []).append(words[address])
        return list(found.values())


def texts(content):
    """The texts of some bytes."""
    return {each[0].decode() for each in TEXT.finditer(content) if content[each.end() : each.end() + 1] == b"\0"}


def _relative(code, address, opcode, before):
    """The addresses of instructions with a distance to an address, and these addresses. `before`: how many
    bytes are before the distance, its opcode among them."""
    at = numpy.nonzero(code[1:-5] == opcode)[0] + 1
    if opcode == LEA:
        at = at[((code[at - 1] & PREFIX[0]) == PREFIX[1]) & ((code[at + 1] & RELATIVE[0]) == RELATIVE[1])]
    distance = sum(code[at + before + i].astype(numpy.uint32) << (8 * i) for i in range(4)).astype(numpy.int32)
    places = address + at.astype(numpy.int64)
    return places, places + before + 4 + distance
