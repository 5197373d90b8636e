#!/usr/bin/env bash
# run.sh [--thread] PYTHON [pytest arguments]: the shim built with AddressSanitizer and UBSan, and its
# tests (all of tests/shim, or what the arguments choose) run with it. PYTHON has torch and pytest.
# --thread: with ThreadSanitizer instead.
#
# Python and torch are not instrumented: the sanitizers' libraries are loaded into every child
# before anything else. Nothing is suppressed; what leaks are the shim's is decided by reports.py.
# Left out are tests with the mark `unsanitized`, which say why.
set -euo pipefail
SANITIZERS=address,undefined
LIBRARIES="libasan.so libubsan.so"
if [ "$1" = --thread ]; then
    SANITIZERS=thread
    LIBRARIES=libtsan.so
    shift
fi
PYTHON=$1
shift
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../../.." && pwd)
BUILD=${BUILD:-${XDG_CACHE_HOME:-$HOME/.cache}/runner/tests/shim/sanitized-$SANITIZERS}
export CXX=${CXX:-c++}

# With NDEBUG, as torch itself: its headers then hold no checks that its libraries do not make.
cmake -S "$ROOT/shim" -B "$BUILD" -G Ninja -DPython_EXECUTABLE="$PYTHON" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$BUILD/lib" \
    -DCMAKE_CXX_FLAGS="-fsanitize=$SANITIZERS -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
cmake --build "$BUILD"
cmake --install "$BUILD"

REPORTS=$BUILD/reports
rm -rf "$REPORTS"
mkdir -p "$REPORTS"
COMPAT_SHIM_LIBRARY=$(ls "$BUILD"/lib/_compat_shim*.so)
export COMPAT_SHIM_LIBRARY
# libstdc++ as well, or the interceptor of exceptions finds no function to call.
PRELOAD=
for name in $LIBRARIES libstdc++.so.6; do
    PRELOAD+=${PRELOAD:+:}$(realpath "$("$CXX" -print-file-name="$name")")
done
# A bad access aborts the process, and so fails its test. Some tests ask for more memory than there
# is, or load libraries of their own first.
export ASAN_OPTIONS="abort_on_error=1:quarantine_size_mb=16:log_path=$REPORTS/asan:detect_leaks=0"
ASAN_OPTIONS+=":allocator_may_return_null=1:verify_asan_link_order=0"
export UBSAN_OPTIONS="print_stacktrace=1:log_path=$REPORTS/ubsan"
# A process with threads that forks, as many of the tests are, goes on.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1:die_after_fork=0:exitcode=0:log_path=$REPORTS/tsan"
status=0
LD_PRELOAD=$PRELOAD "$PYTHON" -m pytest -q -p no:cacheprovider -m "not unsanitized" \
    "${@:-$ROOT/tests/shim}" || status=$?

# Leaks: LeakSanitizer looks at the end of a process, and does not come to an end itself in one that
# has forked. So groups of test_machinery.py that do not, in processes of their own (minutes each).
[ $SANITIZERS = thread ] || for group in transforms objects threads; do
    echo "looking for leaks: $group"
    ACTIVATE_TORCH_DEVICE=1 TORCHDEVICE_MODE=missing OMP_NUM_THREADS=1 LD_PRELOAD=$PRELOAD \
        PYTHONPATH=$ROOT/shim/python/activate:$ROOT/tests/shim LSAN_OPTIONS=exitcode=0 \
        ASAN_OPTIONS="${ASAN_OPTIONS/detect_leaks=0/detect_leaks=1}" "$PYTHON" -c \
        "from machinery import harness; harness.run('$group', 'cuda')" >"$REPORTS/../$group.out" ||
        status=1
done
"$PYTHON" "$HERE/reports.py" "$REPORTS" || status=1
exit $status
