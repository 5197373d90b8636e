#!/usr/bin/env bash
# Makes the golden files of other versions, and checks what `import` makes of them. For a night: it takes minutes a version.
#   nightly.sh RUNNER PYTHON…    unittest of each Python; pytest 7, 8 and 9 of the first, installed with pip
# Prints the table of measure_import.py. Exits 1 if a log is read wrongly and nothing says so.
set -euo pipefail
[ $# -ge 2 ] || { echo "nightly.sh RUNNER PYTHON…" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
runner=$(realpath "$1")
python=$2
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/regenerate.sh" "$work/made" unittest "$@"
for kind in unittest odd; do "$here/regenerate_whole.sh" "$work/made" $kind "$@"; done
for version in 7 8 9; do
    "$python" -m venv "$work/pytest-$version"
    "$work/pytest-$version/bin/python" -m pip install -q "pytest==$version.*" pytest-xdist pytest-timeout
    [ $version = 9 ] || "$work/pytest-$version/bin/python" -m pip install -q pytest-subtests
    "$here/regenerate.sh" "$work/made" pytest "$work/pytest-$version/bin/python"
    for kind in pytest odd_pytest; do
        "$here/regenerate_whole.sh" "$work/made" $kind "$work/pytest-$version/bin/python"
    done
done
"$python" "$here/../measure_import.py" "$runner" --corpus "$work/made" --list wrong
