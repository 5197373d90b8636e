#!/usr/bin/env bash
# Compiles and links the shim for macOS on arm64, on any system, against torch's macOS wheels, and
# looks up every symbol that it leaves undefined:
#   tests/cross/shim.sh [--only TARGET] WHEEL…     WHEEL: a file, or a version that pip downloads
# --only: one library (_compat_redirect) and what it needs
# COMPAT_ZIG_PYTHON: a Python that has ziglang, PyYAML and typing_extensions, of the wheel's version
# (default: that of .venv)
# Everything is in build/macos. Exits with 77 if a wheel cannot be downloaded.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PLACE=$ROOT/build/macos
export COMPAT_ZIG_PYTHON=${COMPAT_ZIG_PYTHON:-$ROOT/.venv/bin/python}
TARGET=all
[ "${1-}" != --only ] || { TARGET=$2; shift 2; }
[ $# -gt 0 ] || { sed -n '2,8s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

ask() { "$COMPAT_ZIG_PYTHON" -c "import sys, sysconfig; print($1)"; }
tag=$(ask '"%d.%d" % sys.version_info[:2]')

# torch's wheels for macOS 11 end with 2.11. A pinned torch is not for this system's Mac.
download() {
    local platform=macosx_14_0_arm64
    case $1 in 2.[0-9].* | 2.1[01].*) platform=macosx_11_0_arm64 ;; esac
    PIP_CONSTRAINT=/dev/null "$COMPAT_ZIG_PYTHON" -m pip download -q --disable-pip-version-check \
        --no-deps --platform $platform --python-version "$tag" --only-binary :all: -d "$PLACE/wheels" "torch==$1"
}

# The file of a wheel that is named by its version.
wheel_of() { find "$PLACE/wheels" -name "torch-$1-cp${tag/./}-*.whl" 2>/dev/null | head -n 1; }

# A wheel is an archive. pip would refuse it here.
unpack() {
    "$COMPAT_ZIG_PYTHON" - "$1" "$2" <<'PYTHON'
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = [name for name in wheel.namelist() if name.startswith(("torch/include/", "torch/lib/", "torchgen/", "torch/version.py"))]
wheel.extractall(sys.argv[2], names)
PYTHON
}

# Debian's pyconfig.h asks for the machine it is for, and knows no Mac: the file that it would include
# takes its place. What a Mac's has otherwise, the shim does not use.
python_headers() {
    local from=$(ask 'sysconfig.get_path("include")')
    export COMPAT_PYTHON_INCLUDE=$PLACE/python$tag-include
    [ ! -d "$COMPAT_PYTHON_INCLUDE" ] || return 0  # new times would compile everything again
    rm -rf "$COMPAT_PYTHON_INCLUDE.new"
    cp -rL "$from" "$COMPAT_PYTHON_INCLUDE.new"
    local own=/usr/include/$(ask 'sysconfig.get_config_var("MULTIARCH")')/python$tag/pyconfig.h
    ! grep -q 'multiarch' "$from/pyconfig.h" || cp "$own" "$COMPAT_PYTHON_INCLUDE.new/pyconfig.h"
    mv "$COMPAT_PYTHON_INCLUDE.new" "$COMPAT_PYTHON_INCLUDE"
}

mkdir -p "$PLACE/wheels"
python_headers
libpython=$(ask 'sysconfig.get_config_var("LIBDIR")')/$(ask 'sysconfig.get_config_var("INSTSONAME")')
for wheel in "$@"; do
    if [ ! -f "$wheel" ]; then
        version=$wheel
        [ -n "$(wheel_of "$version")" ] || download "$version" || exit 77
        wheel=$(wheel_of "$version")
    fi
    version=$(basename "$wheel" | cut -d- -f2,3)  # 2.15.0-cp311
    torch=$PLACE/torch/$version
    [ -f "$torch/.complete" ] || { unpack "$wheel" "$torch" && touch "$torch/.complete"; }
    build=$PLACE/shim/$version
    log=$PLACE/shim-$version.log
    { COMPAT_TORCH_FOLDER=$torch/torch cmake -S "$ROOT/shim" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        --toolchain "$ROOT/cmake/macos-arm64.cmake" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DPython_EXECUTABLE="$COMPAT_ZIG_PYTHON" &&
        cmake --build "$build" --target "$TARGET"; } >"$log" 2>&1 || { cat "$log"; exit 1; }
    echo "torch $version: built in $build"
    libraries=()
    # Of the shim's own, the common one offers something to the others.
    for library in "$torch"/torch/lib/*.dylib "$build"/_compat_shim.*.so; do libraries+=(--library "$library"); done
    files=()
    for file in "$build"/_compat_*.so "$build"/devices/_compat_*.so "$build/devices/device-probe"; do [ ! -f "$file" ] || files+=("$file"); done
    "$COMPAT_ZIG_PYTHON" "$ROOT/tests/cross/symbols.py" "${files[@]}" "${libraries[@]}" --python "$libpython"
done
