"""Asks a CUDA build of torch about each dtype, on the stubs of build.py: trial.py OUTPUT DONE.

Runs samples of torch's ops for every dtype, whatever any list says of it, and notes each aten op that was
called below autograd with its dtype: as `ok`, or with the text of a check that torch made on the host,
before it launched a kernel; `named` is the name in such a text, whatever the other dtypes are. `empty` and `scalar` are oks of calls that may need no kernel: an argument or
a result without elements, a first tensor without dimensions. An `ok` that the CPU's kernel refuses is noted as `cpu lacks`.
cuDNN is off, because a stub of it answers nothing that could be waited for.
Appends a line of JSON a case, first that it begins; cases before the DONE-th are passed over."""

import collections
import ctypes
import itertools
import json
import re
import signal
import sys
import time
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

DTYPES = (
    "float16 bfloat16 float32 float64 complex32 complex64 complex128 bool uint8 int8 int16 int32 int64"
    " uint16 uint32 uint64 float8_e4m3fn float8_e5m2"
).split()
SAMPLES, SECONDS = 8, 3
KILLED = 15  # seconds, of a case that waits for what a stub never gives
# A check of dtypes, not a library that is only a stub.
REFUSES = re.compile(
    r"not implemented for '|(?:not|n't|only|Only) (?:be )?(?:support|implement|defined|allow)|expected scalar type"
    r"|Expected .* (?:type|dtype)|must be|should be|unsupported|handle types", re.I
)
DISPATCH = re.compile(r"\"([^\"]+)\" not implemented for '")
STUBBED = re.compile(r"(?:CUDA|cu\w+|nvrtc) error|_STATUS_|stubbed|INTERNAL ASSERT", re.I)
# Ops whose samples need linear algebra that low precision lacks, on one small matrix: `a` is 2 by 2.
# Its text is the rule's; batches have others.
PLAIN = """
_linalg_det(a); linalg_lu(a); linalg_lu_factor_ex(a); _linalg_solve_ex(a, a); _linalg_slogdet(a)
linalg_lu_solve(a, pivots, a); linalg_ldl_factor_ex(a); linalg_ldl_solve(a, pivots, a); linalg_inv_ex(a)
linalg_cholesky_ex(a); cholesky(a); cholesky_inverse(a); cholesky_solve(a, a); _cholesky_solve_helper(a, a, False); _linalg_svd(a)
linalg_qr(a); geqrf(a); linalg_householder_product(a, a[0]); ormqr(a, a[0], a); linalg_lstsq(a, a)
_linalg_eigh(a); _linalg_eigvals(a); linalg_eig(a)
linalg_solve_triangular(a, a, upper=True); triangular_solve(a, a)
_fft_r2c(a, [0], 0, True); _fft_c2c(a, [0], 0, True); _fft_c2r(a, [0], 0, 2)
mm(a, a); bmm(a[None], a[None]); dot(a[0], a[0]); vdot(a[0], a[0]); histc(a)
"""
# Forms with a number, which samples lack.
PLAIN += """
gt(a, 1); ge(a, 1); lt(a, 1); le(a, 1); eq(a, 1); ne(a, 1); clamp(a, 0, 1); clamp_min(a, 0); clamp_max(a, 1)
__lshift__(a, 1); __rshift__(a, 1); bitwise_left_shift(a, 1); bitwise_right_shift(a, 1); bitwise_and(a, 1)
bitwise_or(a, 1); bitwise_xor(a, 1); remainder(a, 2); fmod(a, 2); pow(a, 2); pow(2, a); fill(a, 1); threshold(a, 0, 1)
"""
PLAIN_COUNTS = 1000


def first_tensor(leaves):
    return next((each for each in leaves if isinstance(each, torch.Tensor)), None)


def common(leaves):
    """The dtype of the first tensor, where all that could widen it do not."""
    first = first_tensor(leaves)
    if first is None:
        return None
    for each in leaves:
        if isinstance(each, (torch.Tensor, complex, float)) and torch.result_type(first, each) != first.dtype:
            return None
    return str(first.dtype).removeprefix("torch.")


def outcome(leaves):
    tensors = [each for each in leaves if isinstance(each, torch.Tensor)]
    if any(each.layout == torch.strided and each.numel() == 0 for each in tensors):
        return "empty"
    return "scalar" if tensors[0].dim() == 0 else "ok"


def refusal(call):
    try:
        call()
    except Exception as error:
        return str(error).split("\n")[0]
    return None


def moved(value, device):
    copied = tree_map_only(torch.Tensor, lambda each: each.detach().to(device), value)
    return tree_map_only(torch.device, lambda each: torch.device(device), copied)


class Note(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.rows = collections.Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        dtype = common(leaves)
        name = str(function)
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            text = str(error).split("\n")[0]
            if dispatched := DISPATCH.match(text):
                self.rows[name, "", "named", dispatched[1]] += 1
            if dtype and REFUSES.search(text) and not STUBBED.search(text):
                copies = moved((args, kwargs), "meta")
                if refusal(lambda: function(*copies[0], **copies[1])) != text:
                    self.rows[name, dtype, "refused", text] += 1
            raise
        first = first_tensor(leaves)
        if dtype and first.is_cuda and first.layout == torch.strided:
            state = outcome([*leaves, *tree_leaves(result)])
            self.rows[name, dtype, state, ""] += 1
            if state == "ok" and self.rows[name, dtype, state, ""] == 1:
                copies = moved((args, kwargs), "cpu")
                said = refusal(lambda: function(*copies[0], **copies[1]))
                if said and "not implemented for '" in said:
                    self.rows[name, dtype, "cpu lacks", said] += 1
        return result


def samples(op, dtype):
    """Where making them needs what no device has of the dtype, float32's are made on the CPU and cast."""
    made = 0
    try:
        differentiable = dtype.is_floating_point and op.supports_autograd
        for sample in op.sample_inputs("cuda:0", dtype, requires_grad=differentiable):
            made += 1
            yield sample.input, sample.args, sample.kwargs
    except Exception:
        if made:
            return
        for sample in op.sample_inputs("cpu", torch.float32):
            yield tree_map_only(
                torch.Tensor,
                lambda each: each.to("cuda", dtype if each.dtype == torch.float32 else each.dtype),
                (sample.input, sample.args, sample.kwargs),
            )


def run(op, dtype):
    note, begun = Note(), time.monotonic()
    try:
        for input, args, kwargs in itertools.islice(samples(op, dtype), SAMPLES):
            try:
                with note:
                    result = op(input, *args, **kwargs)
                    parts = [each for each in tree_leaves(result)
                             if isinstance(each, torch.Tensor) and each.requires_grad]
                    if parts:
                        sum(each.sum() for each in parts).backward()
            except Exception:
                pass
            if time.monotonic() - begun > SECONDS:
                break
    except Exception:
        pass  # no samples
    return [[*key, count] for key, count in note.rows.items()]


def run_plain(dtype):
    note = Note()
    fill = ctypes.c_int.in_dll(ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0]), "stub_fill")
    calls = [call.strip() for call in PLAIN.replace("\n", ";").split(";") if call.strip()]
    for fill.value in (0, 1):
        torch.cuda.empty_cache()
        names = {
            "a": torch.zeros(2, 2, dtype=dtype, device="cuda"),
            "pivots": torch.ones(2, dtype=torch.int32, device="cuda"),
        }
        for call in calls:
            try:
                with note:
                    eval("torch.ops.aten." + call, {"torch": torch}, names)
            except Exception:
                pass
    return [[*key, count * PLAIN_COUNTS] for key, count in note.rows.items()]


def main():
    output, done = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch._C._set_cudnn_enabled(False)  # the tests of torch forbid the public way
    ops = [op for op in op_db if not op.name.startswith("jiterator")]
    cases = itertools.product([*ops, None], DTYPES)
    with open(output, "a") as file:
        for op, dtype in itertools.islice(cases, int(done), None):
            name = op.name + op.variant_test_name if op else "plain calls"
            print(json.dumps({"begins": [name, dtype]}), file=file, flush=True)
            signal.alarm(KILLED)
            rows = run(op, getattr(torch, dtype)) if op else run_plain(getattr(torch, dtype))
            print(json.dumps({"case": [name, dtype], "rows": rows}), file=file, flush=True)


if __name__ == "__main__":
    main()
