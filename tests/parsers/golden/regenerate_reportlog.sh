#!/usr/bin/env bash
# Makes JSON lines by pytest-reportlog and the oracle's model of the same run; goldens.py packs those that are kept here.
#   regenerate_reportlog.sh FOLDER VERSION…     FOLDER/reportlog-pytest-9.2.0/
# The folder in which the tests ran is written as /suite, Python's as /python.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
made=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

for version in "$@"; do
    out=$made/reportlog-pytest-$version
    rm -rf "$out" "$work/suite"
    mkdir -p "$out"
    cp -r "$here/fixtures/pytest" "$work/suite"
    rm "$work/suite/test_crash.py"
    python3 -m venv "$work/v-$version"
    python=$work/v-$version/bin/python
    packages=("pytest==$version" pytest-reportlog)
    [ "${version%%.*}" -ge 9 ] || packages+=(pytest-subtests)  # of its own since 9
    "$python" -m pip install --quiet "${packages[@]}"
    (cd "$work/suite" && PYTHONPATH=$here ORACLE=$out/model.json "$python" -m pytest -q -p no:cacheprovider -p oracle_pytest \
        --continue-on-collection-errors --report-log="$out/run.jsonl" >/dev/null) || true
    sed -i -e "s|$work/suite|/suite|g" -e "s|0x[0-9a-f]*|0x0|g" -e "s|$("$python" -c 'import sys; print(sys.prefix)')|/python|g" \
        -e "s|$("$python" -c 'import sys; print(sys.base_prefix)')|/python|g" \
        -e 's|"\(duration\|start\|stop\)": [0-9.e-]*|"\1": 0.25|g' "$out/run.jsonl" "$out/model.json"
done
