#!/usr/bin/env bash
# run_all.sh BUILD PYTHON: every test there is, C++ first, and one closing line for all of them.
set -uo pipefail
BUILD=$1
PYTHON=$2
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 2
passed=0 failed=0 skipped=0 bad=0
skips=$BUILD/skipped.log  # a test a line: what it lacks here

count() { grep -oE "[0-9]+ $1" <<<"$2" | head -1 | grep -oE '[0-9]+' || echo 0; }

echo "== C++ (ctest)"
log=$BUILD/ctest.log
ctest --test-dir "$BUILD" -j"$(getconf _NPROCESSORS_ONLN)" --output-on-failure --no-tests=error >"$log" 2>&1 || { bad=1; grep -vE ' Passed ' "$log"; }
# "100% tests passed, 0 tests failed out of 214"
summary=$(grep -E 'tests passed, [0-9]+ tests failed out of' "$log")
total=$(grep -oE 'out of [0-9]+' <<<"$summary" | grep -oE '[0-9]+' || echo 0)
f=$(count 'tests failed' "$summary")
# GoogleTest: "FILE:LINE: Skipped", the reason, "[  SKIPPED ] NAME (0 ms)"
awk '/: Skipped$/ { getline reason } /^\[  SKIPPED \] .* \(/ { print $4 ": " reason }' \
    "$BUILD/Testing/Temporary/LastTest.log" >"$skips"
s=$(wc -l <"$skips")
passed=$((passed + total - f - s)) failed=$((failed + f)) skipped=$((skipped + s))
echo "$summary"

export COMPAT_RUNNER=$BUILD/bin/runner
# One shim for all tests; kept beside the program, so that `cmake --install` brings it along.
COMPAT_SHIM_LIBRARY=$("$COMPAT_RUNNER" prepare suites/conformance --python "$PYTHON" | sed -n 's/^shim: //p')
[ -n "$COMPAT_SHIM_LIBRARY" ] || { echo "the shim could not be built"; bad=1; }
export COMPAT_SHIM_LIBRARY
mkdir -p "$BUILD/share/runner/shims"
shim=$(dirname "$COMPAT_SHIM_LIBRARY")  # a folder for what it was built from
kept=$BUILD/share/runner/shims/$(basename "$shim")
[ -d "$kept" ] || { rm -rf "$kept.new"; cp -R "$shim" "$kept.new" && mv "$kept.new" "$kept"; }
declare -A PARTS=(
    [house]="tests/test_house.py tests/gpu" [suites]=tests/suites [harness]=tests/harness
    [e2e]="tests/e2e --ignore=tests/e2e/test_porting.py --ignore=tests/e2e/test_scan.py --ignore=tests/e2e/test_torture.py"
    [porting]="tests/e2e/test_porting.py tests/e2e/test_scan.py tests/e2e/test_torture.py"
    [shim]="tests/shim --ignore=tests/shim/test_machinery.py" [machinery]=tests/shim/test_machinery.py
)
# Nearly every test is a child on one core: two lanes, about as long as each other.
lane() {
    for part in "$@"; do
        # shellcheck disable=SC2086  # several arguments
        "$PYTHON" -m pytest -q -rs --durations=20 -p no:cacheprovider ${PARTS[$part]} >"$BUILD/pytest-$part.log" 2>&1
        echo $? >"$BUILD/pytest-$part.status"
    done
}
lane shim machinery porting &
lane house suites harness e2e
wait
for part in house suites harness e2e porting shim machinery; do
    echo "== Python (${PARTS[$part]})"
    log=$BUILD/pytest-$part.log
    [ "$(cat "$BUILD/pytest-$part.status")" = 0 ] || { bad=1; cat "$log"; }
    grep '^SKIPPED ' "$log" >>"$skips"
    summary=$(tail -1 "$log")
    echo "$summary"
    passed=$((passed + $(count passed "$summary"))) skipped=$((skipped + $(count skipped "$summary")))
    failed=$((failed + $(count failed "$summary") + $(count 'errors?' "$summary")))
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
