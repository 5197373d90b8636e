"""Modules, optimizers and a whole training step written for CUDA."""

import copy
import io
import unittest

import torch
from torch import nn

from conformance import ConformanceTest


def network():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


MOVES = {
    "cuda()": lambda m: m.cuda(),
    "cuda(0)": lambda m: m.cuda(0),
    "to(str)": lambda m: m.to("cuda"),
    "to(device)": lambda m: m.to(torch.device("cuda", 0)),
    "to(int)": lambda m: m.to(0),
    "to(device, dtype)": lambda m: m.to("cuda", torch.float32),
    "to(mps)": lambda m: m.to("mps"),
}


class ModuleTest(ConformanceTest):
    def test_parameters_and_buffers_move(self):
        for name, move in MOVES.items():
            with self.subTest(name):
                module = network()
                before = copy.deepcopy(module.state_dict())
                self.assertIs(move(module), module)
                self.assertOnHost(*module.state_dict().values())
                for key, value in module.state_dict().items():
                    self.assertTrue(torch.equal(value, before[key]))

    def test_parameters_keep_their_identity(self):
        module = network()
        before = list(module.parameters())
        module.cuda()
        for old, new in zip(before, module.parameters()):
            self.assertIs(old, new)

    def test_tied_weights_stay_tied(self):
        module = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        module[1].weight = module[0].weight
        module.cuda()
        self.assertIs(module[0].weight, module[1].weight)

    def test_modules_made_on_a_device(self):
        self.assertOnHost(nn.Linear(2, 2, device="cuda").weight)
        self.assertOnHost(nn.LSTM(2, 2, device="cuda").weight_hh_l0)

    def test_to_empty(self):
        module = nn.Linear(2, 2, device="meta").to_empty(device="cuda")
        self.assertOnHost(module.weight)

    def test_training_step(self):
        torch.manual_seed(0)
        reference = network()
        module = copy.deepcopy(reference).to("cuda")
        data = torch.randn(8, 3)
        for net, where in ((reference, "cpu"), (module, "cuda")):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            loss = net(data.to(where)).square().mean()
            loss.backward()
            optimizer.step()
        for one, other in zip(reference.parameters(), module.parameters()):
            self.assertTrue(torch.equal(one, other))

    def test_optimizers(self):
        for options in ({}, {"foreach": True}, {"fused": True}):
            with self.subTest(options):
                module = nn.Linear(2, 1).cuda()
                optimizer = torch.optim.Adam(module.parameters(), **options)
                before = module.weight.detach().clone()
                module(torch.ones(1, 2, device="cuda")).sum().backward()
                optimizer.step()
                self.assertFalse(torch.equal(module.weight, before))

    def test_capturable_optimizers_take_the_same_steps(self):
        for name in "Adadelta Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop".split():
            for foreach in (False, True):
                with self.subTest(name, foreach=foreach):
                    plain = self.trained(name, False, foreach=foreach)
                    capturable = self.trained(name, False, foreach=foreach, capturable=True)
                    # Counts its steps in float32: 1 - 0.999 is off by 6e-5 of itself.
                    self.assertTrue(torch.allclose(plain, capturable, atol=1e-5))

    def test_optimizers_that_are_compiled_as_torchscript(self):
        if not torch.distributed.is_available():
            self.skipTest("no torch.distributed")
        from torch.distributed.optim import _FunctionalAdam  # compiled as it is imported

        weight = torch.ones(3, device="cuda", requires_grad=True)
        _FunctionalAdam([weight], lr=0.5).step([torch.ones(3, device="cuda")])
        self.assertTrue(torch.allclose(weight, torch.full((3,), 0.5)))

    def test_every_optimizer_resumes_from_a_checkpoint(self):
        """The same steps, in one go and with a save and a load on CUDA between them."""
        special = {"LBFGS", "Optimizer", "SparseAdam", "Muon"}  # these want other steps or weights
        names = [
            name
            for name, kind in vars(torch.optim).items()
            if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
        ]
        self.assertGreater(len(names), 10)
        for name in sorted(set(names) - special):
            with self.subTest(name):
                whole, halves = (self.trained(name, breaks) for breaks in (False, True))
                self.assertTrue(torch.equal(whole, halves))

    @staticmethod
    def trained(name, breaks, **options):
        torch.manual_seed(1)
        data = torch.randn(6, 2, device="cuda")
        module = nn.Linear(2, 1).cuda()
        optimizer = getattr(torch.optim, name)(module.parameters(), lr=0.1, **options)
        for step in range(4):
            if breaks and step == 2:
                file = io.BytesIO()
                torch.save([module.state_dict(), optimizer.state_dict()], file)
                file.seek(0)
                weights, state = torch.load(file, map_location="cuda:0")
                module = nn.Linear(2, 1, device="cuda")
                optimizer = getattr(torch.optim, name)(module.parameters(), lr=0.1, **options)
                module.load_state_dict(weights)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            module(data).square().mean().backward()
            optimizer.step()
        return module.weight.detach()

    def test_data_parallel(self):
        module = nn.DataParallel(nn.Linear(2, 2).cuda())
        self.assertEqual(module(torch.ones(2, 2, device="cuda")).shape, (2, 2))

    def test_checkpointing(self):
        from torch.utils.checkpoint import checkpoint

        for reentrant in (True, False):
            with self.subTest(reentrant=reentrant):
                leaf = torch.ones(2, requires_grad=True, device="cuda")
                checkpoint(lambda x: x * 2, leaf, use_reentrant=reentrant).sum().backward()
                self.assertEqual(leaf.grad.tolist(), [2, 2])

    def test_data_loader_pins(self):
        from torch.utils.data import DataLoader, TensorDataset

        loader = DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2, pin_memory=True)
        batches = [batch for (batch,) in loader]
        self.assertTrue(all(batch.is_pinned() for batch in batches))
        self.assertEqual(torch.cat([b.cuda(non_blocking=True) for b in batches]).sum(), 6)

    def test_scaled_dot_product_attention(self):
        ones = torch.ones(1, 1, 2, 4, device="cuda")
        result = torch.nn.functional.scaled_dot_product_attention(ones, ones, ones)
        self.assertTrue(torch.equal(result, ones))


if __name__ == "__main__":
    unittest.main()
