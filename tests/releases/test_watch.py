"""Tests watch.py on two made-up releases, whose wheels have a few files and tiny libraries, and that
the page is the one that the stored results give."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import page
import refusal_changes
import watch
from lines import DECIDE, DECIDED, Line
from made_up import AFTER, BEFORE, Release


CHANGES = {
    "entry point": (lambda r: setattr(r, "entry_points", r.entry_points + "ncclnew = torch.distributed.distributed_c10d:_register_new\n"), "torch.distributed.backends: ncclnew", True),
    "entry point without its module": (lambda r: setattr(r, "entry_points", r.entry_points + "ncclnew = torch.gone:_register_new\n"), "the wheel has no torch.gone", False),
    "entry point of a maker that ours takes over": (lambda r: (setattr(r, "entry_points", r.entry_points + "nccl-splice = torch.distributed.distributed_c10d:_register_it\n"),
                                                              r.files.update({"torch/distributed/distributed_c10d.py": r.files["torch/distributed/distributed_c10d.py"] + "Backend.register_backend('nccl-splice', _create_nccl_splice_process_group)\n"})),
                                                    "answered: shim/python/compat_shim/simulate/nccl.py", False),
    "default": (lambda r: r.files.update({"torch/distributed/distributed_c10d.py": r.files["torch/distributed/distributed_c10d.py"].replace("== '1'", "!= '0'")}),
                "TORCH_DIST_X in torch.distributed.distributed_c10d: `_old if os.environ.get('TORCH_DIST_X') == '1' else _new` → `_old if", True),
    "list": (lambda r: r.files.update({"torch/testing/_internal/common_mps.py": "UNSUPPORTED_COMPLEX_OPS = {'v', 'w', 'x', 'y'}\n"}),
             "SUPPORTED_COMPLEX_OPS (5 names) is turned round to UNSUPPORTED_COMPLEX_OPS (4)", False),
    "name": (lambda r: r.files.update({"torch/cuda/__init__.py": r.files["torch/cuda/__init__.py"] + "def splice():\n    return torch._C._cuda_splice()\n"}),
             "torch.cuda gains splice", True),
    "name over what we have": (lambda r: r.files.update({"torch/cuda/__init__.py": r.files["torch/cuda/__init__.py"] + "def splice():\n    return torch._C._cuda_init()\n"}),
                               "torch.cuda gains splice", False),
    "parameter": (lambda r: r.files.update({"torch/cuda/__init__.py": r.files["torch/cuda/__init__.py"].replace("device=None", "device=None, hard=False")}),
                  "torch.cuda.synchronize: new parameters: hard=False", False),
    "refusal in Python": (lambda r: r.files.update({"torch/cuda/__init__.py": "def synchronize(device=None):\n    raise NotImplementedError('Streams are not yet supported')\n"}),
                          "torch.cuda.synchronize raises NotImplementedError: Streams are not yet supported", False),
    "refusal that is gone": (lambda r: r.files.update({"torch/cuda/random.py": "LIMITS = [1, 2]\ndef seed():\n    pass\n"}), "torch.cuda.random.seed no longer raises RuntimeError: seed is not supported on CUDA", False),
    "member of a class that ours changes in part": (lambda r: r.files.update({"torch/nn/parallel/distributed.py": r.files["torch/nn/parallel/distributed.py"] + "    def splice(self):\n        pass\n"}),
                                                    "DistributedDataParallel.splice\n    shim/python/compat_shim/cuda/tables.py: answered: torch's own Python", False),
    "name of torch._C": (lambda r: r.native.append("_cuda_spliceAll"), "of CUDA, new: _cuda_spliceAll", False),
    "virtual function": (lambda r: r.files.update({"torch/include/ATen/detail/CUDAHooksInterface.h": "struct CUDAHooksInterface : AcceleratorHooksInterface {\n  virtual bool hasCUDA() const;\n  virtual int splice() const = 0;\n};\n"}),
                         "CUDAHooksInterface gains the virtual functions splice", True),
    "signature": (lambda r: r.files.update({"torch/include/ATen/detail/CUDAHooksInterface.h": "struct CUDAHooksInterface : AcceleratorHooksInterface {\n  virtual bool hasCUDA(int device) const;\n};\n"}),
                  "CUDAHooksInterface::hasCUDA: virtual bool hasCUDA() const → virtual bool hasCUDA(int device) const", True),
    "dtype": (lambda r: r.files.update({"torch/include/ATen/mps/MPSGuardImpl.h": r.files["torch/include/ATen/mps/MPSGuardImpl.h"].replace("kIndex_Half", "kIndex_Half | kIndex_Float4_e9m9")}),
              "MPSGuardImpl::getDeviceCapability (ATen/mps/MPSGuardImpl.h) with Float4_e9m9", True),
    "member of what MPS overrides": (lambda r: r.replace("MPSGuardImpl.h", "struct MPSGuardImpl : c10::impl::DeviceGuardImplInterface {\n", "struct MPSGuardImpl : c10::impl::DeviceGuardImplInterface {\n  void splice() const override;\n"),
                                     "what derives from DeviceGuardImplInterface overrides newly MPSGuardImpl::splice", False),
    "words of CUDA": (lambda r: r.kernels_of_cuda.update(splice_out_cuda=["splice is not supported for two"]), "new words of splice: splice is not supported for two", False),
    "words of CUDA by a helper": (lambda r: (r.kernels_of_cuda.update(check_shapes=["two shapes are not supported here"]), r.calls.update(add_cuda_kernel="check_shapes")),
                                  "new words of add: two shapes are not supported here", False),
    "words of CUDA that a rule has otherwise": (lambda r: r.kernels_of_cuda.update(_int_mm_out_cuda=["mat2 is too narrow for this, it has"]),
                                                "new words of _int_mm: mat2 is too narrow for this, it has\n    shim/simulate/cuda_refusals.json: needs a decision", True),
    "words of CUDA that a rule has otherwise, and the CPU's kernel too": (lambda r: (r.kernels_of_cuda.update(_int_mm_out_cuda=["mat2 is too narrow for this, it has"]), r.texts_of_cpu.append("mat2 is too narrow for this, it has")),
                                                                         "new words of _int_mm: mat2 is too narrow for this, it has\n    shim/simulate/cuda_refusals.json: needs a decision", True),
    "setting of the allocator": (lambda r: r.replace("AllocatorConfig.h", '"four"', '"four", "splice_" "by_class"'), "CUDAAllocatorConfig::getKeys (c10/cuda/CUDAAllocatorConfig.h) has also splice_by_class\n    shim: answered: shim/simulate/operators.py", False),
    "setting that a library parses": (lambda r: r.settings.append("splice_size_mb"), "settings of the allocator, new: splice_size_mb\n    shim: no answer", False),
    "refusal of a private function": (lambda r: r.replace("streams.py", "def _check():\n    pass", "def _check():\n    text = 'two streams must not be open'\n    raise RuntimeError(text)"),
                                      "torch.cuda.streams._check raises RuntimeError: two streams must not be open", False),
    "member of a private class that is given out": (lambda r: r.replace("streams.py", "def one", "def splice(self):\n        pass\n    def one"), "torch.cuda.streams gains _Given.splice", False),
    "member of torch._C's class that is given out": (lambda r: r.replace("_C/__init__.pyi", "name: str", "name: str\n    splices: int"), "torch._C gains or changes _CudaDeviceProperties.splices", True),
    "warning": (lambda r: r.replace("cuda/random.py", "def seed():\n", "def seed():\n    warnings.warn('seed is deprecated')\n"), "torch.cuda.random.seed warns seed is deprecated", False),
    "kernel": (lambda r: setattr(r, "ops", r.ops.replace("CUDA: add_cuda", "CUDA, MPS: add_gpu")), "with a kernel for MPS now: add", False),
    "kernel of an out form": (lambda r: setattr(r, "ops", r.ops + "- func: add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU, MPS: add_out\n"), "with a kernel for MPS now: add\n", False),
    "op without a CPU kernel": (lambda r: setattr(r, "ops", r.ops + "- func: splice_all(Tensor self) -> Tensor\n  dispatch:\n    CUDA: splice\n"), "none for the CPU: splice_all", True),
    "refusal of MPS": (lambda r: r.functions.update(splice_mps=["splice is not supported on MPS for float16"]), "new text in splice_mps: splice is not supported on MPS for float16", True),
    "refusal of MPS that another function had": (lambda r: r.functions.update(splice_mps=["adding two is not supported"]), "new text in splice_mps: adding two is not supported", True),
    "refusal of MPS in words of another op's rule": (lambda r: r.functions.update(splice_mps=["splice_mps not implemented for "]), "new text in splice_mps: splice_mps not implemented for", True),
    "alert": (lambda r: (r.functions.update(splice_mps=["splice_out_mps"]), r.alerts.append("splice_mps")), "not deterministic now: splice_out_mps", True),
    "Metal kernel": (lambda r: r.kernels.append("splice_dense_float8_e9m9"), "Metal kernels for float8_e9m9", True),
    "variable in C++": (lambda r: r.texts.append("TORCH_NCCL_SPLICE"), "new in C++: TORCH_NCCL_SPLICE", False),
    "variable of MPS": (lambda r: r.functions.update(splice_mps=["PYTORCH_MPS_SPLICE_VERSION"]), "new in C++: PYTORCH_MPS_SPLICE_VERSION", False),
    "variable that another module sets": (lambda r: r.files.update({"torch/distributed/reads.py": "import os\nx = os.environ.get('TORCH_NCCL_SPLICE')\n",
                                                                    "torch/distributed/sets.py": "import os\nos.environ['TORCH_NCCL_SPLICE'] = '1'\n"}),
                                          "new: TORCH_NCCL_SPLICE, read by torch.distributed.reads", False),
    "Python": (lambda r: setattr(r, "requires", ">=3.12"), "Requires-Python >=3.11 → >=3.12", False),
    "free threading": (lambda r: r.tags.append("cp399t"), "decided: the runner refuses a free-threaded Python", False),
    "interpreter": (lambda r: r.tags.append("cp399"), "wheels for Python 3.99", True),
    "value too long to show": (lambda r: r.files.update({"torch/cuda/random.py": r.files["torch/cuda/random.py"].replace("[1, 2]", str(list(range(90))))}), "torch.cuda.random.LIMITS = [1, 2] → …", False),
    "macOS": (lambda r: setattr(r, "minimum", 99), "macOS by the LC_BUILD_VERSION: 14.0 → 99.0", True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_and_judged(tmp_path, run, change):
    make, expected, is_open = CHANGES[change]
    before, after = Release(), Release()
    make(after)
    before.write(tmp_path, BEFORE)
    after.write(tmp_path, AFTER)
    status, output = run(BEFORE, AFTER)
    assert expected in output
    assert status == int(is_open), output
    assert int(re.search(r"(\d+) lines", output)[1]) <= 2, output


# Files of both releases that differ in what is of no concern.
QUIET = {
    "torch/distributed/config.py": ("", "import os\nx = os.environ.get('TORCH_DISTRIBUTED_SPLICE')\n"),
    "torch/distributed/pipelining/__init__.py": ("from .stage import Stage\n", "from .stage import Stage, Splice\n"),
    "torch/distributed/pipelining/stage.py": ("class Stage:\n    pass\n", "class Stage:\n    pass\nclass Splice:\n    pass\n"),
    "torch/_C/_distributed_c10d.pyi": ("class Group:\n    def __init__(self, store): ...\n", "class Group:\n    @overload\n    def __init__(self, store): ...\n"),
    "torch/_dynamo/device_interface.py": ("class XpuInterface:\n    pass\n", "class XpuInterface:\n    def splice(self):\n        pass\n"),
    "torch/distributed/_watch.py": ("", "import os\ndef f():\n    nccl = os.environ.get('TORCH_WATCH_SPLICE')\n"),
    "torch/distributed/rank.py": ("", "import os\nold = os.environ.get('TORCH_NCCL_SPLICE')\nos.environ['TORCH_NCCL_SPLICE'] = '1'\n"),
    "torch/utils/cpp_extension.py": ("def load(cuda_sources):\n    pass\n", "def load(cuda_sources, splice=False):\n    pass\n"),
    "torch/cuda/words.py": ("", "WHY = 'a sentence of a message'\n"),
    "torch/numa/binding.py": ("def _bind(cuda):\n    pass\n", "def _bind(cuda):\n    raise ValueError('the devices must not be split')\n"),
    "torch/_inductor/codegen/common.py": ("register_backend_for_device('cpu', Splice)\n", "register_backend_for_device('cpu', Spliced)\n"),
    "torch/include/ATen/cuda/Splices.h": ("enum DeviceSplice { SpliceA, SpliceB, SpliceC, SpliceD, SpliceE };", "enum DeviceSplice { SpliceA, SpliceB, SpliceC, SpliceD };"),
    "torch/_inductor/codegen/mps_device_op_overrides.py": ("class MPSOverrides:\n    pass\n", "class MPSOverrides:\n    def splice(self):\n        pass\n"),
}


def test_nothing_changed(tmp_path, run):
    for which, version in enumerate((BEFORE, AFTER)):
        release = Release()
        release.functions["splice_mps"] = [("splice of two is not supported on MPS", "is not supported on MPS")[which]]
        release.kernels_of_cuda["splice_cuda"] = release.texts_of_cpu = [("a text of splice", "splice is not supported for two")[which]]
        release.texts.append(("TORCH_NCCL_SPLICE", "mallocTORCH_NCCL_SPLICE")[which])
        release.files.update({path: contents[which] for path, contents in QUIET.items()})
        release.write(tmp_path, version)
    status, output = run(BEFORE, AFTER)
    assert (status, output.splitlines()[0]) == (0, f"torch {BEFORE} → {AFTER}: 0 lines ()")


def test_the_command_with_a_wrong_call_and_a_wheel_that_is_not_there(tmp_path):
    release = Release()
    release.write(tmp_path, BEFORE)
    folder = tmp_path / "runner/tests/releases" / BEFORE
    next(folder.glob("*macosx*")).unlink()
    (folder / "listed.json").write_text("[]")

    def command(*arguments):
        done = subprocess.run([HERE / "watch.sh", *arguments], env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True)
        return done.returncode, done.stderr

    assert command(BEFORE)[0] == 2
    status, output = command(BEFORE, AFTER)
    assert status == 2 and output.endswith(f"torch {BEFORE} has no wheel for macos\n")
    assert command(AFTER, BEFORE)[0] == command("2.15", "new")[0] == 2
    (folder / f"torch-{BEFORE}-cp311-cp311-macosx_14_0_arm64.whl").write_text("no archive")
    status, output = command(BEFORE, AFTER)
    assert status == 2 and "BadZipFile" in output


def test_a_decision_answers_a_line_from_its_version_on_and_is_stale_without_one():
    line = Line("floors", "wheels for Python 3.99", "README.md", DECIDE)
    decision = {"change": "Python 3.99", "since": AFTER, "why": "not yet"}
    assert watch.decide([line], [decision], BEFORE, AFTER) == ([line._replace(status=DECIDED, by="not yet")], [])
    assert watch.decide([line], [decision], "90.0.0", BEFORE) == ([line], [])
    assert watch.decide([], [decision], BEFORE, AFTER) == ([], [decision])
    told = "\n".join(watch.closing([line], [decision], AFTER))
    example = json.loads(next(each for each in told.splitlines() if each.startswith("  {")))
    assert re.search(example["change"], line.change) and example["since"] == AFTER
    assert "wheels for Python 3.99\n    in README.md" in told and "remove it: Python 3.99" in told


def test_a_text_that_the_library_puts_together_is_there():
    texts = ["Expected ", " to be divisible by ", " but got offset "]
    rule = "['_mm'] Expected mat_a to be divisible by 16 but got offset {self.storage_offset()}"
    assert refusal_changes._is_composed(rule, texts)
    assert not refusal_changes._is_composed(rule, texts[:2])


def test_the_page_is_what_the_results_give():
    assert page.PAGE.read_text() == page.page(), "tests/releases/page.py writes it"


def test_every_line_names_a_table_and_an_answer_that_exist():
    lines = [line for result in page.results() for line in result["lines"]]
    assert len(lines) > 100
    missing = {line["table"] for line in lines if not (page.ROOT / line["table"]).exists()}
    missing |= {line["by"] for line in lines if "/" in line["by"] and " " not in line["by"] and not (page.ROOT / line["by"]).exists()}
    assert missing == set()
