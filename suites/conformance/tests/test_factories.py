"""Everything that makes a tensor takes a CUDA device, gives a CPU tensor and the CPU's values."""

import unittest

import torch

from conformance import ConformanceTest

DEVICES = ("cuda", "cuda:0", torch.device("cuda"), torch.device("cuda", 0), 0, "cuda:1")
SHAPE = torch.arange(6.0).reshape(2, 3)

FACTORIES = {
    "arange": lambda **d: torch.arange(3, **d),
    "as_tensor": lambda **d: torch.as_tensor([1, 2], **d),
    "asarray": lambda **d: torch.asarray([1, 2], **d),
    "eye": lambda **d: torch.eye(3, **d),
    "fftfreq": lambda **d: torch.fft.fftfreq(4, **d),
    "full": lambda **d: torch.full((2,), 7.0, **d),
    "hamming_window": lambda **d: torch.hamming_window(4, **d),
    "hann_window": lambda **d: torch.hann_window(4, **d),
    "linspace": lambda **d: torch.linspace(0, 1, 3, **d),
    "logspace": lambda **d: torch.logspace(0, 1, 3, **d),
    "ones": lambda **d: torch.ones(2, **d),
    "range": lambda **d: torch.arange(0, 4, 2, **d),
    "scalar_tensor": lambda **d: torch.scalar_tensor(1.0, **d),
    "signal.windows.hann": lambda **d: torch.signal.windows.hann(4, **d),
    "tensor": lambda **d: torch.tensor([1.0, 2.0], **d),
    "tril_indices": lambda **d: torch.tril_indices(3, 3, **d),
    "triu_indices": lambda **d: torch.triu_indices(3, 3, **d),
    "zeros": lambda **d: torch.zeros(2, **d),
}
LIKE = {
    "full_like": lambda **d: torch.full_like(SHAPE, 3, **d),
    "new_full": lambda **d: SHAPE.new_full((2,), 3, **d),
    "new_ones": lambda **d: SHAPE.new_ones(3, **d),
    "new_tensor": lambda **d: SHAPE.new_tensor([1, 2], **d),
    "new_zeros": lambda **d: SHAPE.new_zeros(3, **d),
    "ones_like": lambda **d: torch.ones_like(SHAPE, **d),
    "zeros_like": lambda **d: torch.zeros_like(SHAPE, **d),
}
RANDOM = {
    "rand": lambda **d: torch.rand(4, **d),
    "rand_like": lambda **d: torch.rand_like(SHAPE, **d),
    "randint": lambda **d: torch.randint(0, 9, (4,), **d),
    "randint_like": lambda **d: torch.randint_like(SHAPE, 9, **d),
    "randn": lambda **d: torch.randn(4, **d),
    "randn_like": lambda **d: torch.randn_like(SHAPE, **d),
    "randperm": lambda **d: torch.randperm(4, **d),
}
UNFILLED = {
    "empty": lambda **d: torch.empty(2, **d),
    "empty_like": lambda **d: torch.empty_like(SHAPE, **d),
    "empty_permuted": lambda **d: torch.empty_permuted((2, 3), (0, 1), **d),
    "empty_strided": lambda **d: torch.empty_strided((2,), (1,), **d),
    "new_empty": lambda **d: SHAPE.new_empty(3, **d),
    "new_empty_strided": lambda **d: SHAPE.new_empty_strided((2,), (1,), **d),
}


class FactoryTest(ConformanceTest):
    def check(self, table, same=torch.equal):
        for name, make in table.items():
            for device in DEVICES:
                with self.subTest(name, device=device):
                    made = make(device=device)
                    self.assertOnHost(made)
                    self.assertTrue(same(made, make()))

    def test_values(self):
        self.check(FACTORIES)

    def test_values_like_another(self):
        self.check(LIKE)

    def test_unfilled(self):
        self.check(UNFILLED, same=lambda one, other: one.shape == other.shape)

    def test_random(self):
        for name, make in RANDOM.items():
            for device in DEVICES:
                with self.subTest(name, device=device):
                    torch.manual_seed(5)
                    made = make(device=device)
                    torch.manual_seed(5)
                    self.assertOnHost(made)
                    self.assertTrue(torch.equal(made, make()))

    def test_dtype_and_grad_are_kept(self):
        made = torch.zeros(2, dtype=torch.float64, device="cuda", requires_grad=True)
        self.assertEqual((made.dtype, made.requires_grad, made.is_leaf), (torch.float64, True, True))

    def test_out(self):
        out = torch.empty(2, device="cuda")
        self.assertIs(torch.ones(2, out=out), out)
        self.assertEqual(out.tolist(), [1, 1])

    def test_sparse_coo(self):
        made = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), device="cuda")
        self.assertOnHost(made)
        self.assertEqual(made.to_dense().tolist(), [[0, 1], [2, 0]])

    def test_sparse_csr(self):
        made = torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), device="cuda")
        self.assertOnHost(made)
        self.assertEqual(made.to_dense().tolist(), [[1, 0], [0, 2]])

    def test_sparse_zeros(self):
        made = torch.zeros(2, 2, layout=torch.sparse_coo, device="cuda")
        self.assertEqual((made.device.type, made.layout), ("cpu", torch.sparse_coo))

    def test_nested(self):
        parts = [torch.ones(2), torch.ones(3)]
        for layout in (torch.strided, torch.jagged):
            made = torch.nested.nested_tensor(parts, device="cuda", layout=layout)
            self.assertOnHost(made)
            self.assertEqual([part.numel() for part in made.unbind()], [2, 3])

    def test_quantized(self):
        made = torch._empty_affine_quantized(
            [2], scale=1.0, zero_point=0, dtype=torch.qint8, device="cuda"
        )
        self.assertOnHost(made)

    def test_pinned(self):
        self.assertTrue(torch.empty(2, pin_memory=True).is_pinned())
        pinned = torch.ones(2).pin_memory()
        self.assertTrue(pinned.is_pinned())
        self.assertEqual(pinned.tolist(), [1, 1])
        self.assertFalse(torch.ones(2).is_pinned())


if __name__ == "__main__":
    unittest.main()
