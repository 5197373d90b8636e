"""The table of docs/reference/shim.md for mode `missing` on a CPU host, by every way to write a device."""

import unittest

import torch

from conformance import ConformanceTest

REDIRECTED = ("cuda", "cuda:0", "cuda:1", "cuda:7", "mps", "mps:0", "mps:1")
LEFT = ("cpu", "cpu:0")


class PolicyTest(ConformanceTest):
    def test_strings_land_on_the_host(self):
        for device in REDIRECTED:
            with self.subTest(device):
                self.assertOnHost(torch.empty(2, device=device))

    def test_device_objects_land_on_the_host(self):
        for device in REDIRECTED:
            with self.subTest(device):
                self.assertOnHost(torch.empty(2, device=torch.device(device)))

    def test_device_objects_from_type_and_index_land_on_the_host(self):
        for kind in ("cuda", "mps"):
            for index in (0, 1):
                with self.subTest(kind=kind, index=index):
                    self.assertOnHost(torch.empty(2, device=torch.device(kind, index)))

    def test_integers_mean_cuda(self):
        for index in (0, 1):
            with self.subTest(index):
                self.assertOnHost(torch.empty(2, device=index))
                added = self.recorded(lambda i=index: torch.empty(2, device=i))
                self.assertEqual([key[2] for key in added], [f"cuda:{index}"])

    def test_each_redirection_is_recorded_with_what_was_asked(self):
        for device in REDIRECTED:
            with self.subTest(device):
                added = self.recorded(lambda d=device: torch.empty(2, device=d))
                self.assertEqual(
                    added, {("redirect", "aten::empty.memory_format", device, "cpu"): 1}
                )

    def test_the_cpu_and_nothing_stay_and_are_not_recorded(self):
        for device in (None, *LEFT):
            with self.subTest(device):
                added = self.recorded(
                    lambda d=device: self.assertEqual(torch.empty(2, device=d).device.type, "cpu")
                )
                self.assertEqual(added, {})

    def test_a_cpu_index_folds(self):
        added = self.recorded(lambda: self.assertOnHost(torch.empty(2, device="cpu:1")))
        self.assertEqual([key[0] for key in added], ["fold"])

    def test_meta_stays(self):
        for device in ("meta", torch.device("meta")):
            added = self.recorded(
                lambda d=device: self.assertEqual(torch.empty(2, device=d).device.type, "meta")
            )
            self.assertEqual(added, {})

    def test_device_objects_stay_what_they_are(self):
        device = torch.device("cuda:1")
        self.assertEqual((device.type, device.index, str(device)), ("cuda", 1, "cuda:1"))
        self.assertEqual(device, torch.device("cuda", 1))

    def test_bad_devices_raise_torchs_own_error(self):
        for device in ("cuda:-2", "cpu:x", "gpu", ""):
            with self.subTest(device):
                self.assertRaises(RuntimeError, torch.device, device)
                self.assertRaises(RuntimeError, torch.empty, 2, device=device)

    def test_other_backends_keep_their_own_errors(self):
        self.assertRaises((RuntimeError, NotImplementedError), torch.empty, 2, device="xla")

    def test_default_device(self):
        torch.set_default_device("cuda")
        try:
            self.assertOnHost(torch.ones(2), torch.tensor([1.0]), torch.nn.Linear(2, 2).weight)
        finally:
            torch.set_default_device(None)

    def test_device_context(self):
        with torch.device("cuda"):
            self.assertOnHost(torch.ones(2), torch.arange(3), torch.nn.Linear(2, 2).weight)


if __name__ == "__main__":
    unittest.main()
