#!/usr/bin/env bash
# Builds the runner for macOS on arm64, on Debian, and looks up every symbol that it leaves
# undefined. Nothing is run: the result is a Mach-O file. Needs the packages of
# bootstrap.sh, dpkg-dev, perl, tcl and a Python with venv. docs/design/macos.md.
#
#   tests/cross/macos.sh            compiler, libraries, the program `runner`, its symbols
#   tests/cross/macos.sh tests      also the C++ tests, which do not compile yet
#   tests/cross/macos.sh setup      compiler and libraries only
#
# All of it lies in build/macos, and is made once. COMPAT_ZIG_PYTHON names a Python that has ziglang.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$ROOT/build/macos
SYSROOT=$WORK/sysroot
SOURCES=(googletest libzstd pugixml re2 sqlite3 yaml-cpp zlib)
JOBS=${COMPAT_BUILD_JOBS:-2}

say() { printf 'macos: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

compiler() {
    if [ -z "${COMPAT_ZIG_PYTHON-}" ]; then
        COMPAT_ZIG_PYTHON=$WORK/python/bin/python
        if [ ! -x "$COMPAT_ZIG_PYTHON" ] || ! "$COMPAT_ZIG_PYTHON" -c 'import ziglang' 2>/dev/null; then
            say "installing ziglang in build/macos/python"
            "${COMPAT_BASE_PYTHON:-python3}" -m venv "$WORK/python"
            "$COMPAT_ZIG_PYTHON" -m pip install -q --disable-pip-version-check "$(grep ^ziglang "$ROOT/tests/requirements.txt")"
        fi
    fi
    export COMPAT_ZIG_PYTHON COMPAT_MACOS_SYSROOT=$SYSROOT
}

# Debian's source packages, with package lists of our own: the machine's configuration stays as it is.
sources() {
    local apt=$WORK/apt name
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" "$WORK/src"
    [ ! -f /etc/apt/sources.list ] ||
        sed -n '/^deb /{p;s/^deb /deb-src /p;}' /etc/apt/sources.list >"$apt/sources/debian.list"
    [ ! -f /etc/apt/sources.list.d/debian.sources ] ||
        sed 's/^Types:.*/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources >"$apt/sources/debian.sources"
    local get=(apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources"
               -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=)
    say "getting the sources of ${SOURCES[*]}"
    "${get[@]}" update >"$WORK/apt.log" 2>&1 || die "apt-get update failed: see build/macos/apt.log"
    for name in "${SOURCES[@]}"; do
        [ -d "$WORK/src/$name" ] && continue
        rm -rf "$WORK/src.new"
        mkdir "$WORK/src.new"
        (cd "$WORK/src.new" && "${get[@]}" source "$name" >>"$WORK/apt.log" 2>&1) ||
            die "apt-get source $name failed: see build/macos/apt.log"
        mv "$WORK/src.new/"*/ "$WORK/src/$name"
    done
    rm -rf "$WORK/src.new"
    # RE2's tables of characters, which Debian generates from its package unicode-data.
    [ -f "$WORK/src/re2/re2/unicode_casefold.cc" ] || (
        cd "$WORK/src/re2"
        [ -d "$WORK/unicode" ] || { "${get[@]}" download unicode-data && dpkg -x unicode-data_*.deb "$WORK/unicode"; }
        sed -i "s|\"/usr/share/unicode\"|\"$WORK/unicode/usr/share/unicode\"|" re2/unicode.py
        perl re2/make_perl_groups.pl >re2/perl_groups.cc
        for table in unicode_groups unicode_casefold; do
            python3 "re2/make_$table.py" >"$table.new" && mv "$table.new" "re2/$table.cc"
        done
    ) >"$WORK/re2.log" 2>&1 || die "RE2's tables could not be made: see build/macos/re2.log"
    # SQLite's one file is made from its sources, by programs of this machine.
    [ -f "$WORK/src/sqlite3/sqlite3.c" ] ||
        (cd "$WORK/src/sqlite3" && ./configure && make sqlite3.c) >"$WORK/sqlite3.log" 2>&1 ||
        die "SQLite's sources could not be joined: see build/macos/sqlite3.log"
}

libraries() {
    [ -f "$SYSROOT/.complete" ] && return 0
    sources
    say "compiling ${SOURCES[*]}"
    {
        cmake -S "$ROOT/tests/cross/dependencies" -B "$WORK/dependencies" -G Ninja \
            --toolchain "$ROOT/cmake/macos-arm64.cmake" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_INSTALL_PREFIX="$SYSROOT" -DCOMPAT_SOURCES="$WORK/src" \
            -DCOMPAT_VALIJSON="/usr/include;$ROOT/build/valijson/usr/include" &&
            cmake --build "$WORK/dependencies" -j "$JOBS" && cmake --install "$WORK/dependencies"
    } >"$WORK/dependencies.log" 2>&1 || die "a library could not be built: see build/macos/dependencies.log"
    touch "$SYSROOT/.complete"
}

runner() {
    local targets=(--target runner) log=$WORK/runner.log built=$ROOT/build/macos-cross
    [ "${1-}" != tests ] || targets=()
    say "building for macOS (output: build/macos/runner.log)"
    { cmake --preset macos-cross -S "$ROOT" && cmake --build "$built" -j "$JOBS" "${targets[@]}" -- -k 0; } >"$log" 2>&1 ||
        { grep -E -B2 -A6 'error:|FAILED|CMake Error' "$log" | head -80 >&2; die "the build failed: see build/macos/runner.log"; }
    local files=("$built/bin/runner")
    [ "${1-}" != tests ] || mapfile -t files < <(find "$built/bin" -type f)
    "$COMPAT_ZIG_PYTHON" "$ROOT/tests/cross/symbols.py" "${files[@]}"
}

[[ ${1-} =~ ^(|tests|setup)$ ]] || die "unknown word '$1'; use: macos.sh [tests | setup]"
mkdir -p "$WORK"
compiler
libraries
[ "${1-}" = setup ] || runner "$@"
