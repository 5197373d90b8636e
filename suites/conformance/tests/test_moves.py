"""Tests that moving a tensor to CUDA gives a new CPU tensor, as it would give a new CUDA tensor."""

import unittest

import torch

from conformance import ConformanceTest

MOVES = {
    "to(str)": lambda x: x.to("cuda"),
    "to(str with index)": lambda x: x.to("cuda:1"),
    "to(device)": lambda x: x.to(torch.device("cuda", 0)),
    "to(int)": lambda x: x.to(0),
    "to(device=)": lambda x: x.to(device="cuda"),
    "to(device, dtype)": lambda x: x.to("cuda", torch.float64),
    "to(device, non_blocking)": lambda x: x.to("cuda", non_blocking=True),
    "to(copy=True)": lambda x: x.to("cuda", copy=True),
    "to(mps)": lambda x: x.to("mps"),
    "cuda()": lambda x: x.cuda(),
    "cuda(int)": lambda x: x.cuda(0),
    "cuda(str)": lambda x: x.cuda("cuda:0"),
    "cuda(device)": lambda x: x.cuda(torch.device("cuda:0")),
    "cuda(non_blocking)": lambda x: x.cuda(non_blocking=True),
    "type(name)": lambda x: x.double().type("torch.cuda.FloatTensor"),
}


class MoveTest(ConformanceTest):
    def test_values_arrive_in_memory_of_their_own(self):
        for name, move in MOVES.items():
            with self.subTest(name):
                source = torch.arange(3.0)
                moved = move(source)
                self.assertOnHost(moved)
                self.assertEqual(moved.tolist(), [0, 1, 2])
                moved.add_(1)
                self.assertEqual(source.tolist(), [0, 1, 2])

    def test_each_move_is_recorded(self):
        for name, move in MOVES.items():
            with self.subTest(name):
                added = self.recorded(lambda m=move: m(torch.arange(3.0)))
                self.assertEqual([key[0] for key in added], ["redirect"])

    def test_to_the_cpu_does_not_copy(self):
        source = torch.arange(3.0)
        for same in (source.cpu(), source.to("cpu"), source.to(torch.float32), source.to(source)):
            self.assertIs(same, source)

    def test_to_another_tensor(self):
        self.assertOnHost(torch.ones(2).to(torch.zeros(1, device="cuda")))

    def test_round_trip(self):
        self.assertEqual(torch.arange(3.0).cuda().cpu().numpy().tolist(), [0, 1, 2])

    def test_dtype_and_memory_format(self):
        self.assertEqual(torch.ones(2).to("cuda", torch.float16).dtype, torch.float16)
        moved = torch.ones(1, 2, 3, 4).to("cuda", memory_format=torch.channels_last)
        self.assertTrue(moved.is_contiguous(memory_format=torch.channels_last))

    def test_gradients_flow_through_a_move(self):
        leaf = torch.ones(2, requires_grad=True)
        (leaf.cuda() * 3).sum().backward()
        self.assertEqual(leaf.grad.tolist(), [3, 3])

    def test_meta_to_cuda_keeps_torchs_error(self):
        with self.assertRaises(NotImplementedError):
            torch.ones(2, device="meta").to("cuda")

    def test_cuda_to_meta(self):
        self.assertEqual(torch.ones(2, device="cuda").to("meta").device.type, "meta")

    def test_sparse_and_quantized_move(self):
        sparse = torch.eye(2).to_sparse().cuda()
        self.assertEqual(sparse.to_dense().tolist(), [[1, 0], [0, 1]])
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).cuda()
        self.assertEqual(quantized.dequantize().tolist(), [1, 1])

    def test_copy_between(self):
        target = torch.zeros(3, device="cuda")
        target.copy_(torch.arange(3.0), non_blocking=True)
        self.assertEqual(target.tolist(), [0, 1, 2])

    def test_mixing_with_cpu_tensors(self):
        self.assertEqual((torch.ones(2, device="cuda") + torch.ones(2)).tolist(), [2, 2])


if __name__ == "__main__":
    unittest.main()
