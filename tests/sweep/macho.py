"""Reads torch's libraries for macOS on arm64: which function loads which text, and the names of the
Metal kernels inside. Needs numpy."""

import collections
import re
import struct

import numpy

SEGMENT, SYMBOLS, BUILD_VERSION = 0x19, 0x2, 0x32
SECTION = struct.Struct("<16s16sQQI")
ADRP, ADD, BRANCH = 0x90000000, 0x91000000, 0x14000000
# Between an ADRP and its ADD the compiler puts other instructions.
REACH = 8
# So many instructions before a call load its arguments.
ARGUMENTS = 12
SYMBOL = [("name", "<u4"), ("type", "u1"), ("section", "u1"), ("extra", "<u2"), ("value", "<u8")]
DEBUG = 0xE0


def _between(keys, values, low, high):
    """The values whose sorted keys are in this range, its ends included."""
    return values[numpy.searchsorted(keys, low) : numpy.searchsorted(keys, high, side="right")]


class Library:
    def __init__(self, content):
        self.content = content
        commands = struct.unpack_from("<I", content, 16)[0]
        at, self._sections = 32, {}
        for _ in range(commands):
            command, size = struct.unpack_from("<II", content, at)
            if command == SEGMENT:
                for i in range(struct.unpack_from("<I", content, at + 64)[0]):
                    name, _, address, length, offset = SECTION.unpack_from(content, at + 72 + 80 * i)
                    self._sections.setdefault(name.rstrip(b"\0"), (address, length, offset))
            elif command == SYMBOLS:
                self._symbols = struct.unpack_from("<IIII", content, at + 8)
            elif command == BUILD_VERSION:
                self._minimum_system = struct.unpack_from("<I", content, at + 12)[0]
            at += size
        self._functions()
        self._loads()

    def _functions(self):
        where, count, self._names, _ = self._symbols
        address, length, offset = self._sections[b"__text"]
        symbols = numpy.frombuffer(self.content, dtype=SYMBOL, count=count, offset=where)
        inside = (symbols["value"] >= address) & (symbols["value"] < address + length)
        symbols = symbols[inside & (symbols["type"] & DEBUG == 0)]
        self._starts = symbols[numpy.argsort(symbols["value"], kind="stable")]
        self._code = numpy.frombuffer(self.content, "<u4", count=length // 4, offset=offset)

    def _loads(self):
        """For each text that is loaded, the address of the text and of the instruction."""
        base = self._sections[b"__text"][0]
        first = numpy.nonzero(self._code & 0x9F000000 == ADRP)[0]
        word = self._code[first].astype(numpy.int64)
        pages = ((word >> 29) & 3) | (((word >> 5) & 0x7FFFF) << 2)
        pages = numpy.where(pages & (1 << 20), pages - (1 << 21), pages) << 12
        pages += (base + first.astype(numpy.int64) * 4) & ~0xFFF
        texts, places = [], []
        for step in range(1, REACH + 1):
            then = self._code[numpy.minimum(first + step, len(self._code) - 1)].astype(numpy.int64)
            adds = (then & 0xFF800000 == ADD) & (((then >> 5) & 31) == (word & 31))
            texts.append(pages[adds] + ((then[adds] >> 10) & 0xFFF))
            places.append(base + first[adds].astype(numpy.int64) * 4)
        texts, places = numpy.concatenate(texts), numpy.concatenate(places)
        order = numpy.argsort(texts, kind="stable")
        self._texts, self._places = texts[order], places[order]
        calls = numpy.nonzero(self._code & 0x7C000000 == BRANCH)[0]
        offset = (self._code[calls] & 0x3FFFFFF).astype(numpy.int64)
        offset = numpy.where(offset & (1 << 25), offset - (1 << 26), offset) * 4
        places = base + calls.astype(numpy.int64) * 4
        order = numpy.argsort(places + offset, kind="stable")
        self._calls, self._called = places[order], (places + offset)[order]

    def _function(self, address):
        i = numpy.searchsorted(self._starts["value"], address, side="right") - 1
        at = self._names + int(self._starts["name"][i])
        return int(self._starts["value"][i]), self.content[at : self.content.find(b"\0", at)].decode()

    def minimum_system(self):
        """The oldest macOS that loads the library, as "14.0"."""
        return f"{self._minimum_system >> 16}.{self._minimum_system >> 8 & 0xFF}"

    def texts(self):
        _, length, offset = self._sections[b"__cstring"]
        for text in self.content[offset : offset + length].split(b"\0"):
            yield text.decode(errors="surrogateescape")

    def users(self, text):
        """The functions that load a text with this part, and those that reach it through code that
        the compiler moved out of them (.cold, OUTLINED)."""
        address, length, offset = self._sections[b"__cstring"]
        at = self.content.find(text, offset, offset + length)
        if at < 0:
            return set()
        start = self.content.rfind(b"\0", 0, at) + 1
        return self._users(address + start - offset, address + at - offset)

    def users_of_all(self):
        """Each text of the library with its users."""
        at = self._sections[b"__cstring"][0]
        for text in self.texts():
            yield text, self._users(at, at)
            at += len(text.encode(errors="surrogateescape")) + 1

    def _users(self, low, high):
        todo = list(_between(self._texts, self._places, low, high))
        seen, names = set(), set()
        while todo:
            start, name = self._function(todo.pop())
            if start in seen:
                continue
            seen.add(start)
            if "OUTLINED" in name or ".cold" in name:
                todo += list(_between(self._called, self._calls, start, start))
            else:
                names.add(name)
        return names

    def loaded_with(self, *texts):
        """Every text that is loaded by the functions that load all of these."""
        address, length, offset = self._sections[b"__cstring"]
        by_function = collections.defaultdict(dict)
        wanted = [self._address(text) for text in texts]
        starts = {self._function(place)[0] for place in self._places[self._texts == wanted[0]]}
        ends = {each: self._end(each) for each in starts}
        for start, end in ends.items():
            inside = (self._places >= start) & (self._places < end)
            for at in self._texts[inside]:
                if address <= at < address + length:
                    where = offset + int(at) - address
                    text = self.content[where : self.content.find(b"\0", where)]
                    by_function[start][int(at)] = text.decode(errors="replace")
        return [
            list(loaded.values()) for loaded in by_function.values() if set(wanted) <= set(loaded)
        ]

    def loaded_before_calls_of(self, name):
        """The texts that are loaded just before a call of a function of this name: its arguments."""
        address, length, offset = self._sections[b"__cstring"]
        found = set()
        for mangled in re.finditer(rb"(?<=\0)\w*" + name + rb"\w*(?=\0)", self.content[self._names :]):
            for start in self._starts["value"][self._starts["name"] == mangled.start()]:
                for call in _between(self._called, self._calls, start, start):
                    near = (self._places >= call - 4 * ARGUMENTS) & (self._places < call)
                    for at in self._texts[near & (self._texts >= address) & (self._texts < address + length)]:
                        where = offset + int(at) - address
                        found.add(self.content[where : self.content.find(b"\0", where)].decode(errors="replace"))
        return found

    def _address(self, text):
        address, length, offset = self._sections[b"__cstring"]
        at = self.content.find(b"\0" + text + b"\0", offset, offset + length)
        return address + at + 1 - offset if at >= 0 else -1

    def _end(self, start):
        i = numpy.searchsorted(self._starts["value"], start, side="right")
        return int(self._starts["value"][i]) if i < len(self._starts) else 1 << 62

    def kernels(self):
        """The names of all Metal kernels. In a Metal library each follows the tag NAME and its
        length."""
        found = set()
        for tag in re.finditer(rb"NAME(..)(?=[A-Za-z_])", self.content, re.S):
            end = tag.end() + int.from_bytes(tag[1], "little") - 1
            name = self.content[tag.end() : end]
            if end < len(self.content) and self.content[end] == 0 and name.isascii():
                found.add(name.decode())
        return found
