"""Tests the rules by which watch.py finds and judges changes, each on two made-up releases, and what is
read in Python and in libraries."""

import ast
import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import answers
import elf
import python_facts
import watch
from lines import DECIDE, DECIDED, Line
from made_up import AFTER, BEFORE, Release
from made_up import elf as library

MATMUL = "class Blas:\n    def __getattr__(self, name):\n        if name == 'allow_one':\n            return 1\nmatmul = Blas()\n"
MODIFIER = "def mps_ops_modifier(ops):\n    ON_MPS_XFAILLIST = {'arange': 1, 'argsort': 1, 'rank': 1, 'sort': 1}\n"
GRADIENTS = "def mps_ops_grad_modifier(ops):\n    XFAILLIST_GRAD = {'a': 1, 'b': 1, 'c': 1, 'd': 1}\n"
CHECKS = 'inline void check(const Tensor& a) {\n  TORCH_CHECK(a.is("odd"), "splice takes ", a, " at all");\n}\n'
DTYPES = "class dtype: ...\nfloat32: dtype = ...\n"
REFS = "def splice(a):\n    torch._check(a.cuda, lambda: f'splice takes no {a} on cuda')\n"
TENSOR = "class Tensor:\n    def __dlpack__(self, stream=None):\n        return torch.cuda\n    def splice(self):\n        pass\n"
LISTED = "__all__ = ['one', 'two', 'three', 'four']\ndef one():\n    pass\n"


def files(path, text):
    return lambda release: release.files.update({path: text})


# Makes both releases, changes the second one; a part of the output, and whether a line needs a decision.
FOUND = {
    "words of CUDA that end another text": (
        lambda r: None,
        lambda r: (r.texts.append("0123456789abcdefsplice is not supported for two"), r.kernels_of_cuda.update(splice_out_cuda=["splice is not supported for two"])),
        "new words of splice: splice is not supported for two", False),
    "words of CUDA in two lines": (
        lambda r: None, lambda r: r.kernels_of_cuda.update(splice_out_cuda=["splice is not\n supported for two"]),
        "new words of splice: splice is not supported for two", False),
    "words of CUDA that another op's rule has": (
        lambda r: None, lambda r: r.kernels_of_cuda.update(splice_out_cuda=["cannot operate on more than 25 dimensions, as it is not supported"]),
        "new words of splice: cannot operate on more than 25 dimensions, as it is not supported\n    shim/simulate/cuda_refusals.json: no answer", False),
    "words of MPS that another op's rule has": (
        lambda r: None, lambda r: r.functions.update(splice_mps=["\" not implemented for '"]),
        "new text in splice_mps: \" not implemented for '\n    shim/simulate/mps_refusals.json: needs a decision: a rule of another op has it", True),
    "words of MPS by a function that an op's kernel calls": (
        lambda r: None,
        lambda r: (r.functions.update(check_mps=["does not support bool input"], nonzero_out_mps=["nonzero of one"]), r.calls_of_mps.update(nonzero_out_mps=["check_mps"])),
        "new text in check_mps: does not support bool input", True),
    "size that MPS refuses": (
        lambda r: None, lambda r: r.functions.update(splice_mps=["splice: matrix too large for the device"]), "new text in splice_mps: splice: matrix too large", True),
    "kernel for sparse tensors": (
        lambda r: None, lambda r: setattr(r, "ops", r.ops.replace("CUDA: add_cuda", "CUDA: add_cuda\n    SparseMPS: add_sparse")),
        "with a kernel for SparseMPS now: add", False),
    "class of a check in a header": (
        files("torch/include/ATen/native/Splice.h", CHECKS), files("torch/include/ATen/native/Splice.h", CHECKS.replace("CHECK(", "CHECK_TYPE(")),
        "checks raise TypeError, no longer RuntimeError: Splice.h “splice takes {} at all”", False),
    "class of a check in Python": (
        files("torch/_refs/__init__.py", REFS), files("torch/_refs/__init__.py", REFS.replace("_check(", "_check_type(")),
        "raise TypeError, no longer RuntimeError: torch._refs.splice (“splice takes no {} on cuda”)", False),
    "dtype": (files("torch/_C/__init__.pyi", DTYPES), files("torch/_C/__init__.pyi", DTYPES + "spliced32: dtype = ...\n"), "new: torch.spliced32", False),
    "module that is gone": (
        lambda r: r.files.update({"torch/distributed/_splice.py": "def _splice():\n    return nccl\n", "torch/distributed/__init__.py": ""}),
        lambda r: r.files.pop("torch/distributed/_splice.py"), "module torch.distributed._splice is gone", False),
    "private function that is gone": (
        lambda r: r.replace("cuda/random.py", "def seed", "def _splice():\n    pass\ndef seed"), lambda r: r.replace("cuda/random.py", "def _splice():\n    pass\n", ""),
        "private functions that are gone: torch.cuda.random._splice", False),
    "parameter for a device, anywhere": (
        files("torch/utils/splice.py", "def splice(a, use_cuda=False):\n    pass\n"), files("torch/utils/splice.py", "def splice(a):\n    pass\n"),
        "torch.utils.splice.splice: parameters gone: use_cuda=False", False),
    "function for a device that is gone, anywhere": (
        files("torch/utils/splice.py", "def splice(a):\n    return cuda\n"), files("torch/utils/splice.py", ""), "torch.utils.splice loses splice", False),
    "member by the name that an object is asked for": (
        files("torch/backends/cuda/__init__.py", MATMUL),
        files("torch/backends/cuda/__init__.py", MATMUL.replace("return 1\n", "return 1\n        elif name == 'splice':\n            return 2\n")),
        "torch.backends.cuda gains matmul.splice", False),
    "parameter of a protocol": (
        lambda r: r.files.update({"torch/_tensor.py": TENSOR, "torch/__init__.py": "from torch._tensor import Tensor\n"}),
        files("torch/_tensor.py", TENSOR.replace("=None", "=None, splice=False")), "torch._tensor.Tensor.__dlpack__: new parameters: splice=False", False),
    "list that is shorter": (
        files("torch/testing/_internal/common_mps.py", MODIFIER), files("torch/testing/_internal/common_mps.py", MODIFIER.replace("'arange': 1, 'rank': 1, ", "").replace("'arange': 1, ", "")),
        "ON_MPS_XFAILLIST without arange", False),
    "list of what fails in gradients": (
        files("torch/testing/_internal/common_mps.py", GRADIENTS), files("torch/testing/_internal/common_mps.py", GRADIENTS.replace("'a': 1, ", "")),
        "XFAILLIST_GRAD without a\n    shim/simulate/mps_refusals.json: no answer", False),
    "entry point of a transport": (
        lambda r: None, lambda r: setattr(r, "entry_points", r.entry_points + "[torch.distributed.transports]\nspliced = torch.distributed.rank:old\n"),
        "entry points, new: torch.distributed.transports: spliced", False),
    "member that the library has for the first time": (
        lambda r: r.words.extend(["_CudaDeviceProperties", "old_one"]),
        lambda r: (r.words.append("splices"), r.replace("_C/__init__.pyi", "name: str", "name: str\n    splices: int")),
        "torch._C gains or changes _CudaDeviceProperties.splices", True),
}


@pytest.mark.parametrize("change", FOUND)
def test_a_change_is_found_and_judged(tmp_path, run, change):
    base, make, expected, is_open = FOUND[change]
    before, after = Release(), Release()
    base(before)
    base(after)
    make(after)
    before.write(tmp_path, BEFORE)
    after.write(tmp_path, AFTER)
    status, output = run(BEFORE, AFTER)
    assert expected in output
    assert status == int(is_open), output


# Makes both releases, and a change of the second one that concerns nobody.
QUIET = {
    "words of MPS under another name of the op's function": (
        lambda r: None, lambda r: (r.functions.pop("add_mps"), r.functions.update(structured_add_out_mps_impl=["adding two is not supported"]))),
    "check of what MPS made itself": (lambda r: None, lambda r: r.functions.update(splice_mps=["splice: unexpected dtype of the result"])),
    "member that the stub alone has": (
        lambda r: r.words.extend(["_CudaDeviceProperties", "old_one"]), lambda r: r.replace("_C/__init__.pyi", "name: str", "name: str\n    splices: int")),
    "member that is older than its stub": (
        lambda r: r.words.extend(["_CudaDeviceProperties", "splices"]), lambda r: r.replace("_C/__init__.pyi", "name: str", "name: str\n    splices: int")),
    "spelling of a word": (lambda r: None, lambda r: r.replace("cuda/random.py", "seed is not supported", "seed is not suppported")),
    "constant that a module does not list": (
        files("torch/cuda/words.py", LISTED), files("torch/cuda/words.py", LISTED + "SPLICE_POINT = 3\n")),
    "method of a tensor without a device": (
        lambda r: r.files.update({"torch/_tensor.py": TENSOR, "torch/__init__.py": "from torch._tensor import Tensor\n"}),
        files("torch/_tensor.py", TENSOR.replace("splice(self)", "splice(self, hard=False)"))),
    "module that moved": (
        lambda r: r.files.update({"torch/distributed/_splice.py": "def _splice():\n    return nccl\n", "torch/distributed/__init__.py": ""}),
        lambda r: (r.files.pop("torch/distributed/_splice.py"), r.files.update({"torch/distributed/_spliced.py": "def _splice():\n    return nccl\n"}))),
}


@pytest.mark.parametrize("change", QUIET)
def test_what_concerns_nobody_is_no_line(tmp_path, run, change):
    base, make = QUIET[change]
    before, after = Release(), Release()
    base(before)
    base(after)
    make(after)
    before.write(tmp_path, BEFORE)
    after.write(tmp_path, AFTER)
    assert run(BEFORE, AFTER)[1].splitlines()[0] == f"torch {BEFORE} → {AFTER}: 0 lines ()"


RAISED = {
    "text: str = 'one two three four'\nraise ValueError(text)": ["ValueError: one two three four"],
    "text = 'one two three'\nif a:\n    text += ' and four'\nraise ValueError(text)": ["ValueError: one two three and four"],
    "if a:\n    text = 'one two three four'\nelse:\n    text = 'five six seven'\nraise ValueError(text)": ["ValueError: five six seven", "ValueError: one two three four"],
    "text = 'one two three four'\nraise ValueError(text)\ntext = 'five six seven'\nraise TypeError(text)": ["TypeError: five six seven", "ValueError: one two three four"],
    "raise ValueError(WHY + f' by {a}')": ["ValueError: a reason given below by {}"],
    "error = ValueError('one two three four')\nraise error from None": ["ValueError: one two three four"],
    "raise ValueError('one two three four' if a else 'five six seven')": ["ValueError: five six seven", "ValueError: one two three four"],
    "torch._check(a, lambda: 'one two three four')": ["RuntimeError: one two three four"],
    "torch._check_not_implemented(a, lambda: f'one two {a} four')": ["NotImplementedError: one two {} four"],
    "torch._check_with(KeyError, a, lambda: 'one two three four')": ["KeyError: one two three four"],
    "raise ValueError(a)": [],
}


@pytest.mark.parametrize("body", RAISED)
def test_what_a_function_raises(body):
    source = "def splice(a, cuda):\n    " + body.replace("\n", "\n    ") + "\nWHY = 'a reason given below'\n"
    module = python_facts._Module("torch.cuda.splice", source)
    module.visit(ast.parse(source))
    assert module.definitions["splice"].get("raises", []) == RAISED[body]


def test_a_function_of_ours_overrides_one_that_an_older_torch_lacks():
    assert "gather_single" in answers.derived()["Backend"]["overrides"]


def test_a_library_without_symbols_is_an_error_where_functions_are_asked_for():
    stripped = elf.Library(library("a text of CUDA", stripped=True))
    assert stripped.texts() == {"a text of CUDA"}
    with pytest.raises(ValueError, match="no .symtab"):
        stripped.users()


def test_a_decision_about_a_text_is_about_who_says_it():
    line = Line("refusals of MPS", "new text in splice_mps: splice: not supported", "", DECIDE)
    decision = {"change": "not supported", "of": ["splice_mps", "join_mps"], "since": AFTER, "why": "not yet"}
    assert watch.decide([line], [decision], BEFORE, AFTER)[0] == [line._replace(status=DECIDED, by="not yet")]
    for other in ({**decision, "of": ["join_mps"]}, {"change": "not supported", "since": AFTER, "why": "not yet"}):
        assert watch.decide([line], [other], BEFORE, AFTER)[0] == [line]
    example = next(each for each in watch.closing([line], [], AFTER) if each.startswith("  {"))
    assert json.loads(example)["of"] == ["splice_mps"] and watch.decide([line], [json.loads(example)], BEFORE, AFTER)[0] != [line]
