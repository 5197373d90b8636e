"""Asks a CUDA build of torch for its answers to the calls of calls.txt, on the stubs of build.py:
calls.py [WORD…].

Prints a line of JSON for each call: with None, the first line of its error, or what it returns if that is no
tensor. A call that ends its process has none. With words, only calls that have one of them. cuDNN is off, as in
trial.py."""

import json
import os
import pathlib
import re
import sys

# The names with which the calls are written. Tests use it too.
NAMES = r'''
import warnings, torch
from torch.nn import functional as F
from torch.backends import cuda as questions

warnings.simplefilter("ignore")
d = "cuda"


def of(dtype):
    return lambda *sizes: torch.ones(*sizes, device=d).to(dtype)


f, h, b, c, i8, u8, i32, i64, f8 = map(of, (
    torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int8, torch.uint8, torch.int32,
    torch.int64, torch.float8_e4m3fn,
))
one, cpu = f(()), torch.ones(())


def attention(q, k=None, v=None, mask=None, dropout=0.0, causal=False, grouped=False):
    """Whether each kernel of attention is taken, the warnings why not, and which is chosen."""
    k, v = q if k is None else k, q if v is None else v
    asked = questions.SDPAParams(q, k, v, mask, dropout, causal, grouped)
    said = []
    for ask in ("flash", "efficient", "cudnn"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = getattr(questions, f"can_use_{ask}_attention")(asked, True)
        said.append([answer, *(str(each.message).split(" (Triggered internally")[0] for each in caught)])
    return [*said, torch._fused_sdp_choice(q, k, v, mask, dropout, causal, enable_gqa=grouped)]


def answer(call):
    """None for a tensor; an error has its class before it."""
    try:
        result = eval(call, globals())
    except Exception as error:
        return f"{type(error).__name__}: " + str(error).split("\n")[0]
    return result if isinstance(result, (bool, int, list)) else None
'''
# Errors of a library that is only a stub, and of a torch that has no such op.
STUBBED = re.compile(r"has no attribute|(?:CUDA|cu\w+) error|_STATUS_|stubbed|INTERNAL ASSERT|enforce fail|out of memory", re.I)

# In cuda_calls.json: a version whose answer the stubs do not give.
UNANSWERED = "no answer"


def in_version(stored, version):
    """By capability: the answers of cuda_calls.json in a version, which has those that changed in each."""
    found = {}
    for since, answers in stored.items():
        for capability, said in answers.items():
            found.setdefault(capability, {}).update(said)
        if since == version:
            return {key: {call: text for call, text in said.items() if text != UNANSWERED} for key, said in found.items()}
    return {}


def listed():
    lines = (pathlib.Path(__file__).parent / "calls.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main():
    import torch

    torch._C._set_cudnn_enabled(False)
    calls = [call for call in listed() if not sys.argv[1:] or any(word in call for word in sys.argv[1:])]
    for call in calls:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        names = {}
        exec(NAMES, names)
        said = names["answer"](call)
        if not STUBBED.search(str(said)):
            print(json.dumps([call, said]), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
