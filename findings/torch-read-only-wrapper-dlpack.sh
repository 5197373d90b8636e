#!/usr/bin/env bash
# torch 2.15.0: ReadOnlyTensorWrapper, by which a tensor is given to other libraries through DLPack
# "read-only", protects it from NumPy but not from torch: torch.from_dlpack of the wrapper, or of
# NumPy's read-only array, is a tensor that writes to the original, without a warning.
# torch.from_numpy of the same array warns. And JAX 0.10.2, which has no mutable arrays, cannot read
# it: asked without max_version, __dlpack__ has to return a capsule of the old kind, as a tensor
# does, or BufferError, as the wrapper does for max_version=(0, 8); it returns one of the new kind.
#
# Seen, on the CPU, Python 3.11:
#   NumPy: ValueError, 0 warnings, tensor [0.0, 0.0]
#   torch.from_dlpack: [1.0, 1.0], 0 warnings, tensor [1.0, 1.0]
#   torch.from_dlpack of NumPy's array: [2.0, 2.0], 0 warnings, tensor [2.0, 2.0]
#   torch.from_numpy of NumPy's array: [3.0, 3.0], 1 warnings, tensor [3.0, 3.0]
#   JAX, tensor: [3.0, 3.0], 0 warnings, tensor [3.0, 3.0]
#   JAX, wrapper: JaxRuntimeError, 0 warnings, tensor [3.0, 3.0]
#   __dlpack__ of the tensor: dltensor, 0 warnings, tensor [3.0, 3.0]
#   __dlpack__ of the wrapper: dltensor_versioned, 0 warnings, tensor [3.0, 3.0]
#   __dlpack__ of the wrapper for 0.8: BufferError, 0 warnings, tensor [3.0, 3.0]
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and 7 GB.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.15.0 numpy==2.4.6 jax==0.10.2

cat > "$folder/program.py" <<'PROGRAM'
import warnings

import jax.numpy
import numpy
import torch
from torch.utils.dlpack import ReadOnlyTensorWrapper

tensor = torch.zeros(2)
wrapper = ReadOnlyTensorWrapper(tensor)
array = numpy.from_dlpack(wrapper)


def tell(name, call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = call()
        except Exception as error:
            answer = type(error).__name__
    print(f"{name}: {answer}, {len(said)} warnings, tensor {tensor.tolist()}")


def capsule(exported, **options):
    return repr(exported.__dlpack__(**options)).split('"')[1]


tell("NumPy", lambda: array.__iadd__(1))
tell("torch.from_dlpack", lambda: torch.from_dlpack(wrapper).add_(1).tolist())
tell("torch.from_dlpack of NumPy's array", lambda: torch.from_dlpack(array).add_(1).tolist())
tell("torch.from_numpy of NumPy's array", lambda: torch.from_numpy(array).add_(1).tolist())
tell("JAX, tensor", lambda: jax.numpy.from_dlpack(tensor).tolist())
tell("JAX, wrapper", lambda: jax.numpy.from_dlpack(wrapper).tolist())
tell("__dlpack__ of the tensor", lambda: capsule(tensor))
tell("__dlpack__ of the wrapper", lambda: capsule(wrapper))
tell("__dlpack__ of the wrapper for 0.8", lambda: capsule(wrapper, max_version=(0, 8)))
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
