"""torch's own Python uses names of torch._C that only a CUDA build has. Tests that each name in the
installed torch's files exists and is not a placeholder."""

import pathlib
import re
import types
import unittest

import torch

from conformance import ConformanceTest

FOLDER = pathlib.Path(torch.__file__).parent
USES = re.compile(
    r"""torch\._C\.(?P<attribute>\w+)
      | (?:get|has)attr\(\s*torch\._C,\s*["'](?P<asked>\w+)["']
      | from\ torch\._C\ import\ (?:\((?P<block>[^)]*)\)|(?P<line>[^(\n]+))""",
    re.VERBOSE,
)
PLACEHOLDERS = re.compile(r"""torch\._C\.__dict__\[\s*["'](\w+)["']\s*\]\s*=""")

# Why a name that torch's files speak of is not there.
ELSEWHERE = {
    r"_xpu_\w+|_Xpu\w+|_StaticXpuLauncher": "XPU's",
    r"_mps_\w+": "what MPS has on a Mac only",
    r"_cuda_getHipblasltVersion|_rocm_is_backward_pass": "ROCm's",
    r"_cusparselt": "an add-on of CUDA builds, whose absence torch.backends.cusparselt tells",
    r"_run_tensorexpr_cpp_tests|_distributed_rpc_testing": "what builds for torch's tests have",
    r"_(add|remove)_batch_dim|_vmap_increment_nesting|_is_batched|_refs|_jit_pass_": "no build's: "
    "submodules have them, or comments",
}


def files():
    return {
        path: path.read_text(encoding="utf-8", errors="replace") for path in FOLDER.rglob("*.py")
    }


def imported(names):
    for name in re.sub(r"#.*", "", names).split(","):
        word = name.split(" as ")[0].strip()
        if word.isidentifier():
            yield word


def used(text):
    for use in USES.finditer(text):
        if names := use["block"] or use["line"]:
            yield from imported(names)
        else:
            yield use["attribute"] or use["asked"]


class NativeNamesTest(ConformanceTest):
    @classmethod
    def setUpClass(cls):
        cls.texts = files()

    def test_every_name_that_torch_uses_is_there(self):
        missing = {}
        for path, text in self.texts.items():
            for name in used(text):
                if name.startswith("_") and not hasattr(torch._C, name):
                    missing.setdefault(name, str(path.relative_to(FOLDER)))
        self.assertIn("_cuda_isInBadFork", set(used(self.texts[FOLDER / "cuda" / "__init__.py"])))
        for name, path in missing.items():
            with self.subTest(name, used_in=path):
                self.assertTrue(any(re.fullmatch(known, name) for known in ELSEWHERE), "is new")

    def test_no_placeholder_of_torchs_own_is_left(self):
        placed = {
            name
            for path, text in self.texts.items()
            if FOLDER / "cuda" in path.parents
            for name in PLACEHOLDERS.findall(text)
        }
        self.assertIn("_CudaStreamBase", placed)
        for name in placed:
            with self.subTest(name):
                self.assertNotRegex(getattr(torch._C, name).__module__, r"^torch\.(_utils|cuda)")

    def test_every_function_is_an_object_of_its_own(self):
        ours = {
            name: value
            for name, value in vars(torch._C).items()
            if isinstance(value, types.FunctionType) and value.__module__.startswith("compat_shim")
        }
        self.assertGreater(len(ours), 80)
        self.assertEqual(len({id(value) for value in ours.values()}), len(ours))

    def test_the_properties_that_torch_declares_are_there(self):
        stub = (FOLDER / "_C" / "__init__.pyi").read_text(encoding="utf-8")
        declared = re.search(r"class _CudaDeviceProperties:\n((?:    \w+: .*\n)+)", stub)[1]
        properties = torch.cuda.get_device_properties(0)
        for name, kind in re.findall(r"(\w+): _?(\w+)", declared):
            with self.subTest(name):
                self.assertIs(type(getattr(properties, name)), {"str": str, "int": int}[kind])


if __name__ == "__main__":
    unittest.main()
