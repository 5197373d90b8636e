#!/usr/bin/env python3
"""Looks up every symbol that Mach-O files leave undefined, on any system: the link of a compiler
that has never seen a Mac says little about what the Mac's loader will find.

    symbols.py FILE… [--library DYLIB]… [--python LIBPYTHON] [--tbd LIBSYSTEM]

Known are the names in libSystem.tbd (zig's, of $COMPAT_ZIG_PYTHON, unless --tbd names another), in
each DYLIB (Mach-O, such as those of torch's wheel) and in LIBPYTHON (an ELF library of CPython or a
Mach-O one: its C API has the same names on both). Prints a line for each file; exits with 1 if a
symbol is unknown, and with 2 if a file is not Mach-O for arm64.
"""

import argparse
import os
import re
import struct
import subprocess
import sys

MAGIC, CPU_ARM64 = 0xFEEDFACF, 0x0100000C
LC_SYMTAB, LC_LOAD_DYLIB, LC_ID_DYLIB = 0x2, 0xC, 0xD
LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB = 0x80000018, 0x8000001F
LC_DYLD_INFO, LC_DYLD_INFO_ONLY, LC_DYLD_EXPORTS_TRIE = 0x22, 0x80000022, 0x80000033
N_STAB, N_TYPE, N_EXT, N_UNDF, N_WEAK_REF = 0xE0, 0x0E, 0x01, 0x0, 0x40


class NotMachO(Exception):
    pass


class MachO:
    """The names of a Mach-O file: `undefined` and `weak` (may be missing), `exported`, `libraries`."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._data = file.read()
        self.undefined, self.weak, self.exported, self.libraries = set(), set(), set(), []
        self._commands(self._start(path))

    def _start(self, path):
        """The offset of the part for arm64: a universal file holds several."""
        data = self._data
        if data[:4] == b"\xca\xfe\xba\xbe":
            (count,) = struct.unpack_from(">I", data, 4)
            for i in range(count):
                cpu, _, offset, _, _ = struct.unpack_from(">5I", data, 8 + 20 * i)
                if cpu == CPU_ARM64:
                    return offset
        elif len(data) > 32 and struct.unpack_from("<2I", data) == (MAGIC, CPU_ARM64):
            return 0
        raise NotMachO("%s is not a Mach-O file for arm64" % path)

    def _commands(self, start):
        (count,) = struct.unpack_from("<I", self._data, start + 16)
        at = start + 32
        for _ in range(count):
            command, size = struct.unpack_from("<2I", self._data, at)
            if command == LC_SYMTAB:
                symbols, number, strings, _ = struct.unpack_from("<4I", self._data, at + 8)
                self._symbols(start + symbols, number, start + strings)
            elif command in (LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB):
                (name,) = struct.unpack_from("<I", self._data, at + 8)
                self.libraries.append(self._text(at + name))
            elif command in (LC_DYLD_INFO, LC_DYLD_INFO_ONLY):
                offset, length = struct.unpack_from("<2I", self._data, at + 40)
                self._trie(start + offset, length)
            elif command == LC_DYLD_EXPORTS_TRIE:
                offset, length = struct.unpack_from("<2I", self._data, at + 8)
                self._trie(start + offset, length)
            at += size

    def _text(self, at):
        return self._data[at : self._data.index(b"\0", at)].decode()

    def _symbols(self, at, count, strings):
        for name, kind, _, description, value in struct.iter_unpack("<IBBHQ", self._data[at : at + 16 * count]):
            if kind & N_STAB or not kind & N_EXT:
                continue
            if kind & N_TYPE != N_UNDF or value:  # a value: a common symbol
                self.exported.add(self._text(strings + name))
            elif description & N_WEAK_REF:
                self.weak.add(self._text(strings + name))
            else:
                self.undefined.add(self._text(strings + name))

    def _number(self, at):
        value = shift = 0
        while True:
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if not byte & 0x80:
                return value, at

    def _trie(self, start, length):
        """Exported names, of which a stripped library's symbol table has none."""
        todo = [(start, b"")] if length else []
        while todo:
            at, prefix = todo.pop()
            size, at = self._number(at)
            if size:
                self.exported.add(prefix.decode())
            at += size
            children, at = self._data[at], at + 1
            for _ in range(children):
                end = self._data.index(b"\0", at)
                offset, following = self._number(end + 1)
                todo.append((start + offset, prefix + self._data[at:end]))
                at = following


def names_of_tbd(path):
    """Names of a text stub and of the libraries that it contains. The system's own are arm64e alone,
    and serve arm64 as well."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = set()
    for targets, block in re.findall(r"- targets:\s*\[([^]]*)\](.*?)(?=- targets:|\n---|\Z)", text, re.S):
        if not {"arm64-macos", "arm64e-macos"} & set(re.split(r"[,\s]+", targets)):
            continue
        for kind, listed in re.findall(r"([a-z-]+):\s*\[([^]]*)\]", block):
            words = [word.strip().strip("'\"") for word in listed.split(",")]
            if kind.endswith("symbols"):
                names.update(words)
            elif kind == "objc-classes":
                names.update("_OBJC_%s_$_%s" % (what, word) for what in ("CLASS", "METACLASS") for word in words)
    return names


def names_of_python(path):
    try:
        return MachO(path).exported
    except NotMachO:
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=posix", path], text=True, capture_output=True, check=True
        )
        return {"_" + line.split()[0].partition("@")[0] for line in listed.stdout.splitlines()}


def tbd_of_zig():
    python = os.environ.get("COMPAT_ZIG_PYTHON", sys.executable)
    asked = "import os, ziglang; print(os.path.dirname(ziglang.__file__))"
    folder = subprocess.run([python, "-c", asked], text=True, capture_output=True, check=True).stdout.strip()
    return os.path.join(folder, "lib/libc/darwin/libSystem.tbd")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--python")
    parser.add_argument("--tbd")
    options = parser.parse_args()
    known = names_of_tbd(options.tbd or tbd_of_zig())
    assert "_malloc" in known, "the text stub was not understood"
    for library in options.library:
        known |= MachO(library).exported
    if options.python:
        known |= names_of_python(options.python)
    given = {os.path.basename(name) for name in options.library + options.files}
    failed = False
    for path in options.files:
        file = MachO(path)
        unknown = sorted(file.undefined - known)
        print("%s: %d undefined symbols, %d unknown; %d weak, %d of them unknown; libraries: %s" % (
            path, len(file.undefined), len(unknown), len(file.weak), len(file.weak - known),
            " ".join(file.libraries)))
        for name in unknown:
            print("    %s" % name)
        # A loader looks for the libraries, too: the system's, or those that were given.
        strange = [name for name in file.libraries
                   if not name.startswith(("/usr/lib/", "/System/")) and os.path.basename(name) not in given]
        for name in strange:
            print("    library %s was not given" % name)
        failed = failed or bool(unknown or strange)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotMachO as error:
        print(error, file=sys.stderr)
        sys.exit(2)
