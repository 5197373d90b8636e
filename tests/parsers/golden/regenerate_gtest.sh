#!/usr/bin/env bash
# Makes logs of GoogleTest with binaries built here; goldens.py packs those that are kept.
#   regenerate_gtest.sh FOLDER SOURCE…    source trees of GoogleTest (Debian: /usr/src/googletest): FOLDER/gtest-1.12.1/
# NAME.log is what the binary printed, NAME.json what the same run wrote with --gtest_output=json. With --gtest_repeat the JSON is of
# the last iteration.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
made=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kinds="states passes crashes environment skipping teardown"
for source in "$@"; do
    version=$(sed -n 's/^set(GOOGLETEST_VERSION \(.*\))$/\1/p' "$source/CMakeLists.txt")
    out=$made/gtest-$version
    rm -rf "$out"
    mkdir -p "$out"
    flags=(-std=c++17 -O0 -I"$source/googletest/include" -I"$source/googletest")
    g++ "${flags[@]}" -c "$source/googletest/src/gtest-all.cc" -o "$work/gtest.o"
    g++ "${flags[@]}" -c "$source/googletest/src/gtest_main.cc" -o "$work/main.o"
    for kind in $kinds; do
        (cd "$here/fixtures/gtest" && g++ "${flags[@]}" "-D${kind^^}" states.cc "$work/gtest.o" "$work/main.o" -lpthread -o "$work/$kind")
    done
    # run NAME KIND [option…]
    run() {
        local name=$1 kind=$2
        shift 2
        (cd "$work" && env -i LC_ALL=C.UTF-8 "./$kind" "--gtest_output=json:$out/$name.json" "$@" >"$out/$name.log" 2>&1 </dev/null) \
            2>/dev/null || true
        sed -i -e "s|$source/googletest|/googletest|g" -e "s|$work|/suite|g" "$out/$name".log
        [ ! -e "$out/$name.json" ] || sed -i -e "s|$source/googletest|/googletest|g" -e "s|$work|/suite|g" "$out/$name.json"
    }
    for kind in $kinds; do
        run "$kind" "$kind"
        run "$kind-repeat" "$kind" --gtest_repeat=2
    done
    run states-disabled states --gtest_also_run_disabled_tests
    run states-filter states '--gtest_filter=States.*:-*Fail'
    run states-none states '--gtest_filter=Nothing.*'
done
