#!/usr/bin/env bash
# torch 2.13.0: torch.compile of NumPy code takes other elements than NumPy if a slice has a
# negative step and a start or a stop. The array is reversed first, and start and stop are then
# counted in the reversed array: a[4:1:-1] of six elements is a[3:0:-1]. No error, no warning; a
# whole reversal, a[::-1], is right. backend="eager", as here, runs the traced code as it is; the
# default backend gives the same elements. torch 2.15.0 does the same.
#
# Seen, on the CPU, Python 3.11:
#   a[::-1]: NumPy [5, 4, 3, 2, 1, 0], compiled [5, 4, 3, 2, 1, 0]
#   a[4:1:-1]: NumPy [4, 3, 2], compiled [3, 2, 1]
#   a[:3:-1]: NumPy [5, 4], compiled [1, 0]
#   a[3::-1]: NumPy [3, 2, 1, 0], compiled [5, 4, 3, 2]
#   a[-2:-5:-1]: NumPy [4, 3, 2], compiled [3, 2, 1]
#   b[:, 2:0:-1]: NumPy [[2, 1], [5, 4]], compiled [[2, 1, 0], [5, 4, 3]]
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import numpy
import torch

a = numpy.arange(6)
b = numpy.arange(6).reshape(2, 3)
functions = {
    "a[::-1]": lambda: a[::-1],
    "a[4:1:-1]": lambda: a[4:1:-1],
    "a[:3:-1]": lambda: a[:3:-1],
    "a[3::-1]": lambda: a[3::-1],
    "a[-2:-5:-1]": lambda: a[-2:-5:-1],
    "b[:, 2:0:-1]": lambda: b[:, 2:0:-1],
}
for name, function in functions.items():
    compiled = torch.compile(function, backend="eager")
    print(f"{name}: NumPy {function().tolist()}, compiled {compiled().tolist()}")
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
