#!/usr/bin/env bash
# Makes logs with the frameworks as they really print; goldens.py packs those that are kept here.
#   regenerate.sh FOLDER unittest PYTHON…    one folder a Python version: FOLDER/unittest-3.12.1/
#   regenerate.sh FOLDER pytest PYTHON…      each with its own pytest:    FOLDER/pytest-8.4.2/
# The folder in which the fixtures ran is written as /suite, Python's as /python; each log's exit status stands beside it,
# and where the framework's own objects could be asked, what they say (oracle_*.py). NAME.harness.log,
# NAME.harness.status and NAME.events.jsonl are of the same module run by our harness.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
harness=$(cd "$here/../../../runner/harness" && pwd)/main.py
harness_folder=$(dirname "$harness")
mkdir -p "$1"
made=$(cd "$1" && pwd)
framework=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for python in "$@"; do
    case $framework in
        unittest) version=$("$python" -c 'import platform; print(platform.python_version())') ;;
        pytest) version=$("$python" -c 'import pytest; print(pytest.__version__)') ;;
    esac
    prefix=$("$python" -c 'import sys; print(sys.prefix)')
    base=$("$python" -c 'import sys; print(sys.base_prefix)')
    suite=$work/$framework-$version
    cp -r "$here/fixtures/$framework" "$suite"
    out=$made/$framework-$version
    mkdir -p "$out"
    for module in "$suite"/test_*.py; do
        name=$(basename "$module" .py)
        oracle=()
        case $framework in
            unittest)
                command=("$python" -m unittest -v "$name")
                oracle=("$python" "$here/oracle_unittest.py" "$name")
                ;;
            pytest)
                command=("$python" -m pytest -v -p no:cacheprovider "$name.py")
                oracle=("$python" -m pytest -v -p no:cacheprovider -p oracle_pytest "$name.py")
                ;;
        esac
        status=0
        environment=(PATH="$PATH" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1)
        (cd "$suite" && env -i "${environment[@]}" "${command[@]}" >"$out/$name.log" 2>&1 \
            </dev/null) 2>/dev/null || status=$?
        # A module that ends its process, or cannot be loaded under its own name, has no model.
        model=$out/$name.model.json
        rm -f "$model"
        (cd "$suite" && env -i "${environment[@]}" PYTHONPATH="$here" ORACLE="$work/model" \
            "${oracle[@]}" >"$work/out" 2>/dev/null </dev/null) 2>/dev/null || true
        [ "$framework" = unittest ] && mv "$work/out" "$work/model"
        if [ -s "$work/model" ]; then mv "$work/model" "$model"; else : >"$work/model"; fi
        # The same module under our harness: its events and the log that belongs to them.
        harness_status=0
        (cd "$suite" && env -i "${environment[@]}" "$python" "$harness" \
            --framework "$framework" --module "$name.py" --root . --events "$work/events.jsonl" \
            >"$out/$name.harness.log" 2>&1 </dev/null) 2>/dev/null || harness_status=$?
        echo "$harness_status" >"$out/$name.harness.status"
        mv "$work/events.jsonl" "$out/$name.events.jsonl"
        sed -i -e "s|$suite|/suite|g" -e "s|$work|/results|g" -e "s|$prefix|/python|g" \
            -e "s|$base|/python|g" -e "s|$harness_folder|/harness|g" \
            -e "s|0x[0-9a-f]*|0x0|g" "$out/$name".*log "$out/$name".*json*
        echo "$status" >"$out/$name.status"
    done
done
