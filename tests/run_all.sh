#!/usr/bin/env bash
# run_all.sh BUILD PYTHON [--changed [BASE]]: every test there is, and one closing line for all of them.
# --changed: those that a change since the commit BASE (default: HEAD) can affect (affected.py).
set -uo pipefail
BUILD=$1
PYTHON=$2
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 2
passed=0 failed=0 skipped=0 bad=0
skips=$BUILD/skipped.log  # a test a line: what it lacks here
told=$BUILD/tests-C++.told  # ctest's log, with the programs' output

count() { grep -oE "[0-9]+ $1" <<<"$2" | head -1 | grep -oE '[0-9]+' || echo 0; }

export COMPAT_RUNNER=$BUILD/bin/runner
# One shim for all tests; kept beside the program, so that `cmake --install` brings it along.
COMPAT_SHIM_LIBRARY=$("$COMPAT_RUNNER" prepare suites/conformance --python "$PYTHON" | sed -n 's/^shim: //p')
[ -n "$COMPAT_SHIM_LIBRARY" ] || { echo "the shim could not be built"; bad=1; }
export COMPAT_SHIM_LIBRARY
mkdir -p "$BUILD/share/runner/shims"
shim=$(dirname "$COMPAT_SHIM_LIBRARY")  # a folder for what it was built from
kept=$BUILD/share/runner/shims/$(basename "$shim")
[ -d "$kept" ] || { rm -rf "$kept.new"; cp -R "$shim" "$kept.new" && mv "$kept.new" "$kept"; }
# Tests do not let Python write beside what they run, and each process would compile it.
"$PYTHON" -m compileall -q runner/harness shim/python suites/conformance >/dev/null

# Parts of pytest's tests, each with what its tests share. ctest's tests, which measure time, run before them.
declare -A PARTS=(
    [e2e]="tests/e2e --ignore-glob=*/test_[a-f]*.py --ignore=tests/e2e/test_porting.py --ignore=tests/e2e/test_scan.py --ignore=tests/e2e/test_torture.py"
    [e2e-a-f]="tests/e2e --ignore-glob=*/test_[g-z]*.py"
    [shim]=tests/shim
    [porting]="tests/e2e/test_porting.py tests/e2e/test_scan.py" [torture]=tests/e2e/test_torture.py
    [harness]="tests/harness tests/hub"
    [house]="tests/test_house.py tests/test_affected.py tests/gpu tests/releases tests/suites"
)
ORDER=(C++ shim e2e e2e-a-f porting torture harness house)  # the longest of pytest's first
PROGRAMS=()  # arguments of ctest
if [ "${3-}" = --changed ]; then
    affected=$("$PYTHON" tests/affected.py "$BUILD" "${4:-HEAD}") || exit 2
    if [ "$affected" != everything ]; then
        programs=$(sed -n 's/^program //p' <<<"$affected" | paste -sd'|')
        PROGRAMS=(-R "^($programs)\$")
        PARTS=([affected]=$(sed -n 's/^file //p' <<<"$affected" | tr '\n' ' '))
        ORDER=(${programs:+C++} affected)
    fi
fi

part() {
    local status log=$BUILD/tests-$1.log
    if [ "$1" = C++ ]; then
        ctest --test-dir "$BUILD" -j2 "${PROGRAMS[@]}" --output-on-failure --no-tests=error >"$log" 2>&1
        status=$?
        # `ctest --show-only` (affected.py, whose tests come later) writes it anew.
        cp "$BUILD/Testing/Temporary/LastTest.log" "$told"
    else
        # shellcheck disable=SC2086  # several arguments
        "$PYTHON" -m pytest -q -rs --durations=20 -p no:cacheprovider ${PARTS[$1]} >"$log" 2>&1
        status=$?
    fi
    echo $status >"$BUILD/tests-$1.status"
}
# A part is a child on one core, and waits for others: one more at once than there are cores.
free=$(($(getconf _NPROCESSORS_ONLN) + 1))
for name in "${ORDER[@]}"; do
    [ "$name" != C++ ] || { part "$name"; continue; }
    if [ "$free" -gt 0 ]; then free=$((free - 1)); else wait -n; fi
    part "$name" &
done
wait

: >"$skips"
for part in "${ORDER[@]}"; do
    echo "== $part"
    log=$BUILD/tests-$part.log
    ended=$(cat "$BUILD/tests-$part.status")
    [ "$ended" = 0 ] || bad=1
    if [ "$part" = C++ ]; then
        [ "$ended" = 0 ] || grep -vE ' Passed ' "$log"
        # GoogleTest: "[  PASSED  ] 12 tests."; "[  FAILED  ] 2 tests, listed below:"; "FILE:LINE: Skipped", the reason,
        # "[  SKIPPED ] NAME (0 ms)". unittest: "Ran 3 tests". A program that died counts nothing: it is one failure of
        # ctest's "100% tests passed, 0 tests failed out of 214".
        read -r p f < <(awk '/^\[  PASSED  \] [0-9]+ test/ { p += $4 } /^Ran [0-9]+ test/ { p += $2 }
            /^\[  FAILED  \] [0-9]+ tests?, listed/ { f += $4 } END { print p + 0, f + 0 }' "$told")
        programs=$(count 'tests failed' "$(grep -E 'tests passed, [0-9]+ tests failed out of' "$log")")
        [ "$f" -ge "$programs" ] || f=$programs
        s=$(awk '/: Skipped$/ { getline reason } /^\[  SKIPPED \] .* \(/ { print $4 ": " reason }' "$told" | tee -a "$skips" | wc -l)
        echo "$p passed, $f failed"
    else
        [ "$ended" = 0 ] || cat "$log"
        grep '^SKIPPED ' "$log" >>"$skips"
        summary=$(tail -1 "$log")
        echo "$summary"
        p=$(count passed "$summary") s=$(count skipped "$summary")
        f=$(($(count failed "$summary") + $(count 'errors?' "$summary")))
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done

# A tool that died without counting is a failure, too.
[ "$bad" = 1 ] && [ "$failed" = 0 ] && failed=1
if [ "$skipped" -gt 0 ]; then
    echo "== Skipped"
    cat "$skips"
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
