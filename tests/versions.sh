#!/usr/bin/env bash
# Builds the shim for versions of torch and runs its tests with each, one after the other:
#   tests/versions.sh [--smoke] [--keep] VERSION…    e.g. 2.10.0 2.15.0 2.13.0+cpu
# --smoke: the conformance suite and test_hosts.py instead of all tests of the shim
# --keep: the environments stay in $XDG_CACHE_HOME/runner/tests/versions for the next time
# PYTHON: the interpreter of the environments (default python3). A CUDA build takes 5 GB of disk.
# Ends with one line a version; exits 1 if any failed. By hand, not in CI.
set -uo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PLACE=${XDG_CACHE_HOME:-$HOME/.cache}/runner/tests/versions
TESTS=(.)
KEEP=
while :; do
    case ${1-} in
        --smoke) TESTS=(test_hosts.py "test_torch.py::test_the_conformance_suite_passes_or_skips"); shift ;;
        --keep) KEEP=1; shift ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || { sed -n '2,7s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# run NAME COMMAND…: its output goes to a log; one line if it fails.
run() {
    local name=$1
    shift
    "$@" >>"$folder/log" 2>&1 && return 0
    results+=("$version: $name failed (its output: $folder/log)")
    bad=1
    return 1
}

one_version() {
    run "pip install" "${PYTHON:-python3}" -m venv "$folder/venv" || return
    local python=$folder/venv/bin/python
    # Where a system pins torch, the version asked for is installed all the same.
    PIP_CONSTRAINT=/dev/null run "pip install" "$python" -m pip install -q "torch==$version" -r "$ROOT/tests/requirements.txt" || return
    run build cmake -S "$ROOT/shim" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DPython_EXECUTABLE="$python" -DCMAKE_INSTALL_PREFIX="$folder/lib" || return
    run build cmake --build "$folder/build" || return
    run build cmake --install "$folder/build" || return
    local library
    library=$(ls "$folder"/lib/_compat_shim.*.so)
    (cd "$ROOT/tests/shim" && COMPAT_SHIM_LIBRARY=$library "$python" -m pytest -q -rf "${TESTS[@]}") >"$folder/tests.log" 2>&1 || bad=1
    results+=("$version: Python $("$python" -c 'import platform; print(platform.python_version())'), $(tail -n 1 "$folder/tests.log") ($folder/tests.log)")
}

bad=0
results=()
for version in "$@"; do
    folder=$PLACE/$version
    mkdir -p "$folder"
    : >"$folder/log"
    one_version
    [ -n "$KEEP" ] || rm -rf "$folder/venv" "$folder/build" "$folder/lib"
done
printf '%s\n' "${results[@]}"
exit $bad
