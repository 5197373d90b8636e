#!/usr/bin/env bash
# run.sh --minutes N [TARGET…]: libFuzzer on each target for so long, under AddressSanitizer and UBSan;
# all targets without one. The first corpus is made from the golden files; what is found anew is kept
# in the build folder for the next time. Exits 1 at a finding, whose input it names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() { echo "run.sh --minutes N [TARGET…]" >&2; exit 2; }
[ "${1-}" = --minutes ] && [[ ${2-} =~ ^[1-9][0-9]*$ ]] || usage
seconds=$(($2 * 60))
shift 2
BUILD=build/fuzz
[ -f $BUILD/build.ninja ] || cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
[ $# -gt 0 ] || set -- $(cd $BUILD/bin && ls -d fuzz_* | grep -v replay | sed 's/^fuzz_//')
found=0
for target in "$@"; do
    [ -x "$BUILD/bin/fuzz_$target" ] || { echo "run.sh: no target $target" >&2; usage; }
    corpus=$BUILD/corpus/$target
    "$BUILD/bin/write_seeds" "$target" "$corpus"
    log=$BUILD/$target.log
    if "$BUILD/bin/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=4096 \
        -artifact_prefix="$BUILD/$target-" "$corpus" >"$log" 2>&1; then
        echo "$target: $(tail -1 "$log")"
    else
        found=1
        echo "$target: $(grep -E 'SUMMARY|ERROR|Test unit written' "$log" | head -3 | tr '\n' ' ')($log)"
    fi
done
exit $found
