#!/usr/bin/env bash
# Makes logs of whole runs with the frameworks as they really print: the fixtures of regenerate.sh,
# but for those that end their process, in one run of each form. goldens.py packs those that are kept.
#   regenerate_whole.sh FOLDER unittest PYTHON…    FOLDER/whole-unittest-3.12.1/
#   regenerate_whole.sh FOLDER odd PYTHON…         odd-unittest-3.9.18/: tests that print what a run looks like
#   regenerate_whole.sh FOLDER odd_pytest PYTHON…  odd-pytest-8.4.2/: tests with what is hard to read
#   regenerate_whole.sh FOLDER pytest PYTHON…      whole-pytest-8.4.2/; with pytest-xdist, up to 8 pytest-subtests
# A form that a Python cannot print (unittest-xml-reporting where it is not installed) is left out. Beside each log what the framework's own objects say (oracle_*.py).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
made=$(cd "$1" && pwd)
framework=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# NAME ARGUMENT…: one log.
log() {
    local name=$1
    shift
    (cd "$suite" && env -i "${environment[@]}" "$python" "$@" >"$out/$name.log" 2>&1 </dev/null) 2>/dev/null || true
}

unittest_logs() {
    log discover -m unittest discover -v
    log quiet -m unittest discover
    log buffered -m unittest discover -v -b
    if "$python" -c 'import xmlrunner' 2>/dev/null; then log xmlrunner -m xmlrunner discover -v -o "$work/xml"; fi
    (cd "$suite" && env -i "${environment[@]}" "$python" "$here/oracle_unittest.py" --discover \
        >"$out/model.json" 2>/dev/null </dev/null)
}

# Each module in each form, with what its own result was told.
odd_logs() {
    local module form environment=("${environment[@]}" PYTHONUNBUFFERED=1)
    for module in "$suite"/test_*.py; do
        module=$(basename "$module" .py)
        for form in -v "" "-v -b"; do
            # shellcheck disable=SC2086
            log "$module$(tr -d ' ' <<<"$form")" "$here/oracle_text.py" "$out/$module.json" $form "$module"
        done
    done
}

# NAME ARGUMENT…: what pytest's objects say of the same run.
pytest_model() {
    (cd "$suite" && env -i "${environment[@]}" PYTHONPATH="$here" ORACLE="$out/$1.json" ORACLE_WHOLE=1 \
        "$python" -m pytest -p no:cacheprovider -p oracle_pytest "${@:2}" >/dev/null 2>&1 </dev/null) || true
}

pytest_logs() {
    local all=(-m pytest -p no:cacheprovider --continue-on-collection-errors)
    log default "${all[@]}"
    log verbose "${all[@]}" -v
    log quiet "${all[@]}" -q
    log summary "${all[@]}" -rA
    log summary_verbose "${all[@]}" -v -rA --durations=3
    log summary_of_some "${all[@]}" -q -rfEsxX
    log line "${all[@]}" --tb=line -rA
    log short "${all[@]}" --tb=short
    log native "${all[@]}" --tb=native -v
    log no "${all[@]}" --tb=no -q -rA
    log coloured "${all[@]}" --color=yes -v
    log xdist_verbose "${all[@]}" -n 2 -v
    pytest_model model --continue-on-collection-errors
    log stopped -m pytest -p no:cacheprovider -v test_all_pass.py test_states.py -x
    pytest_model stopped.model test_all_pass.py test_states.py -x
    log interrupted -m pytest -p no:cacheprovider
    pytest_model interrupted.model
    cp "$here/fixtures/pytest/test_crash.py" "$suite"
    log crashed -m pytest -p no:cacheprovider -v -n 2 test_crash.py test_all_pass.py
}

# Each module and folder in each form, with what pytest's own objects said in the first one's process.
odd_pytest_logs() {
    local of form more environment=("${environment[@]}" PYTHONPATH="$here" ORACLE_WHOLE=1)
    for of in $(cd "$suite" && ls -d test_*); do
        environment+=(ORACLE="$out/${of%.py}.json")
        more=
        if [ "$of" = test_items ]; then more="--doctest-modules --doctest-glob=*.txt"; fi
        while read -r form; do
            # shellcheck disable=SC2086
            log "${of%.py}$(tr -d ' ' <<<"$form")" -m pytest -p no:cacheprovider -p oracle_pytest $form $more "$of"
            environment+=(ORACLE=/dev/null)
        done <<<"-v
-q

-rA"
    done
    environment+=(PYTHONPATH=)
    for of in dies interrupted passes broken_conftest; do
        for form in "" -q; do
            # shellcheck disable=SC2086
            log "end-$of$form" -m pytest -p no:cacheprovider $form "ends/$of"
        done
    done
}

for python in "$@"; do
    case $framework in
        unittest | odd) version=$("$python" -c 'import platform; print(platform.python_version())') ;;
        pytest | odd_pytest) version=$("$python" -c 'import pytest; print(pytest.__version__)') ;;
    esac
    prefix=$("$python" -c 'import sys; print(sys.prefix)')
    base=$("$python" -c 'import sys; print(sys.base_prefix)')
    environment=(PATH="$PATH" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1)
    suite=$work/$framework-$version
    fixtures=$framework
    folder=whole-$framework
    if [ "$framework" = odd ]; then fixtures=unittest_odd folder=odd-unittest; fi
    if [ "$framework" = odd_pytest ]; then fixtures=pytest_odd folder=odd-pytest; fi
    cp -r "$here/fixtures/$fixtures" "$suite"
    rm -f "$suite/test_crash.py" "$suite/test_skipped_import.py"
    out=$made/$folder-$version
    rm -rf "$out"
    mkdir -p "$out"
    "${framework}_logs"
    sed -i -e "s|$suite|/suite|g" -e "s|$work|/results|g" -e "s|$prefix|/python|g" -e "s|$base|/python|g" \
        -e "s|/tmp/pytest-of-[a-z]*|/results|g" -e "s|0x[0-9a-f]*|0x0|g" "$out"/*
done
