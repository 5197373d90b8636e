#!/usr/bin/env bash
# torch 2.13.0: torch.special.airy_ai, a smooth function, makes a step of 3e-06 at -2.09: between
# two neighbours of float64, where it should not change in 12 digits. Left of it, to about -5, up to
# two thirds of the digits are wrong; everywhere else it has SciPy's values. Its tables
# (ATen/native/Math.h in the wheel) are those of Cephes, whose denominators have a leading
# coefficient of 1 that is not in the table; torch leaves it out. Far left the term is too small to
# matter. torch 2.15.0 does the same.
#
# Seen, on the CPU, Python 3.11:
#   torch: 0.170053540500 and 0.170050551732
#   SciPy: 0.170050551732 and 0.170050551732
#   good at -8.0
#   good at -5.0
#   relative error at -4.0: 4e-10
#   relative error at -3.0: 1e-08
#   relative error at -2.1: 2e-05
#   good at -2.0
#   good at 0.0
#   good at 2.0
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5 scipy==1.17.1

cat > "$folder/program.py" <<'PROGRAM'
import numpy
import scipy.special
import torch

left, right = numpy.nextafter(-2.09, -3), numpy.nextafter(-2.09, 0)
for name, airy in {
    "torch": lambda x: torch.special.airy_ai(torch.from_numpy(x)).numpy(),
    "SciPy": lambda x: scipy.special.airy(x)[0],
}.items():
    values = airy(numpy.array([left, right]))
    print(f"{name}: {values[0]:.12f} and {values[1]:.12f}")
for x in (-8.0, -5.0, -4.0, -3.0, -2.1, -2.0, 0.0, 2.0):
    ours, theirs = torch.special.airy_ai(torch.tensor(x, dtype=torch.float64)).item(), scipy.special.airy(x)[0]
    print(f"relative error at {x}: {abs(ours / theirs - 1):.0e}" if abs(ours / theirs - 1) > 1e-12 else f"good at {x}")
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
