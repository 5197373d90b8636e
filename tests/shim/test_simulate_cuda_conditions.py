"""Tests, in child processes, what simulated CUDA devices require of sizes, layouts, options, capability and
mode. cuda_calls.json has what torch's own CUDA code answered to each call, and which answers changed in a later
version: tests/sweep/cuda_dtypes."""

import json
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/sweep/cuda_dtypes"))
import calls  # noqa: E402

STORED = json.loads((ROOT / "tests/shim/cuda_calls.json").read_text())
ANSWERS = calls.in_version(STORED, ".".join(pytest.importorskip("torch").__version__.split(".")[:2]))
pytestmark = pytest.mark.skipif(not ANSWERS, reason=f"the answers are those of torch {', '.join(STORED)}")


@pytest.mark.parametrize("capability", ANSWERS)
def test_calls_are_answered_as_by_torchs_cuda_code(warm_child, capability):
    answers = ANSWERS[capability]
    ran = warm_child(
        f"import json\n{calls.NAMES}\nprint(json.dumps({{call: answer(call) for call in {[*answers]!r}}}))",
        env={"TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_CAPABILITY": capability},
    )
    differ = {call: (said, answers[call]) for call, said in ran.answer.items() if said != answers[call]}
    assert differ == {}


REASONS = {
    "attention(f(1, 2, 4, 6))": [
        "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float, Key dtype: "
        "float, and Value dtype: float instead.",
        "Mem efficient attention requires last dimension of inputs to be divisible by 4. Got Query.size(-1): 6, "
        "Key.size(-1): 6, Value.size(-1): 6 instead.",
        "Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float, Key dtype: "
        "float, and Value dtype: float instead.",
    ],
    "attention(h(1, 2, 4, 264), mask=h(4, 4))": [
        "Flash Attention does not support non-null attn_mask.",
        "head_dim should be no more than 128",
    ],
    "attention(h(1, 2, 4, 64), h(1, 2, 6, 64), h(1, 2, 6, 64), dropout=0.1, causal=True)": [
        "Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. Got seqlen_q: 4 seqlen_k: "
        "6. If you would like to use causal attention with non-square masks, please see CausalAttnMask.",
        "cuDNN dropout probability resolution is limited to 1/16.Use a dropout probability that is a multiple of "
        "1/16 to select the cuDNN backend",
    ],
}


@pytest.mark.parametrize("call", REASONS)
def test_each_kernel_of_attention_says_why_it_is_not_taken(warm_child, call):
    ran = warm_child(f"{calls.NAMES}\nanswer({call!r})", env={"TORCHDEVICE_SIMULATE": "cuda"})
    said = [line.partition("Warning: ")[2] for line in ran.stderr.splitlines() if "Warning: " in line]
    assert [text.split(" (function ")[0] for text in said] == REASONS[call]


def test_recurrent_networks_have_gradients_as_cudnns(on_cuda):
    """In training mode alone, and no second ones; without cuDNN, always."""
    ran = on_cuda(
        """
def case(kind, packed, train=True, twice=False, cudnn=True):
    network = kind(4, 4).cuda().train(train)
    x = torch.ones(3, 2, 4, device="cuda", requires_grad=True)
    with torch.backends.cudnn.flags(enabled=cudnn):
        given = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2])) if packed else x
        out = network(given)[0]
        out = out.data if packed else out
    gradient, = torch.autograd.grad(out.sum(), x, create_graph=twice)
    if twice: gradient.sum().backward()
def said(*args, **kwargs):
    error = raised(case, *args, **kwargs)
    return error and [error[0], error[1].split(".")[0]]
print(json.dumps([[said(kind, packed), said(kind, packed, train=False), said(kind, packed, twice=True),
                   said(kind, packed, train=False, cudnn=False)]
                  for kind in (nn.LSTM, nn.GRU, nn.RNN) for packed in (False, True)]))
"""
    )
    mode = ["RuntimeError", "cudnn RNN backward can only be called in training mode"]
    second = ["NotImplementedError", "the derivative for '_cudnn_rnn_backward' is not implemented"]
    assert ran.answer == [[None, mode, second, None]] * 6


def test_svd_takes_cusolvers_drivers(on_cuda):
    ran = on_cuda(
        """
x = torch.randn(4, 3, device="cuda")
print(json.dumps([equal(torch.linalg.svd(x, driver=driver).S, torch.linalg.svd(x).S)
                  for driver in ("gesvd", "gesvdj", "gesvda")]))
"""
    )
    assert ran.answer == [True] * 3
