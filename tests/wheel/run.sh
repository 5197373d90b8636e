#!/usr/bin/env bash
# run.sh [MIRROR]: builds the wheel and uses it in a new Debian that has no package of ours.
# Needs root, debootstrap and the network. pip is configured there as here, by PIP_… variables and
# /etc/pip.conf. Takes five to ten minutes and 2 GB in TMPDIR.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TORCH=${COMPAT_TORCH_REQUIREMENT:-$(cat "$ROOT/runner/prepare/torch.txt")}
# python3-dev: the shim includes Python.h.
PACKAGES=ca-certificates,python3-venv,python3-dev,g++,cmake
PROGRAM='import torch; print(torch.ones(1).cuda())'

say() { printf 'wheel: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

# part NAME COMMAND…: runs the command and prints its seconds.
part() {
    local name=$1 begun=$SECONDS
    shift
    "$@" || { say "failed: $name"; exit 1; }
    say "$name: $((SECONDS - begun)) s"
}

make_debian() {
    debootstrap --variant=minbase --include="$PACKAGES" bookworm "$DEBIAN" "$@" >"$DEBIAN.log" ||
        { tail -20 "$DEBIAN.log" >&2; return 1; }
    cp -a /etc/ssl/certs/. "$DEBIAN/etc/ssl/certs/"
    cp -L /etc/resolv.conf /etc/hosts "$DEBIAN/etc/"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$DEBIAN/etc/"
    mkdir "$DEBIAN/wheel"
    cp "$WHEEL" "$DEBIAN/wheel/"
}

# Runs a shell's words in the Debian. The mounts are private to the command and end with it.
inside() {
    local name variables=()
    for name in $(compgen -e | grep -E '^(PIP_.*|SSL_CERT_.*|REQUESTS_CA_BUNDLE|.*_proxy)$'); do
        variables+=("$name=${!name}")
    done
    # shellcheck disable=SC2016  # the inner shell expands them
    unshare --mount bash -euc '
        debian=$1 words=$2
        shift 2
        mount -t proc proc "$debian/proc"
        mount --rbind /dev "$debian/dev"
        for folder in ${PIP_FIND_LINKS-}; do
            [ -d "$folder" ] || continue
            mkdir -p "$debian$folder"
            mount --bind "$folder" "$debian$folder"
        done
        exec chroot "$debian" env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 "$@" bash -euc "$words"
    ' - "$DEBIAN" "$1" "${variables[@]}"
}

# A library that is neither the C library nor the loader is one too many.
needs_only_the_c_library() {
    ! ldd "$DEBIAN/venv/bin/runner" | grep -vE '^\s*(linux-vdso|libc|libm|/lib64/ld-linux-x86-64)\.so'
}

[ "$(id -u)" = 0 ] || die "root is needed: chroot and mount"
command -v debootstrap >/dev/null || die "debootstrap is not installed: apt-get install debootstrap"
DEBIAN=$(mktemp -d)
trap 'rm -rf --one-file-system "$DEBIAN" "$DEBIAN.log"' EXIT

part "the wheel" "$ROOT/bootstrap.sh" wheel
WHEEL=$(ls -t "$ROOT"/dist/*.whl | head -1)
say "$WHEEL: $(stat -c %s "$WHEEL") bytes"
part "a new Debian" make_debian "$@"
part "a virtual environment" inside 'python3 -m venv /venv'
part "pip install" inside "/venv/bin/pip install -q /wheel/*.whl '$TORCH'"
part "libraries" needs_only_the_c_library
part "runner exec, the environment not active" inside "/venv/bin/runner exec -- python -c '$PROGRAM'"
part "runner exec, the environment active" \
    inside ". /venv/bin/activate && runner exec -- python -c '$PROGRAM'"
say "the wheel works"
