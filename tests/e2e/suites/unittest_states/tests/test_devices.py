import unittest

import torch


class Devices(unittest.TestCase):
    def test_asks_for_cuda(self):
        tensor = torch.ones(2, device="cuda")
        self.assertEqual(tensor.sum().item(), 2)

    def test_moves_a_module(self):
        module = torch.nn.Linear(2, 2).to("cuda:0")
        self.assertEqual(module(torch.ones(1, 2).cuda()).shape, (1, 2))

    def test_touches_nothing(self):
        self.assertEqual(torch.ones(2).sum().item(), 2)

    @unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")
    def test_only_where_cuda_is(self):
        self.assertEqual(torch.cuda.device_count(), 1)
