"""Saved for one device, loaded for another; storages; the legacy types of torch.cuda."""

import copy
import io
import pickle
import unittest
from unittest import mock

import torch

from conformance import ConformanceTest


def saved(tag=None):
    """A checkpoint, whose storages say `tag` where one is given (as saved on a CUDA machine)."""
    file = io.BytesIO()
    with mock.patch.object(
        torch.serialization, "location_tag", side_effect=lambda storage: tag or "cpu"
    ):
        torch.save({"weight": torch.arange(3.0)}, file)
    file.seek(0)
    return file


class LoadTest(ConformanceTest):
    def check(self, file, **options):
        weight = torch.load(file, **options)["weight"]
        self.assertOnHost(weight)
        self.assertEqual(weight.tolist(), [0, 1, 2])

    def test_map_location(self):
        locations = (
            "cuda",
            "cuda:0",
            torch.device("cuda"),
            torch.device("cuda", 0),
            {"cpu": "cuda:0"},
            lambda storage, location: storage.cuda(0),
        )
        for location in locations:
            with self.subTest(location=location):
                self.check(saved(), map_location=location)

    def test_a_checkpoint_from_cuda(self):
        self.check(saved("cuda:0"))

    def test_a_checkpoint_from_cuda_mapped_to_the_cpu(self):
        self.check(saved("cuda:0"), map_location="cpu")

    def test_state_dict_round_trip(self):
        module = torch.nn.Linear(2, 2).cuda()
        file = io.BytesIO()
        torch.save(module.state_dict(), file)
        file.seek(0)
        module.load_state_dict(torch.load(file, map_location="cuda"))

    def test_pickle_and_deepcopy(self):
        tensor = torch.ones(2, device="cuda")
        self.assertTrue(torch.equal(pickle.loads(pickle.dumps(tensor)), tensor))
        self.assertTrue(torch.equal(copy.deepcopy(tensor), tensor))
        self.assertEqual(pickle.loads(pickle.dumps(torch.device("cuda:0"))).type, "cuda")


class StorageTest(ConformanceTest):
    def test_made_on_cuda(self):
        for make in (
            lambda: torch.UntypedStorage(4, device="cuda"),
            lambda: torch.ones(2).untyped_storage().cuda(),
        ):
            added = self.recorded(lambda m=make: self.assertEqual(m().device.type, "cpu"))
            self.assertEqual([key[:3] for key in added][0][1], "torch.UntypedStorage")

    def test_typed(self):
        self.assertEqual(torch.ones(2).storage().cuda().device.type, "cpu")


class LegacyTypeTest(ConformanceTest):
    def test_constructors(self):
        self.assertEqual(torch.cuda.FloatTensor(2).shape, (2,))
        self.assertEqual(torch.cuda.LongTensor([1, 2]).dtype, torch.int64)
        added = self.recorded(lambda: torch.cuda.HalfTensor(1))
        self.assertIn(("redirect", "torch.cuda.HalfTensor", "cuda", "cpu"), added)

    def test_instance_checks(self):
        self.assertIsInstance(torch.ones(1).cuda(), torch.cuda.FloatTensor)
        self.assertNotIsInstance(torch.ones(1).cuda(), torch.cuda.LongTensor)

    def test_conversion(self):
        for kind in ("torch.cuda.DoubleTensor", torch.cuda.DoubleTensor):
            converted = torch.ones(1).type(kind)
            self.assertOnHost(converted)
            self.assertEqual(converted.dtype, torch.float64)

    def test_default(self):
        for kind in ("torch.cuda.DoubleTensor", torch.cuda.DoubleTensor):
            torch.set_default_tensor_type(kind)
            try:
                self.assertOnHost(torch.ones(1))
                self.assertEqual(torch.get_default_dtype(), torch.float64)
            finally:
                torch.set_default_tensor_type("torch.FloatTensor")


if __name__ == "__main__":
    unittest.main()
