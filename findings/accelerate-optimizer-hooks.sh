#!/usr/bin/env bash
# accelerate 1.15.0 with torch 2.13.0: what Accelerator.prepare gives for an optimizer is a
# torch.optim.Optimizer by isinstance, but all that a program adds to it as hooks fails:
# register_step_pre_hook and its five siblings raise AttributeError for a private name. The wrapper
# calls no Optimizer.__init__, so it has none of the tables that hold hooks. A hook of every
# optimizer, torch.optim.optimizer.register_optimizer_step_pre_hook, is called for one step as
# often as before, with the optimizer inside. The way out is a hook before prepare.
#
# Seen, on the CPU, Python 3.11:
#   an Optimizer: True
#   register_load_state_dict_post_hook: AttributeError: no attribute '_optimizer_load_state_dict_post_hooks'
#   register_load_state_dict_pre_hook: AttributeError: no attribute '_optimizer_load_state_dict_pre_hooks'
#   register_state_dict_post_hook: AttributeError: no attribute '_optimizer_state_dict_post_hooks'
#   register_state_dict_pre_hook: AttributeError: no attribute '_optimizer_state_dict_pre_hooks'
#   register_step_post_hook: AttributeError: no attribute '_optimizer_step_post_hooks'
#   register_step_pre_hook: AttributeError: no attribute '_optimizer_step_pre_hooks'
#   every optimizer: SGD
#
# Exits with 1 if that changes. Needs python3 (3.10 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5 accelerate==1.15.0

cat > "$folder/program.py" <<'PROGRAM'
import torch
from accelerate import Accelerator
from torch.optim.optimizer import register_optimizer_step_pre_hook

weight = torch.nn.Parameter(torch.ones(1))
weight.grad = torch.ones(1)
plain = torch.optim.SGD([weight], 0.1)
prepared = Accelerator(cpu=True).prepare(plain)
print("an Optimizer:", isinstance(prepared, torch.optim.Optimizer))
for name in sorted(name for name in dir(torch.optim.Optimizer) if name.startswith("register_")):
    getattr(plain, name)(lambda *arguments: None).remove()
    try:
        getattr(prepared, name)(lambda *arguments: None).remove()
        print(f"{name}: ok")
    except AttributeError as error:
        print(f"{name}: AttributeError: {str(error).partition(' has ')[2]}")
register_optimizer_step_pre_hook(lambda optimizer, *arguments: print("every optimizer:", type(optimizer).__name__))
prepared.step()
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
