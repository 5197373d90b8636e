#!/usr/bin/env bash
# torch 2.13.0: Tensor.grad_dtype, by which the gradient of a bfloat16 parameter is kept and
# accumulated in float32, is lost by copy.deepcopy, by pickle and torch.load and by AveragedModel,
# which copies. The copy trains without an error, but its gradients are bfloat16 again: they stop
# growing at 256. requires_grad, the attribute that goes with it, is kept. copy.deepcopy of a leaf
# tensor, which copies the gradient as well, raises an error as soon as there is one. torch 2.15.0
# does the same.
#
# Seen, on the CPU, Python 3.11:
#   the model: grad_dtype torch.float32, gradient 300.0
#   copy.deepcopy: grad_dtype torch.bfloat16, gradient 256.0
#   torch.save and load: grad_dtype torch.bfloat16, gradient 256.0
#   AveragedModel: grad_dtype torch.bfloat16, gradient 256.0
#   a leaf: attempting to assign a gradient with dtype 'float' to a tensor with grad_dtype 'BFloat16'
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import copy
import io

import torch


def accumulated(model):
    model.zero_grad()
    for _ in range(300):
        model(torch.ones(1, 1, dtype=torch.bfloat16)).sum().backward()
    return model.weight.grad.item()


def loaded(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


model = torch.nn.Linear(1, 1, bias=False, dtype=torch.bfloat16)
model.weight.grad_dtype = torch.float32
copies = {
    "the model": model,
    "copy.deepcopy": copy.deepcopy(model),
    "torch.save and load": loaded(model),
    "AveragedModel": torch.optim.swa_utils.AveragedModel(model).module,
}
for name, each in copies.items():
    print(f"{name}: grad_dtype {each.weight.grad_dtype}, gradient {accumulated(each)}")

leaf = torch.ones(1, dtype=torch.bfloat16, requires_grad=True)
leaf.grad_dtype = torch.float32
leaf.sum().backward()
try:
    copy.deepcopy(leaf)
except RuntimeError as error:
    print("a leaf:", str(error).split(".")[0])
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
