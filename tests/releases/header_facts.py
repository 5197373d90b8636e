"""Facts of the C++ headers of a torch wheel, by their text: classes with their virtual functions,
functions, the dtypes that the functions of a device list, and macros that list names.

No compiler is asked. Templates and macros that build declarations are not seen."""

import re

WANTED = re.compile(
    r"torch/include/(?:c10/(?:core|util|cuda|mps)|ATen/(?!ops/)|torch/csrc/(?:distributed/c10d|cuda|mps|utils|profiler|\w+\.h)"
    r"|torch/(?:library|headeronly))"
)
GENERATED = re.compile(
    r"ATen/(?:\w*Functions(?:_inl)?|RedispatchFunctions|Vmap\w*|RegistrationDeclarations|ops/\w+)\.h|/kernels?/|cutlass|/cpu/vec|\.cuh$"
)
DEVICE_PATH = re.compile(r"mps|cuda|nccl|accelerator|Device|Hooks", re.I)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*$", re.M)
MACRO = re.compile(r"#[ \t]*define[ \t]+(AT_\w*FORALL\w*)((?:[^\n\\]|\\\n)*)")
# A call of a macro on a line of its own, as one that silences a warning: what follows is no part of it.
LONE_MACRO = re.compile(r"^[ \t]*[A-Z][A-Z0-9_]+\([^()\n]*\)[ \t]*$", re.M)
# A text, and texts that follow each other, which are one.
TEXTS = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
TEXTS_BETWEEN = re.compile(r'(?<!\\)"\s*"')
WORD = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
LISTED = re.compile(r"_\(\s*(?:[\w:<>]+\s*,\s*)?(\w+)(?:\s*,\s*(\w+))?")
# A check that raises, by which macro, and what it says.
CHECK = re.compile(r"\bTORCH_(?:SYM_)?CHECK(?:_(?:VALUE|TYPE|INDEX|LINALG|NOT_IMPLEMENTED))?\(")
SCOPE = re.compile(r"(?:^|[\s;])(namespace|class|struct|union|enum(?:\s+class|\s+struct)?)\b(?!.*\boperator\b)")
NAME = re.compile(r"(~?\w+|operator\s*[^\s(]+)\s*\($")
DTYPE = re.compile(r"\b(?:kIndex_|ScalarType::|at::k|k)([A-Z][A-Za-z0-9_]*)")
DTYPES = frozenset(
    "Byte Char Short Int Long Half Float Double ComplexHalf ComplexFloat ComplexDouble Bool QInt8 QUInt8"
    " QInt32 BFloat16 UInt16 UInt32 UInt64".split()
)


def plain(text):
    return COMMENT.sub(lambda found: found[1] or " ", text)


def is_dtype(name):
    return name in DTYPES or re.fullmatch(r"Float[48]_\w+|U?Int[1-7]|BComplex\w+|Bits\w+", name) is not None


class Header:
    def __init__(self, text, of_device):
        self.macros = {
            found[1]: sorted({name for each in LISTED.finditer(found[2]) for name in each.groups() if name})
            for found in MACRO.finditer(text)
            if found[2]
        }
        self._text = LONE_MACRO.sub("", DIRECTIVE.sub("", text))
        self._of_device = of_device
        self.classes, self.functions, self.enums, self.dtypes, self.words = {}, {}, {}, {}, {}
        self.checks = dict(self._checked())
        self._scope(0, len(self._text), [])

    def _checked(self):
        """Text → macro. The condition of a check may have texts, too."""
        for found in CHECK.finditer(self._text):
            at, depth, comma = found.end(), 1, None
            for stop in PARTS.finditer(self._text, at):
                depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(stop[0], 0)
                if stop[0] == "," and depth == 1 and comma is None:
                    comma = stop.end()
                if depth == 0:
                    said = "{}".join(TEXTS.findall(TEXTS_BETWEEN.sub("", self._text[comma or stop.end() : stop.start()])))
                    if said:
                        yield said, found[0].removesuffix("(").replace("SYM_", "")
                    break

    def _close(self, at):
        """The place after the brace that closes the one at `at`."""
        depth = 0
        for found in BRACES.finditer(self._text, at):
            if found[0] == "{":
                depth += 1
            elif found[0] == "}":
                depth -= 1
                if depth == 0:
                    return found.end()
        return len(self._text)

    def _scope(self, at, end, inside):
        """Statements of a namespace or a class, in order."""
        head = at
        depth = 0
        while at < end:
            found = STOPS.search(self._text, at, end)
            if not found:
                break
            at = found.end()
            if found[0] == "(":
                depth += 1
            elif found[0] == ")":
                depth -= 1
            elif depth > 0 and found[0] == "{":  # a default argument
                at = self._close(found.start())
            elif depth > 0:
                continue
            elif found[0] == "{":
                close = self._close(found.start())
                self._block(self._text[head : found.start()], at, close - 1, inside)
                at = head = close
            elif found[0] in ";}":
                self._declared(self._text[head : found.start()], "", inside)
                head = at

    def _block(self, head, start, end, inside):
        kind = SCOPE.search(head.split("(")[0]) if "=" not in head.split("(")[0] or "operator" in head else None
        if not kind:
            if "(" in head:
                self._declared(head, self._text[start:end], inside)
            elif 'extern "C"' in head:
                self._scope(start, end, inside)
            return
        name, bases = _named(head[kind.end() :])
        if kind[1] == "namespace":
            self._scope(start, end, inside)
        elif kind[1].startswith("enum"):
            values = re.findall(r"(?:^|,)\s*(\w+)", self._text[start:end])
            self.enums["::".join([*inside, name])] = sorted(set(values))
        else:
            where = [*inside, name]
            self.classes["::".join(where)] = {"bases": bases, "virtual": {}}
            self._scope(start, end, where)

    def _declared(self, head, body, inside):
        head = " ".join(head.split())
        head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", "", head).strip()
        opening = _parameters_at(head)
        name = NAME.search(head[: opening + 1]) if opening > 0 else None
        if not name or head.startswith((",", ":")):
            return
        shown = re.sub(r"\b(?:TORCH_\w*API|C10_\w+|inline|static|constexpr|explicit|\[\[\w+\]\])\s*", "", head)
        shown = re.sub(r"\s*(?<!:):(?!:)(?=[^()]*\().*$|\s*(?<!:):\s+\w+[({].*$", "", shown) if inside else shown
        owner = "::".join(inside)
        if re.match(r"(?:template.*>)?\s*virtual\b", shown) or re.search(r"\boverride\b|\bfinal$", shown):
            kept = self.classes.setdefault(owner, {"bases": "", "virtual": {}})["virtual"]
            kept.setdefault(name[1], []).append(_neat(shown))
        whole = f"{owner}::{name[1]}" if owner else name[1]
        self.functions.setdefault(whole, []).append(_neat(shown))
        if self._of_device and body:
            dtypes = {each for each in DTYPE.findall(body) if is_dtype(each)}
            if len(dtypes) > 2:
                self.dtypes[whole] = sorted(dtypes)
            words = {each for each in TEXTS.findall(TEXTS_BETWEEN.sub("", body)) if WORD.fullmatch(each)}
            if len(words) > 3:
                self.words[whole] = sorted(words)


BRACES = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')
PARTS = re.compile(r'[{}()\[\],]|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')
STOPS = re.compile(r'[{};()]|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')


def _parameters_at(head):
    """Where the parameters of a declaration begin: its first parenthesis outside of <…> and of
    attributes."""
    depth = 0
    for found in re.finditer(r"operator\s*\(\)|operator\s*[<>]=?|[<>(]|->", head):
        if found[0] == "<":
            depth += 1
        elif found[0] == ">":
            depth -= 1
        elif found[0] == "(" and depth <= 0:
            if re.search(r"(?:__attribute__|alignas|decltype|noexcept|deprecated)\s*$", head[: found.start()]):
                continue
            return found.start()
    return -1


def _neat(shown):
    """A declaration without the names of its parameters' values, so that `= 0` of a pure function stays."""
    return " ".join(shown.replace("( ", "(").replace(" )", ")").split())


def _named(head):
    """Name and bases of a class."""
    head = re.sub(r"\b(?:TORCH_\w+|C10_\w+|alignas\([^)]*\)|\[\[.*?\]\]|final)\b\s*", "", " ".join(head.split()))
    name, _, bases = re.sub(r"::", "\0", head).partition(":")
    name = name.replace("\0", "::").split("<")[0].split()
    bases = re.sub(r"\b(?:public|private|protected|virtual)\s+", "", bases.replace("\0", "::"))
    return (name[-1] if name else ""), bases.strip()


def facts(read, paths):
    found = {"classes": {}, "functions": {}, "enums": {}, "dtypes": {}, "macros": {}, "lists": {}, "checks": {}, "words": set(), "files": []}
    for path in sorted(paths):
        if not path.startswith("torch/include/") or not path.endswith((".h", ".hpp", ".cuh")):
            continue
        short = path.removeprefix("torch/include/")
        found["files"].append(short)
        if not WANTED.match(path) or GENERATED.search(path):
            continue
        text = plain(read(path).decode(errors="replace"))
        found["words"].update(re.findall(r"\b[A-Za-z_]\w{3,}\b", text))
        header = Header(text, bool(DEVICE_PATH.search(path)))
        for name, value in header.classes.items():
            # Two classes of one name are in namespaces that are not told apart.
            taken = name in found["classes"] and found["classes"][name]["file"] != short
            found["classes"][f"{name}@{short}" if taken else name] = {"file": short, **value}
        found["enums"].update({name: values for name, values in header.enums.items() if values})
        found["macros"].update(header.macros)
        if header.dtypes:
            found["dtypes"][short] = header.dtypes
        if header.checks:
            found["checks"][short] = header.checks
        if header.words:
            found["lists"][short] = header.words
        for name, shown in header.functions.items():
            found["functions"].setdefault(name, []).extend(shown)
    found["words"] = sorted(found["words"])
    return found


def joined(one, other):
    """The facts of both wheels of a version."""
    return {
        key: {**value, **other[key]} if isinstance(value, dict) else sorted({*value, *other[key]})
        for key, value in one.items()
    }
