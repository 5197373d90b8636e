#!/usr/bin/env bash
# pack.sh DIR [PACKAGES]: makes DIR, which tests/gpu/run.sh uses on a machine without a network: the
# runner's wheel, the suites' source archives, and wheels of what the suites require.
# PACKAGES: a file with the other machine's packages, a NAME or NAME==VERSION a line. Wheels of more
# than 2 MB are left out if it has them in any version; smaller ones are packed as they are pinned.
# COMPAT_GPU_PYTHON: the other machine's version of Python (3.12). Exits 1 above 60 MB.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
DIR=$1
PACKAGES=${2-}
SUITES=(conformance gpytorch linear_operator skorch)
LIMIT_MB=60

say() { printf 'gpu: %s\n' "$*" >&2; }

# pip download from PyPI as configured here, without requirements.
download() { python3 -m pip --disable-pip-version-check download -q --no-deps "$@"; }

# A file's "pypi" and "kind": suite.json has comments.
field() { sed -n "s/.*\"$2\": \"\([^\"]*\)\".*/\1/p" "$ROOT/suites/$1/suite.json" | head -1; }

pack_source() {
    local requirement kind
    requirement=$(field "$1" pypi)
    kind=$(field "$1" kind)
    [ -n "$requirement" ] || return 0  # the runner's own
    say "source: $requirement"
    rm -rf "$DIR/source"
    if [ "$kind" = wheel ]; then
        download --only-binary :all: -d "$DIR/source" "$requirement"
    else
        download --no-binary :all: -d "$DIR/source" "$requirement"
    fi
    mv "$DIR"/source/* "$DIR/sources/$1.archive"
    rmdir "$DIR/source"
}

# What the suites require but torch, and what builds the shim.
requirements() {
    sed -E 's/#.*//; /^[[:space:]]*$/d; /^torch==/d' "${SUITES[@]/%//requirements.txt}"
    echo ninja
}

pack_wheels() {
    local minor platforms=()
    for minor in 5 12 17 24 26 27 28 31 34 35 36; do
        platforms+=(--platform "manylinux_2_${minor}_x86_64")
    done
    say "wheels for Python ${COMPAT_GPU_PYTHON:-3.12}"
    (cd "$ROOT/suites" && requirements | sort -u) >"$DIR/requirements.txt"
    download --only-binary :all: --python-version "${COMPAT_GPU_PYTHON:-3.12}" --implementation cp \
        --platform manylinux2014_x86_64 --platform manylinux1_x86_64 "${platforms[@]}" \
        -d "$DIR/wheels" -r "$DIR/requirements.txt"
    [ -n "$PACKAGES" ] || return 0
    local wheel name
    for wheel in "$DIR"/wheels/*.whl; do
        name=$(basename "$wheel" | cut -d- -f1 | tr '[:upper:]_' '[:lower:]-')
        if [ "$(stat -c %s "$wheel")" -gt 2000000 ] &&
            sed 's/==.*//' "$PACKAGES" | tr '[:upper:]_' '[:lower:]-' | grep -qx "$name"; then
            rm "$wheel"
        fi
    done
}

[ ! -e "$DIR/wheels" ] || rm -r "$DIR/wheels" "$DIR/sources"
mkdir -p "$DIR/wheels" "$DIR/sources"
DIR=$(cd "$DIR" && pwd)
"$ROOT/bootstrap.sh" wheel
cp "$(ls -t "$ROOT"/dist/*.whl | head -1)" "$DIR/wheels/"
for suite in "${SUITES[@]}"; do
    pack_source "$suite"
done
pack_wheels
cp "$HERE/run.sh" "$HERE/compare.py" "$DIR/"
git -C "$ROOT" describe --always --dirty >"$DIR/commit" 2>/dev/null || true
size=$(du -sm --apparent-size "$DIR" | cut -f1)
say "$DIR: $size MB, commit $(cat "$DIR/commit"); the largest wheels:"
(cd "$DIR/wheels" && du -k --apparent-size -- * | sort -rn | head -5) >&2
[ "$size" -le $LIMIT_MB ] || { say "more than $LIMIT_MB MB: name the packages that the other machine has"; exit 1; }
