#!/usr/bin/env bash
# torch 2.13.0 with NumPy 2.3.5: numpy.from_dlpack of a torch tensor can have the opposite sign. The
# imaginary part of a conjugated tensor is a view that is negated when it is read, by a mark on the
# tensor. DLPack has no such mark. torch refuses to export a conjugated tensor for that reason, and
# Tensor.numpy() refuses both, but a negated one is exported as if it were not: the consumer reads
# the memory. torch.from_dlpack of torch's own tensor is wrong in the same way. torch 2.15.0 does
# the same.
#
# Seen, on the CPU, Python 3.11:
#   conj: [(1-2j), (3-4j)]
#   conj, numpy(): RuntimeError: Can't call numpy() on Tensor that has conjugate bit set
#   conj, numpy.from_dlpack: BufferError: Can't export tensors with the conjugate bit set
#   imag: [-2.0, -4.0]
#   imag, numpy(): RuntimeError: Can't call numpy() on Tensor that has negative bit set
#   imag, numpy.from_dlpack: [2.0, 4.0]
#   imag, torch.from_dlpack: [2.0, 4.0]
#   imag, resolved, numpy.from_dlpack: [-2.0, -4.0]
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import numpy
import torch

conjugated = torch.tensor([1 + 2j, 3 + 4j]).conj()
imaginary = conjugated.imag


def tell(name, call):
    try:
        print(f"{name}:", call().tolist())
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error).split('.')[0]}")


tell("conj", lambda: conjugated)
tell("conj, numpy()", conjugated.numpy)
tell("conj, numpy.from_dlpack", lambda: numpy.from_dlpack(conjugated))
tell("imag", lambda: imaginary)
tell("imag, numpy()", imaginary.numpy)
tell("imag, numpy.from_dlpack", lambda: numpy.from_dlpack(imaginary))
tell("imag, torch.from_dlpack", lambda: torch.from_dlpack(imaginary))
tell("imag, resolved, numpy.from_dlpack", lambda: numpy.from_dlpack(imaginary.resolve_neg()))
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
