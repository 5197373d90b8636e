#!/usr/bin/env bash
# torch 2.13.0: torch.func.grad, vjp and jacrev of a function with torch.cond raise an internal
# AssertionError, "Expected FakeTensor, got <class 'torch.Tensor'>". The same function works with
# Tensor.backward(), under torch.vmap and under torch.func.functionalize, so a program that moves
# from backward() to torch.func breaks at its first cond. Compiling it does not help.
#
# Seen, on the CPU, Python 3.11:
#   backward ok
#   vmap ok
#   functionalize ok
#   grad AssertionError: Expected FakeTensor, got <class 'torch.Tensor'>
#   vjp AssertionError: Expected FakeTensor, got <class 'torch.Tensor'>
#   jacrev AssertionError: Expected FakeTensor, got <class 'torch.Tensor'>
#   grad, compiled AssertionError: Expected FakeTensor, got <class 'torch.Tensor'>
#
# Exits with 1 if that changes. Needs python3 (3.10 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import torch


def chosen(x):
    return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def total(x):
    return chosen(x).sum()


def tell(name, call):
    try:
        call()
        print(name, "ok")
    except Exception as error:
        print(name, f"{type(error).__name__}: {str(error).splitlines()[0]}")


x = torch.arange(3.0)
tell("backward", lambda: total(x.clone().requires_grad_()).backward())
tell("vmap", lambda: torch.vmap(chosen)(torch.ones(2, 3)))
tell("functionalize", lambda: torch.func.functionalize(chosen)(x))
tell("grad", lambda: torch.func.grad(total)(x))
tell("vjp", lambda: torch.func.vjp(chosen, x))
tell("jacrev", lambda: torch.func.jacrev(chosen)(x))
tell("grad, compiled", lambda: torch.compile(torch.func.grad(total), backend="eager")(x))
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
