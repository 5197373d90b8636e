"""Prints the unified diff of two text files. Arguments: OLD NEW NAME, where NAME is what both are called."""
import difflib
import pathlib
import sys


def lines_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8").splitlines(keepends=True)


def main(old, new, name):
    for line in difflib.unified_diff(lines_of(old), lines_of(new), name, name):
        sys.stdout.write(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main(*sys.argv[1:])
