"""Lists the sites in Python files that name CUDA, as one JSON object on stdout.

    python scan PATH...
    python scan --fix VERSION [--write] [--device EXPRESSION] PATH...   needs LibCST (fix.py)

`runner scan` runs this folder with any Python from 3.9 on. It reads files and imports none of them; it
writes nothing but its output. The Python decides which syntax is understood.
"""
import ast
import io
import json
import os
import sys
import tokenize
import warnings

import sites
import sources
import table

# The version of both outputs.
FORMAT = 2


def text_of(data):
    """Source text as Python decodes it: with the encoding that it declares."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding, newline=None).read()


def read(path, report):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        report(path, 0, error.strerror)
        return b""


def scan_file(path, data, uses, own_packages, own_names, report):
    """The sites of a file; what keeps it from being read goes to report(file, line, reason)."""
    try:
        found = sites.find(text_of(data), ast.parse(data, path), uses, own_packages, own_names)
    except SyntaxError as error:  # also an encoding that is unknown or not the file's
        report(path, error.lineno or 0, error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        report(path, 0, "its expressions are nested too deeply" if not isinstance(error, ValueError) else str(error))
    else:
        return [{"file": path, **site} for site in found]
    return []


def main(paths):
    warnings.simplefilter("ignore")  # of the scanned sources
    sys.setrecursionlimit(20000)
    uses = table.load()
    unread = []

    def report(file, line, reason):
        unread.append({"file": os.path.normpath(file), "line": line, "reason": str(reason)})

    files = list(sources.python_files(paths, report))
    # torch's own sources are scanned as users of torch.
    own_packages = {sources.own_package(path) for path in files} - {None, "torch"}
    own_names, to_scan = set(), []
    for path in files:
        data = read(path, report)
        own_names |= sites.own_names_of(data)
        if uses.words.search(data):  # most files have no word of the table, and need not be parsed
            to_scan.append((path, data))
    found = [site for path, data in to_scan for site in scan_file(path, data, uses, own_packages, own_names, report)]
    output = {
        "format": FORMAT, "python": "%d.%d.%d" % sys.version_info[:3], "code": uses.code, "files": len(files), "unread": unread,
        "actions": uses.data["actions"], "categories": uses.categories, "sites": found,
    }
    sys.stdout.write(json.dumps(output) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fix"]:
        import fix  # which imports LibCST

        fix.main(FORMAT, *sys.argv[2:])
    else:
        main(sys.argv[1:])
