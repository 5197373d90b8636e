#!/usr/bin/env bash
# torch 2.13.0: with options=LinearCrossEntropyOptions(), which saves memory, the gradients of
# linear_cross_entropy are NaN if every target is ignored. Without options they are 0, as with
# linear and cross_entropy. The documentation says that an ignored target "does not contribute to
# the input gradient" and calls the options a choice of memory. Gradients are accumulated over small
# batches in just the training that needs them, so one batch of nothing but padding makes all
# weights NaN, where the same program without options trains on. torch 2.15.0 does the same.
#
# Seen, on the CPU, Python 3.11:
#   one target ignored, cross_entropy: [0.6218, -0.7989, 0.7775]
#   one target ignored, no options: [0.6218, -0.7989, 0.7775]
#   one target ignored, options: [0.6218, -0.7989, 0.7775]
#   a batch ignored, cross_entropy: [0.3213, -0.4474, 0.4204]
#   a batch ignored, no options: [0.3213, -0.4474, 0.4204]
#   a batch ignored, options: [nan, nan, nan]
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import torch
from torch.nn import LinearCrossEntropyOptions
from torch.nn.functional import cross_entropy, linear_cross_entropy

IGNORED = -100


def reference(x, weight, targets, **_):
    return cross_entropy(x @ weight.T, targets)


def gradient(loss, batches, **options):
    torch.manual_seed(0)
    weight = torch.randn(4, 3, requires_grad=True)
    for targets in batches:
        loss(torch.randn(2, 3), weight, torch.tensor(targets), **options).backward()
    return [round(value, 4) for value in weight.grad[0].tolist()]


batches = {
    "one target ignored": [[0, IGNORED]],
    "a batch ignored": [[0, 1], [IGNORED, IGNORED]],
}
for name, targets in batches.items():
    print(f"{name}, cross_entropy:", gradient(reference, targets))
    print(f"{name}, no options:", gradient(linear_cross_entropy, targets))
    print(f"{name}, options:", gradient(linear_cross_entropy, targets, options=LinearCrossEntropyOptions()))
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
