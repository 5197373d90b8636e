#!/usr/bin/env bash
# Installs what is missing, builds, then does what its arguments say:
#   ./bootstrap.sh runner SUITE [TARGET…]   build, then `runner SUITE …`
#   ./bootstrap.sh test                     build, then run every test
#   ./bootstrap.sh test --changed [COMMIT]  those that a change since COMMIT (default: HEAD) can affect
#   ./bootstrap.sh wheel                    build a wheel in dist/
#   ./bootstrap.sh                          build only
# Idempotent. Touches no Python environment that it did not make itself.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PRESET=${COMPAT_PRESET:-release}
BUILD=$ROOT/build/$PRESET
VENV=$ROOT/.venv
# Objects of one clone serve another.
export CCACHE_BASEDIR=$ROOT
TORCH=${COMPAT_TORCH_REQUIREMENT:-$(cat "$ROOT/runner/prepare/torch.txt")}

PACKAGES=(g++ cmake ninja-build git python3 python3-dev python3-venv
          libboost1.81-dev nlohmann-json3-dev libsqlite3-dev libcli11-dev libfmt-dev
          libexpected-dev libre2-dev libpugixml-dev python3-yaml
          libyaml-cpp-dev libtomlplusplus-dev zlib1g-dev libzstd-dev pkg-config libgtest-dev libgmock-dev)
# What only the tests need.
[ "${1-}" != test ] || PACKAGES+=(bubblewrap chromium cmark-gfm zstd)
# Node.js bundles the page of report.html. Not Debian's where it came from elsewhere: they conflict.
command -v npm >/dev/null || PACKAGES+=(nodejs npm)
# libvalijson-dev is headers alone, but depends on Qt and MySQL, half of all packages: unpacked here.
VALIJSON=$ROOT/build/valijson  # CMakePresets.json names it, too
# The same for macOS, besides the compiler of the Command Line Tools. Boost 1.86 moved Process, which
# is used here, to other headers; bash is for the tests.
FORMULAE=(bash cmake ninja git python@3.12 boost@1.85 nlohmann-json sqlite cli11 fmt re2 pugixml yaml-cpp tomlplusplus
          tl-expected valijson pkgconf googletest zlib zstd)
command -v npm >/dev/null || FORMULAE+=(node)

say() { printf 'bootstrap: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

missing_packages() {
    local have
    have=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${PACKAGES[@]}" 2>/dev/null | sed -n 's/ installed$//p')
    comm -23 <(printf '%s\n' "${PACKAGES[@]}" | sort) <(sort <<<"$have")
}

# apt-get's words; once more with new package lists if that fails.
apt() {
    { apt-get -y -q "$@" || { apt-get update -q && apt-get -y -q "$@"; }; } >>"$ROOT/build/apt.log" 2>&1 ||
        die "apt-get could not run $*: its output is in build/apt.log"
}

# On macOS. Homebrew refuses to run as root, and installs for its owner without it.
install_formulae() {
    xcode-select -p >/dev/null 2>&1 || die "there is no compiler: run xcode-select --install"
    command -v brew >/dev/null || die "Homebrew is missing: install it, then run: brew install ${FORMULAE[*]}"
    local missing
    missing=$(comm -23 <(printf '%s\n' "${FORMULAE[@]}" | sort) <(brew list --formula -1 | sort) | tr '\n' ' ')
    if [ -n "${missing// /}" ]; then
        say "installing with Homebrew: $missing"
        # shellcheck disable=SC2086
        brew install -q $missing >>"$ROOT/build/brew.log" 2>&1 ||
            die "brew install $missing failed: its output is in build/brew.log"
    fi
    COMPAT_BASE_PYTHON=${COMPAT_BASE_PYTHON:-$(brew --prefix python@3.12)/bin/python3.12}
    export COMPAT_BASE_PYTHON
    # Homebrew links neither an old version nor what macOS has itself into its prefix.
    local prefixes
    prefixes=$(brew --prefix boost@1.85):$(brew --prefix sqlite):$(brew --prefix zlib):$(brew --prefix)
    CMAKE_PREFIX_PATH=$prefixes${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
    export CMAKE_PREFIX_PATH
}

install_packages() {
    if [ "$(uname)" = Darwin ]; then
        install_formulae
        return
    fi
    command -v dpkg-query >/dev/null || die "this is not Debian: install the packages listed in docs/reference/dependencies.md"
    export DEBIAN_FRONTEND=noninteractive
    local missing
    missing=$(missing_packages | tr '\n' ' ')
    if [ -n "${missing// /}" ]; then
        if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
            die "these Debian packages are missing: $missing- install them as root: apt-get install $missing"
        fi
        say "installing $missing"
        # shellcheck disable=SC2086
        apt install --no-install-recommends $missing
    fi
    if [ ! -d "$VALIJSON" ] && ! dpkg-query -W -f='${db:Status-Status}' libvalijson-dev 2>/dev/null | grep -qx installed; then
        say "unpacking the headers of libvalijson-dev in build/valijson"
        cd "$ROOT/build"
        apt download libvalijson-dev
        dpkg -x libvalijson-dev_*.deb valijson.new
        mv valijson.new "$VALIJSON"
        rm libvalijson-dev_*.deb
        cd "$OLDPWD"
    fi
}

build() {
    [ -f "$BUILD/build.ninja" ] || cmake --preset "$PRESET" -S "$ROOT" >"$ROOT/build/configure.log" ||
        die "CMake could not configure; its output is in build/configure.log"
    # Quiet where there is nothing to do; the whole output where it fails.
    local log=$ROOT/build/build.log
    cmake --build "$BUILD" "$@" -- -n 2>/dev/null | grep -q 'no work to do' && return 0
    say "building; a first build takes minutes (its output: build/build.log)"
    cmake --build "$BUILD" "$@" >"$log" 2>&1 || { cat "$log" >&2; die "the build failed"; }
}

digest() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

# The environment of our own tests: made once for its requirements, pinned to one torch.
test_environment() {
    local stamp
    stamp=$(cat "$ROOT/tests/requirements.txt" - <<<"$TORCH" | digest)
    [ "$(cat "$VENV/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
    say "making the tests' Python environment in .venv"
    rm -rf "$VENV"
    "${COMPAT_BASE_PYTHON:-python3}" -m venv "$VENV"
    printf '%s\n' "$TORCH" >"$VENV/constraints.txt"
    PIP_CONSTRAINT=$VENV/constraints.txt "$VENV/bin/python" -m pip install -q --disable-pip-version-check \
        "$TORCH" -r "$ROOT/tests/requirements.txt" >"$ROOT/build/pip.log" 2>&1 ||
        { cat "$ROOT/build/pip.log" >&2; die "pip could not install the tests' requirements"; }
    say "torch is $("$VENV/bin/python" -c 'import torch; print(torch.__version__)')"
    printf '%s\n' "$stamp" >"$VENV/.stamp"
}

# The wheel for pip, built by the environment build/pip.
build_wheel() {
    local python=$ROOT/build/pip/bin/python
    [ -x "$python" ] || "${COMPAT_BASE_PYTHON:-python3}" -m venv "$ROOT/build/pip"
    say "building the wheel in dist (its output: build/wheel.log)"
    # c++, as in the other builds, so that the compiler cache has its objects.
    CXX=${CXX:-c++} "$python" -m pip wheel -v --disable-pip-version-check --no-deps -w "$ROOT/dist" "$ROOT" \
        >"$ROOT/build/wheel.log" 2>&1 || { cat "$ROOT/build/wheel.log" >&2; die "pip could not build the wheel"; }
}

mkdir -p "$ROOT/build"
install_packages
case ${1-} in
    runner)
        shift
        build --target runner  # not the tests
        exec "$BUILD/bin/runner" "$@"
        ;;
    test)
        shift
        test_environment &  # pip mostly waits
        environment=$!
        build
        wait "$environment" || exit 2
        exec "$ROOT/tests/run_all.sh" "$BUILD" "$VENV/bin/python" "$@"
        ;;
    wheel) build_wheel ;;
    "") build ;;
    *) die "unknown word '$1'; use: bootstrap.sh [runner SUITE … | test | wheel]" ;;
esac
