"""Tests questions that trap a shim which redirects devices: integers as devices, TorchScript,
comparisons with strings, other packages' ways of asking whether there is a GPU, and extensions with
CUDA sources."""

import importlib
import importlib.util
import os
import tempfile
import unittest
from unittest import mock

import torch
from torch import nn

from conformance import ConformanceTest

INTEGERS = {
    "to(0)": lambda x: x.to(0),
    "to(3)": lambda x: x.to(3),
    "to(device=0)": lambda x: x.to(device=0),
    "cuda(1)": lambda x: x.cuda(1),
    "cuda(device=1)": lambda x: x.cuda(device=1),
    "to(torch.device(0))": lambda x: x.to(torch.device(0)),
    "cuda(torch.device(0))": lambda x: x.cuda(torch.device(0)),
    "new_ones": lambda x: x.new_ones(2, device=0),
    "ones": lambda x: torch.ones(2, device=0),
    "tensor": lambda x: torch.tensor([1.0], device=1),
    "ones_like": lambda x: torch.ones_like(x, device=0),
    "module.to": lambda x: nn.Linear(1, 1).to(0).weight,
    "module.cuda": lambda x: nn.Linear(1, 1).cuda(1).weight,
    "module's device": lambda x: nn.Linear(1, 1, device=0).weight,
    "in a context": lambda x: _in_context(0),
}


def _in_context(index):
    with torch.device(index):
        return torch.ones(2)


class IntegerTest(ConformanceTest):
    def test_an_integer_is_a_cuda_device(self):
        for name, call in INTEGERS.items():
            with self.subTest(name):
                self.assertOnHost(call(torch.ones(2)))

    def test_each_is_recorded_once(self):
        for name in ("to(3)", "cuda(1)", "new_ones", "tensor"):
            with self.subTest(name):
                added = self.recorded(lambda call=INTEGERS[name]: call(torch.ones(2)))
                self.assertEqual([key[0] for key in added], ["redirect"])
                self.assertEqual(set(added.values()), {1})

    def test_the_device_of_an_integer_is_cudas(self):
        self.assertEqual(torch.device(1), torch.device("cuda", 1))
        self.assertEqual(torch.Generator(device=0).device.type, torch.Generator("cuda").device.type)


@torch.jit.script
def moved(x: torch.Tensor):
    return x.to("cuda")


@torch.jit.script
def moved_by_cuda(x: torch.Tensor):
    return x.cuda()


@torch.jit.script
def made(x: torch.Tensor):
    return torch.zeros(x.shape, device="cuda")


@torch.jit.script
def made_on(x: torch.Tensor):
    return torch.zeros([2], device=torch.device("cuda:0"))


@torch.jit.script
def sent(x: torch.Tensor, device: torch.device):
    return x.to(device)


@torch.jit.script
def asked(x: torch.Tensor):
    return x.is_cuda, x.device.type == "cuda", x.device == torch.device("cuda:0")


class ScriptTest(ConformanceTest):
    def test_torchscript_redirects(self):
        x = torch.ones(2)
        for script in (moved, moved_by_cuda, made, made_on):
            for _ in range(3):  # the third is optimised
                self.assertOnHost(script(x))
        for device in ("cuda", torch.device("cuda:1")):
            self.assertOnHost(sent(x, device))

    def test_a_trace_redirects(self):
        x = torch.ones(2)
        traced = torch.jit.trace(lambda given: given.to("cuda") + torch.ones(2, device="cuda"), (x,))
        self.assertOnHost(traced(x))

    def test_torchscript_and_python_answer_alike(self):
        x = torch.ones(2, device="cuda")
        eager = (x.is_cuda, x.device.type == "cuda", x.device == torch.device("cuda:0"))
        self.assertEqual(asked(x), eager)


class ComparisonTest(ConformanceTest):
    """As with torch alone: a torch.device never equals a string."""

    def test_a_device_is_no_string(self):
        for name in ("cuda", "cuda:0", "mps", "cpu"):
            device = torch.device(name)
            self.assertFalse(device == name)
            self.assertTrue(device != name)
            self.assertNotIn(device, (name,))
            self.assertEqual(str(device), name)
            self.assertIn(device, {torch.device(name)})

    def test_a_tensors_device_prints_as_it_is(self):
        device = torch.ones(1, device="cuda").device
        self.assertEqual((str(device), device.type, device.index), ("cpu", "cpu", None))
        self.assertEqual(repr(device), "device(type='cpu')")


class DetectionTest(ConformanceTest):
    """Questions of launchers and other packages before they choose a device."""

    def test_lightning_counts_devices(self):
        # lightning.fabric.accelerators.cuda: num_cuda_devices, is_cuda_available,
        # _check_cuda_matmul_precision, find_usable_cuda_devices
        self.assertGreater(torch.cuda.device_count(), 0)
        self.assertTrue(torch.cuda.is_available())
        self.assertIsInstance(torch.cuda.get_device_capability(torch.device("cuda", 0)), tuple)
        self.assertOnHost(torch.tensor(0, device=torch.device("cuda", 0)))
        torch.cuda.set_device(torch.device("cuda", 0))
        self.assertIn("allocated_bytes.all.current", torch.cuda.memory_stats(torch.device("cuda", 0)))

    def test_accelerate_asks_by_nvml(self):
        # accelerate.utils.imports.is_cuda_available
        with mock.patch.dict(os.environ, {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}):
            self.assertTrue(torch.cuda.is_available())
        self.assertTrue(torch.cuda.is_bf16_supported())
        free, total = torch.cuda.mem_get_info(0)
        self.assertGreaterEqual(total, free)

    def test_nvml_without_a_driver_is_what_it_is(self):
        """Neither installed nor hidden by us; torch's questions do not need it."""
        self.assertIsInstance(torch.cuda.utilization(), int)
        if importlib.util.find_spec("pynvml") is None:
            with self.assertRaises(ModuleNotFoundError):
                importlib.import_module("pynvml")
        else:
            pynvml = importlib.import_module("pynvml")
            with self.assertRaises(pynvml.NVMLError):
                pynvml.nvmlInit()

    def test_triton_is_what_it_is(self):
        """Installed or not: that it can be imported means no device that it could compile for."""
        from torch.utils import _triton

        self.assertFalse(_triton.has_triton())
        if importlib.util.find_spec("triton") is None:
            with self.assertRaises(ModuleNotFoundError):
                importlib.import_module("triton")
        else:
            self.assertEqual(importlib.import_module("triton").__name__, "triton")


class ExtensionTest(ConformanceTest):
    REFUSAL = r"^torch\.utils\.cpp_extension\.\w+ is not (available on this device|simulated): a CUDA kernel"

    def assertRefused(self, symbol, call):
        added = self.recorded(lambda: self.assertRaisesRegex(NotImplementedError, self.REFUSAL, call))
        refused = {key: count for key, count in added.items() if key[0] == "refusal"}
        simulated = torch.empty(0, device="cuda").is_cuda
        expected = {("refusal", f"torch.utils.cpp_extension.{symbol}", None, None): 1}
        self.assertEqual(refused, {} if simulated else expected)

    def test_cuda_sources_are_refused_before_a_compiler_is_looked_for(self):
        from torch.utils import cpp_extension

        self.assertRefused("CUDAExtension", lambda: cpp_extension.CUDAExtension("one", ["one.cu"]))
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "one.cu")
            self.assertRefused(
                "load", lambda: cpp_extension.load("one", [source], build_directory=folder)
            )
            self.assertRefused(
                "load",
                lambda: cpp_extension.load_inline(
                    "one", "", cuda_sources="void f() {}", build_directory=folder
                ),
            )

    def test_others_are_not(self):
        from torch.utils import cpp_extension

        self.assertEqual(cpp_extension.CppExtension("one", ["one.cpp"]).name, "one")
        self.assertIn(type(cpp_extension.CUDA_HOME), (str, type(None)))


if __name__ == "__main__":
    unittest.main()
