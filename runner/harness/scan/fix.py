"""Writes the safe replacements, for `runner scan --fix`: as a patch, or into the files.

    python scan --fix VERSION [--write] [--device EXPRESSION] PATH...

VERSION is the torch that the code runs with. EXPRESSION is written for a device. LibCST changes the expressions of the
sites and keeps every other byte. A file is changed as a whole or not at all: the result has to parse, and each change has
to be found. Not here: what a site is
(sites.py), and which replacement it has (cuda_uses.json).
"""
import argparse
import ast
import json
import os
import re
import signal
import sys
import tempfile

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

import sites
import sources
import table


def release(version):
    """"2.13.0+cpu" -> (2, 13)."""
    return tuple(int(part) for part in re.match(r"(\d+)(?:\.(\d+))?", version).groups(default="0"))


def span(node, lines):
    """((line, column), (line, column)) of a node of ast, in characters as LibCST counts."""
    def column(line, offset):
        return len(lines[line - 1].encode()[:offset].decode())

    return (node.lineno, column(node.lineno, node.col_offset)), (node.end_lineno, column(node.end_lineno, node.end_col_offset))


class Rewriter(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, edits):
        super().__init__()
        self.edits = edits  # (kind, span) -> new source
        self.done = set()

    def take(self, kind, node):
        place = self.get_metadata(PositionProvider, node)
        key = kind, ((place.start.line, place.start.column), (place.end.line, place.end.column))
        if key in self.edits:
            self.done.add(key)
        return self.edits.get(key)

    def expression(self, original, updated):
        source = self.take("expression", original)
        if source is None:
            return updated
        return cst.parse_expression(source).with_changes(lpar=updated.lpar, rpar=updated.rpar)

    def leave_Attribute(self, original_node, updated_node):
        return self.expression(original_node, updated_node)

    def leave_Name(self, original_node, updated_node):
        return self.expression(original_node, updated_node)

    def leave_SimpleString(self, original_node, updated_node):
        return self.expression(original_node, updated_node)

    def leave_Call(self, original_node, updated_node):
        source = self.take("method", original_node)
        if source is None:
            return updated_node
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")) if updated_node.args else cst.MaybeSentinel.DEFAULT
        return updated_node.with_changes(
            func=updated_node.func.with_changes(attr=cst.Name("to")),
            args=[cst.Arg(cst.parse_expression(source), comma=comma), *updated_node.args])


def edits_of(finder, text, marked, options, without):
    """(number of sites that are changed, {(kind, span): new source})."""
    lines = text.removeprefix("\ufeff").split("\n")
    edits, changed = {}, 0
    for site in sorted(finder.sites, key=lambda one: (one.node.lineno, one.node.col_offset)):
        if not site.fix or site.fix in without or sites.is_suppressed(site, finder, marked):
            continue
        if site.use.fix_torch and release(options.torch) < release(site.use.fix_torch):
            continue
        changed += 1
        for kind, node, source in sites.edits(site):
            edits[kind, span(node, lines)] = options.device if source == sites.DEVICE else source
    return changed, edits


def rewrite(data, edits):
    """The new bytes of a file."""
    wrapper = MetadataWrapper(cst.parse_module(data))
    rewriter = Rewriter(edits)
    new = wrapper.visit(rewriter).bytes
    if rewriter.done != set(edits):
        raise ValueError(f"{len(set(edits) - rewriter.done)} changes were not found in its syntax tree")
    ast.parse(new)
    return new


def patch_of(path, old, new):
    """A unified diff that `git apply` and `patch -p1` take."""
    import difflib
    name = os.path.relpath(path)
    lines = [text.decode("utf-8").split("\n") for text in (old, new)]
    parts = [[line + "\n" for line in part[:-1]] + ([part[-1]] if part[-1] else []) for part in lines]
    for line in difflib.unified_diff(*parts, f"a/{name}", f"b/{name}"):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def replace(path, old, data):
    """Writes a file in one step, with its old permissions, unless it is no longer `old`. A link stays one."""
    path = os.path.realpath(path)
    if not os.stat(path).st_mode & 0o222:
        raise PermissionError("it is read-only")
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".runner-scan-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(beside, os.stat(path).st_mode & 0o7777)
        with open(path, "rb") as file:
            if file.read() != old:
                raise Changed("it was changed meanwhile: run it again")
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


class Changed(OSError):
    """Somebody else wrote the file after it was read."""


def is_expression(text):
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def options_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("torch")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--device", default=sites.DEVICE)
    return parser.parse_args(words)


def main(form, *words):
    import warnings
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20000)
    options = options_of(words)
    if not is_expression(options.device):
        sys.stdout.write(json.dumps({"format": form, "error": f"--device {options.device}: not a Python expression"}) + "\n")
        return
    uses = table.load()
    skipped, read = [], []

    def skip(file, line, reason):
        skipped.append({"file": os.path.normpath(file), "line": line, "reason": str(reason)})

    roots = [os.path.realpath(path) for path in options.paths]
    for path in sources.python_files(options.paths, skip):
        real = os.path.realpath(path)
        if os.path.islink(path) and not any(os.path.commonpath([real, root]) == root for root in roots):
            skip(path, 0, "left as it is: a link to a file outside the paths")
            continue
        try:
            with open(path, "rb") as file:
                data = file.read()
            if uses.words.search(data):
                read.append((path, data, sites.finder_of(ast.parse(data, path), uses)))
        except SyntaxError as error:
            skip(path, error.lineno or 0, error.msg)
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            skip(path, 0, getattr(error, "strerror", None) or str(error) or type(error).__name__)
    # `batch.cuda()` may be the method of a class of the project's own.
    own = {method for _, _, finder in read for _, method in finder.own_methods}
    without = {"method"} if "cuda" in own else set()
    rewritten = []
    for path, data, finder in read:
        try:
            text = data.decode("utf-8")
            changed, edits = edits_of(finder, text, sites.suppressed_lines(text, uses.code), options, without)
            if edits:
                rewritten.append((path, data, rewrite(data, edits), changed))
        except (OSError, ValueError, IndexError, SyntaxError, RecursionError, cst.ParserSyntaxError) as error:
            skip(path, 0, f"left as it is: {error}")
    patch, changes, files, conflict = [], 0, 0, False
    # An interrupt leaves all files as they were, or comes too late.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    for path, data, new, changed in rewritten:
        try:
            if options.write:
                replace(path, data, new)
        except OSError as error:
            skip(path, 0, f"left as it is: {error}")
            conflict = conflict or isinstance(error, Changed)
            continue
        patch += patch_of(path, data, new)
        changes, files = changes + changed, files + 1
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    output = {"format": form, "patch": "".join(patch), "changes": changes, "files": files, "skipped": skipped,
              "own_cuda": bool(without), "conflict": conflict}
    sys.stdout.write(json.dumps(output) + "\n")
