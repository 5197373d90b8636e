"""Tests what torch.cuda answers, with the shim activated before and after torch's import."""

import pytest

from conftest import LEFT_OUT, ROOT, in_folder

SUITE = ROOT / "suites" / "conformance"
RUN = """
import io, json, unittest
outcome = unittest.TextTestRunner(stream=io.StringIO()).run(
    unittest.TestLoader().discover("tests", top_level_dir=".")
)
print(json.dumps({
    "run": outcome.testsRun,
    "skipped": sorted({reason for _, reason in outcome.skipped}),
    "bad": [f"{test}: {text}" for test, text in outcome.failures + outcome.errors],
}))
"""


def test_the_conformance_suite_passes_if_torch_is_imported_first(late_child):
    script = "import torch\nassert not torch.cuda.is_available()\nimport TorchDevice\n" + in_folder(SUITE) + RUN
    answer = late_child(script).answer
    assert answer["bad"] == []
    assert [reason for reason in answer["skipped"] if not LEFT_OUT.match(reason)] == []
    assert answer["run"] > 300


@pytest.mark.parametrize(
    "visible, count",
    [("0", 1), ("3", 1), ("1,2", 1), ("GPU-8932f937", 1), ("", 0), ("-1", 0), ("0,0", 0), ("x", 0)],
)
def test_cuda_visible_devices_is_parsed_as_in_torch(warm_child, visible, count):
    script = """
import json, torch
before = torch.cuda._parse_visible_devices()
print(json.dumps([torch.cuda.is_available(), torch.cuda.device_count(), torch.version.cuda]))
"""
    answer = warm_child(script, env={"CUDA_VISIBLE_DEVICES": visible}).answer
    assert answer == [count == 1, count, "12.6"]


def test_torch_code_that_reads_the_cuda_version_works(warm_child):
    """torch branches on torch.version.cuda and must find what a CUDA build has."""
    pytest.importorskip("expecttest")
    script = """
import importlib.util, json, warnings
warnings.simplefilter("ignore")
import torch
from torch._inductor import codecache
context = ["CUDA", "12.6"]
if importlib.util.find_spec("torch._inductor.runtime.caching"):
    from torch._inductor.runtime.caching.context import _CompileContext
    context = [_CompileContext.runtime(), _CompileContext.runtime_version()]
from torch.testing._internal import common_cuda
from torch.utils import cpp_extension
a = torch.ones(2, 4, 8, dtype=torch.bfloat16)
b = torch.ones(2, 6, 8, dtype=torch.bfloat16).transpose(1, 2)
strides = True
if torch.__version__ >= "2.9":  # before, it has no kernel for the CPU
    compiled = torch.compile(torch._grouped_mm, backend="aot_eager")(a, b)
    strides = compiled.stride() == torch._grouped_mm(a, b).stride()
print(json.dumps({
    "cache": codecache.CacheBase.get_system()["version"]["cuda"],
    "context": context,
    "testing": [common_cuda._get_torch_cuda_version(), bool(common_cuda.SM70OrLater),
                bool(common_cuda.SM80OrLater), bool(common_cuda.TEST_CUDNN)],
    "strides": strides,
}))
"""
    assert warm_child(script).answer == {
        "cache": "12.6",
        "context": ["CUDA", "12.6"],
        "testing": [[12, 6], True, False, False],
        "strides": True,
    }


LISTS = """
import json, warnings
import torch
from torch.testing._internal import autocast_test_lists as lists

warnings.simplefilter("ignore")
DEVICE, PREFIX = {device!r}, {prefix!r}
GROUPS = {groups!r}

class One(lists.TestAutocast):
    def runTest(self):
        pass

cases = getattr(lists, PREFIX + "TestLists")(torch.device(DEVICE))
ran, bad = 0, []
for group, dtype, module in GROUPS:
    for op, args, *more in getattr(cases, group):
        if isinstance(args, str):  # torch's own einsum case is not one
            continue
        ran += 1
        options = {{"run_as_type": getattr(torch, dtype), "module": eval(module), "device": DEVICE}}
        if more and isinstance(more[0], dict):
            options["add_kwargs"] = more[0]
        elif "builtin" in group:
            options["out_type"] = more[0]
        try:
            One()._run_autocast_outofplace(op, args, amp_dtype=torch.float16, **options)
        except (AssertionError, RuntimeError) as error:
            bad.append([op, type(error).__name__])
print(json.dumps([ran, bad]))
"""


def test_autocast_casts_every_op_of_torchs_cuda_lists(warm_child):
    pytest.importorskip("expecttest")
    groups = [
        ("torch_fp16", "float16", "torch"),
        ("torch_fp32", "float32", "torch"),
        ("torch_need_autocast_promote", "float32", "torch"),
        ("torch_expect_builtin_promote", "float32", "torch"),
        ("nn_fp16", "float16", "torch._C._nn"),
        ("nn_fp32", "float32", "torch._C._nn"),
        ("linalg_fp16", "float16", "torch._C._linalg"),
        ("methods_fp16", "float16", "None"),
        ("methods_fp32", "float32", "None"),
        ("methods_expect_builtin_promote", "float32", "None"),
    ]
    ran, bad = warm_child(LISTS.format(device="cuda", prefix="Autocast", groups=groups)).answer
    assert ran > 100
    # Ops that only CUDA has.
    assert bad == [
        ["cudnn_convolution", "NotImplementedError"],
        ["cudnn_convolution_transpose", "NotImplementedError"],
    ]


def test_cpu_autocast_is_unchanged(warm_child):
    pytest.importorskip("expecttest")
    groups = [
        ("torch_16", "float16", "torch"),
        ("torch_fp32", "float32", "torch"),
        ("nn_16", "float16", "torch._C._nn"),
        ("nn_fp32", "float32", "torch._C._nn"),
    ]
    script = LISTS.format(device="cpu", prefix="AutocastCPU", groups=groups)
    # Ops that CUDA's list casts and the CPU's does not.
    script += """
x = torch.ones(2, 2, dtype=torch.bfloat16)
ops = (torch.exp, torch.sum, torch.norm, lambda x: torch.softmax(x, 0), torch.log,
       lambda x: torch.einsum("ij,jk->ik", x.float(), x.float()),
       lambda x: torch.mv(x.float(), x.float()[0]), lambda x: torch.cumsum(x, 0))
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(json.dumps([ran, bad, [str(op(x).dtype) for op in ops]]))
"""
    assert warm_child(script).answer == warm_child(script, active=False).answer
