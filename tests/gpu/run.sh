#!/usr/bin/env bash
# Runs suites on a real GPU and on simulated CUDA, and compares the states of their tests.
# On a machine with a network, where `bootstrap.sh` works:
#   run.sh pack DIR [PACKAGES]   make a tree that holds the runner, the suites and wheels
# On a machine with an NVIDIA GPU, torch, g++, cmake and Python's headers, without a network:
#   DIR/run.sh packages          print this machine's Python packages, for `pack`
#   DIR/run.sh check OUT         print what this machine has; exit 2 if something is missing
#   DIR/run.sh build OUT         make a Python environment, and build the shim
#   DIR/run.sh real OUT [PART…]  run parts on the GPU, the shim active
#   DIR/run.sh simulated OUT [PART…]   run them on simulated CUDA, the GPU hidden
#   DIR/run.sh compare OUT       compare test by test; exit 1 above 0.5 % of differences
#   DIR/run.sh all OUT           all of these, in this order
# A step ends after MINUTES (9) with exit code 75: call it again, and it continues. OUT gets
# shim.tar.gz, results.tar.gz and comparison.txt. On a new machine, copy the two archives to OUT
# first, and nothing that they hold is made again.
# PYTHON: the interpreter that has torch (python3). COMPAT_GPU_WORK: a folder for the work.
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHON=${PYTHON:-python3}
WORK=${COMPAT_GPU_WORK:-${TMPDIR:-/tmp}/runner-gpu}
VENV=$WORK/venv
DEADLINE=$((${MINUTES:-9} * 60))
TRY_AGAIN=75

# Few tests of the suites ask for a device. With another default device nearly all use one.
DEFAULT_CUDA='import torch; torch.set_default_device("cuda")'
# part | suite | targets | the file of its source that gets this line
PARTS="conformance|conformance||
skorch|skorch||
gpytorch|gpytorch||
linear_operator|linear_operator||
linear_operator_on_cuda|linear_operator|test/functions test/utils test/operators/test_[a-d]*|linear_operator/__init__.py"

say() { printf 'gpu: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }
usage() { sed -n '2,17s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# column N of the part's row.
column() { grep "^$2|" <<<"$PARTS" | cut -d'|' -f"$1"; }

left() { echo $((DEADLINE - SECONDS)); }

# limited COMMAND…: stopped when the time is over; 124 then.
limited() { timeout --signal=INT --kill-after=30 "$(left)" "$@"; }

# Removes an archive's older state only when the new one is whole.
archive() {
    tar -C "$WORK" -czf "$OUT/$1.new" "$2" && mv "$OUT/$1.new" "$OUT/$1"
}

# What an earlier call left in OUT, where this machine does not have it.
restore() {
    mkdir -p "$WORK" "$OUT"
    [ -d "$WORK/cache" ] || [ ! -f "$OUT/shim.tar.gz" ] || tar -C "$WORK" -xzf "$OUT/shim.tar.gz"
    [ -d "$WORK/runs" ] || [ ! -f "$OUT/results.tar.gz" ] || tar -C "$WORK" -xzf "$OUT/results.tar.gz"
}

packages() { "$PYTHON" -m pip list --format=freeze 2>/dev/null; }

# The environment sees this machine's packages; those of the tree come first.
make_environment() {
    local folders stamp
    stamp=$(cat "$HERE"/wheels/*.whl | sha256sum)
    [ "$(cat "$VENV/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    rm -rf "$VENV"
    "$PYTHON" -m venv --without-pip "$VENV" || return
    folders=$("$PYTHON" -c 'import sys; print([p for p in sys.path if p.endswith("-packages")])')
    echo "import site; list(map(site.addsitedir, $folders))" \
        >"$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/machine.pth"
    "$PYTHON" -m pip --python "$VENV/bin/python" install -q --no-index --no-deps --ignore-installed --no-compile \
        "$HERE"/wheels/*.whl || return
    printf '%s\n' "$stamp" >"$VENV/.stamp"
}

# Programs of the environment, then those beside this machine's Python (cmake).
use_environment() {
    make_environment || die "the Python environment could not be made in $VENV"
    PATH=$VENV/bin:$("$PYTHON" -c 'import sys; print(sys.prefix)')/bin:$PATH
    export PATH COMPAT_CACHE=$WORK/cache
    # Plugins that this machine happens to have would change pytest.
    export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTEST_PLUGINS=flaky.flaky_pytest_plugin
    cd "$WORK" || exit 2
}

check() {
    local program bad=0
    use_environment
    say "$(uname -sr), $(getconf GNU_LIBC_VERSION), $(nproc) cores, $(awk '/^MemTotal/ {print int($2 / 1048576)}' /proc/meminfo) GiB"
    for program in runner c++ cmake ninja; do
        say "$program: $("$program" --version 2>&1 | head -1)" || bad=1
        command -v "$program" >/dev/null || bad=1
    done
    runner --version >/dev/null || bad=1
    python - "$VENV"/share/runner/suites/*/requirements.txt <<'END' || bad=1
import importlib.metadata, os, platform, re, sys, sysconfig
import torch

header = os.path.join(sysconfig.get_path("include"), "Python.h")
print(f"gpu: Python {platform.python_version()}, Python.h {'found' if os.path.exists(header) else 'missing: ' + header}")
print(f"gpu: torch {torch.__version__}, GPUs: {[torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]}")
suites = ("conformance", "skorch", "gpytorch", "linear_operator")
files = [file for file in sys.argv[1:] if os.path.basename(os.path.dirname(file)) in suites]
names = {re.split("[=<>~ ]", line)[0] for file in files for line in open(file) if line[0].isalpha()}
missing = []
for name in sorted(names):
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        missing.append(name)
print(f"gpu: packages of the suites that are missing: {', '.join(missing) or 'none'}")
sys.exit(not os.path.exists(header) or bool(missing))
END
    [ $bad = 0 ] || die "something is missing"
}

build() {
    use_environment
    [ "$(left)" -gt 30 ] || return $TRY_AGAIN
    limited runner prepare conformance --python "$VENV" || return
    [ -f "$OUT/shim.tar.gz" ] || archive shim.tar.gz cache
}

# A fresh tree for each side: some of skorch's tests leave files that others read.
make_source() {
    local part=$1 folder=$2 suite file
    suite=$(column 2 "$part")
    file=$(column 4 "$part")
    [ ! -d "$folder" ] || return 0
    rm -rf "$folder.new"
    python "$VENV/share/runner/prepare/unpack.py" "$HERE/sources/$suite".* "$folder.new" >/dev/null || return
    if [ -n "$file" ]; then
        printf '%s\n' "$DEFAULT_CUDA" >>"$folder.new/$file" || return
    fi
    mv "$folder.new" "$folder"
}

# run_part SIDE PART: a part that is done has a report.
run_part() {
    local side=$1 part=$2 suite folder source status stored
    local -a command targets
    suite=$(column 2 "$part")
    folder=$WORK/runs/$part.$side
    source=$WORK/sources/$part.$side
    [ ! -f "$folder/report.json" ] || return 0
    [ "$(left)" -gt 30 ] || return $TRY_AGAIN
    mkdir -p "$folder" "$WORK/sources"
    stored=$(ls "$folder/runs" 2>/dev/null | tail -1)
    read -ra targets <<<"$(column 3 "$part")"
    command=(runner run "$suite" "${targets[@]}" --name "$part" --python "$VENV" --test-timeout 2m)
    [ "$side" = real ] || command+=(--simulate cuda)
    # The runner brings conformance along.
    if [ "$suite" != conformance ]; then
        make_source "$part" "$source" || return
        command+=(--root "$source")
    fi
    [ -z "$stored" ] || command=(runner resume "$stored")
    say "$part, $side: ${command[*]}"
    limited "${command[@]}" --results "$folder" --progress plain
    status=$?
    [ -f "$OUT/shim.tar.gz" ] || archive shim.tar.gz cache
    case $status in
        0 | 1) cp "$folder"/latest/report.json "$folder" ;;
        124 | 130 | 137) status=$TRY_AGAIN ;;
        *) say "$part, $side: the runner ended with $status" ;;
    esac
    archive results.tar.gz runs
    [ $status -le 1 ] && return 0
    return $status
}

# run_side SIDE [PART…]
run_side() {
    local side=$1 part status=0 parts
    shift
    use_environment
    parts=${*:-$(cut -d'|' -f1 <<<"$PARTS")}
    for part in $parts; do
        [ -n "$(column 2 "$part")" ] || die "no part is named $part"
        run_part "$side" "$part" || { status=$?; [ $status != $TRY_AGAIN ] || break; }
    done
    return $status
}

real() { run_side real "$@"; }

# The shim hides the GPU. The simulated machine has as many as this one.
simulated() {
    local count
    count=$("$PYTHON" -c 'import torch; print(min(max(torch.cuda.device_count(), 1), 8))') || return
    TORCHDEVICE_DEVICES=$count run_side simulated "$@"
}

compare() {
    [ -f "$OUT/results.tar.gz" ] || die "$OUT has no results.tar.gz"
    "$PYTHON" "$HERE/compare.py" "$OUT/results.tar.gz"
}

all() {
    local failed=0 step
    for step in check build real simulated; do
        $step || { failed=$?; [ $failed != $TRY_AGAIN ] || return $failed; }
    done
    compare >"$OUT/comparison.txt"
    local status=$?
    cat "$OUT/comparison.txt"
    [ $failed = 0 ] || return $failed
    return $status
}

step=${1-}
case $step in
    packages) packages ;;
    pack)
        [ -n "${2-}" ] || usage
        [ -f "$HERE/pack.sh" ] || die "this is a packed tree; call tests/gpu/run.sh of a checkout"
        exec "$HERE/pack.sh" "${@:2}"
        ;;
    compare)
        OUT=${2:?OUT}
        compare
        ;;
    check | build | real | simulated | all)
        [ -n "${2-}" ] || usage
        mkdir -p "$2"
        OUT=$(cd "$2" && pwd)
        [ -d "$HERE/wheels" ] || die "call run.sh of a packed tree: tests/gpu/run.sh pack DIR makes it"
        restore
        "$step" "${@:3}"
        ;;
    *) usage ;;
esac
status=$?
[ $status != $TRY_AGAIN ] || say "the time is over: call this again to continue"
exit $status
