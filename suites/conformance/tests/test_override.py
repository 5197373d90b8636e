""""cpu:-1" turns the CPU override on and off, wherever a device may be written, once a call."""

import copy
import gc
import io
import unittest
import weakref

import torch
from torch import nn

from conformance import ConformanceTest

TOGGLE = "cpu:-1"
ONES = torch.ones(2)


def checkpoint():
    file = io.BytesIO()
    torch.save({"one": ONES, "other": torch.zeros(3)}, file)
    file.seek(0)
    return file


# Each is one call of the user's, however many tensors it makes or moves.
CALLS = {
    "zeros": lambda: torch.zeros(2, device=TOGGLE),
    "empty": lambda: torch.empty(2, device=TOGGLE),
    "randn": lambda: torch.randn(2, device=TOGGLE),
    "full": lambda: torch.full((2,), 1.0, device=TOGGLE),
    "arange": lambda: torch.arange(3, device=TOGGLE),
    "tensor": lambda: torch.tensor([1.0], device=TOGGLE),
    "as_tensor": lambda: torch.as_tensor([1.0], device=TOGGLE),
    "asarray": lambda: torch.asarray([1.0], device=TOGGLE),
    "zeros_like": lambda: torch.zeros_like(ONES, device=TOGGLE),
    "new_tensor": lambda: ONES.new_tensor([1.0], device=TOGGLE),
    "new_zeros": lambda: ONES.new_zeros(2, device=TOGGLE),
    "hamming_window": lambda: torch.hamming_window(4, device=TOGGLE),
    "signal.windows.hann": lambda: torch.signal.windows.hann(4, device=TOGGLE),
    "fft.fftfreq": lambda: torch.fft.fftfreq(4, device=TOGGLE),
    "sparse_coo_tensor": lambda: torch.sparse_coo_tensor(
        [[0], [0]], [1.0], (2, 2), device=TOGGLE, check_invariants=True
    ),
    "sparse_csr_tensor": lambda: torch.sparse_csr_tensor(
        [0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), device=TOGGLE, check_invariants=True
    ),
    "nested_tensor": lambda: torch.nested.nested_tensor(
        [ONES, torch.ones(3)], device=TOGGLE, layout=torch.jagged
    ),
    "_empty_affine_quantized": lambda: torch._empty_affine_quantized(
        [2], scale=1.0, zero_point=0, dtype=torch.qint8, device=TOGGLE
    ),
    "to": lambda: ONES.to(TOGGLE),
    "to(dtype)": lambda: ONES.to(TOGGLE, torch.float64),
    "to(device=)": lambda: ONES.to(device=TOGGLE),
    "Module.to": lambda: nn.Linear(2, 2).to(TOGGLE).weight,
    "Module.to_empty": lambda: nn.LSTM(2, 2).to_empty(device=TOGGLE).weight_hh_l0,
    "nn.Linear": lambda: nn.Linear(2, 2, device=TOGGLE).weight,
    "nn.TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(
        4, 2, device=TOGGLE
    ).norm1.weight,
    "UntypedStorage": lambda: torch.UntypedStorage(4, device=TOGGLE),
    "load": lambda: torch.load(checkpoint(), map_location=TOGGLE)["other"],
    "device": lambda: torch.empty(1, device=torch.device(TOGGLE)),
    "device(type=)": lambda: torch.empty(1, device=torch.device(type=TOGGLE)),
    "Generator": lambda: torch.Generator(TOGGLE),
    "Generator(device=)": lambda: torch.Generator(device=TOGGLE),
    "Stream": lambda: torch.Stream(device=TOGGLE),
}


class OverrideTest(ConformanceTest):
    def kind(self):
        """The kind of event that a request for CUDA is counted as."""
        ((kind, *_),) = self.recorded(lambda: torch.empty(1, device="cuda"))
        return kind

    def setUp(self):
        self.assertEqual(self.kind(), "redirect", "another test left the override on")

    def test_every_call_toggles_once(self):
        for name, call in CALLS.items():
            with self.subTest(name):
                for kind in ("override", "redirect"):
                    made = []
                    added = self.recorded(lambda c=call, m=made: m.append(c()))
                    self.assertEqual(str(made[0].device), "cpu")
                    self.assertEqual(
                        [(key[0], *key[2:], count) for key, count in added.items()],
                        [("override", TOGGLE, "cpu", 1)],
                    )
                    self.assertEqual(self.kind(), kind)

    def test_a_module_without_parameters(self):
        nn.ReLU().to(TOGGLE)
        self.assertEqual(self.kind(), "override")
        nn.ReLU().to(device=TOGGLE)
        self.assertEqual(self.kind(), "redirect")

    def test_what_torch_hands_out_is_a_plain_device(self):
        device, *_ = torch._C._nn._parse_to(TOGGLE)
        self.assertEqual(device, torch.device("cpu"))
        self.assertEqual(self.kind(), "override")
        torch._C._nn._parse_to(TOGGLE)

    def test_each_pass_of_a_loop_toggles(self):
        for _ in range(3):
            nn.Linear(2, 2, device=TOGGLE)
        self.assertEqual(self.kind(), "override")
        for _ in range(3):
            torch.zeros(2, device=TOGGLE)
        self.assertEqual(self.kind(), "redirect")

    def test_an_object_toggles_as_it_is_built_and_not_as_it_is_used(self):
        device = torch.device(TOGGLE)
        self.assertEqual((str(device), device.index), ("cpu", None))
        for _ in range(3):
            torch.zeros(2, device=device)
        self.assertEqual(self.kind(), "override")
        copy.deepcopy(device)
        self.assertEqual(self.kind(), "override")
        torch.device(TOGGLE)

    def test_default_device_and_context(self):
        torch.set_default_device(TOGGLE)
        try:
            self.assertEqual(self.kind(), "override")
            self.assertOnHost(torch.ones(2), nn.Linear(2, 2).weight)
            self.assertEqual(self.kind(), "override")
        finally:
            torch.set_default_device(None)
        with torch.device(TOGGLE):
            self.assertOnHost(torch.ones(2), nn.Linear(2, 2).weight)
            self.assertEqual(self.kind(), "redirect")

    def test_a_call_that_fails_before_it_asks_does_not_toggle(self):
        self.assertRaises(TypeError, torch.zeros, "two", device=TOGGLE)
        self.assertEqual(self.kind(), "redirect")

    def test_the_call_that_toggled_keeps_nothing_alive_after_the_next_request(self):
        module = nn.Linear(2, 2, device=TOGGLE)
        gone = weakref.ref(module)
        del module
        torch.zeros(1, device=TOGGLE)
        gc.collect()
        self.assertIsNone(gone())

    def test_only_this_string(self):
        for device in ("cpu:-2", "cpu: -1", "CPU:-1", "cpu:-1 ", "cuda:-1", "mps:-1", "cpu:-01"):
            with self.subTest(device):
                self.assertRaises(RuntimeError, torch.device, device)
                self.assertRaises(RuntimeError, torch.zeros, 2, device=device)
        self.assertRaises(RuntimeError, torch.device, "cpu", -1)


if __name__ == "__main__":
    unittest.main()
