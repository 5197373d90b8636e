"""Under autocast("cuda") the host computes in the dtype that CUDA would."""

import unittest
import warnings

import torch
from torch import nn

from conformance import ConformanceTest


def product():
    one = torch.ones(2, 2, device="cuda")
    return torch.mm(one, one)


class AutocastTest(ConformanceTest):
    def test_the_default_is_float16(self):
        with torch.autocast("cuda"):
            self.assertEqual(product().dtype, torch.float16)
        self.assertEqual(product().dtype, torch.float32)

    def test_a_dtype_of_its_own(self):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.assertEqual(product().dtype, torch.bfloat16)

    def test_disabled_inside(self):
        with torch.autocast("cuda"):
            with torch.autocast("cuda", enabled=False):
                self.assertEqual(product().dtype, torch.float32)
            self.assertEqual(product().dtype, torch.float16)

    def test_the_state_can_be_asked(self):
        self.assertFalse(torch.is_autocast_enabled("cuda"))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.assertTrue(torch.is_autocast_enabled())
            self.assertTrue(torch.is_autocast_enabled("cuda"))
            self.assertEqual(torch.get_autocast_dtype("cuda"), torch.bfloat16)
        self.assertFalse(torch.is_autocast_enabled("cuda"))
        self.assertFalse(torch.is_autocast_enabled("cpu"))

    def test_one_object_entered_twice(self):
        cast = torch.autocast("cuda")
        for _ in range(2):
            with cast:
                self.assertEqual(product().dtype, torch.float16)
            self.assertEqual(product().dtype, torch.float32)

    def test_as_decorator(self):
        self.assertEqual(torch.autocast("cuda", dtype=torch.bfloat16)(product)().dtype, torch.bfloat16)

    def test_state_returns_after_an_error(self):
        with self.assertRaises(ZeroDivisionError):
            with torch.autocast("cuda"):
                raise ZeroDivisionError
        self.assertEqual(product().dtype, torch.float32)

    def test_the_older_name(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.cuda.amp.autocast():
                self.assertEqual(nn.Linear(2, 2)(torch.ones(1, 2)).dtype, torch.float16)

    def test_is_recorded(self):
        def enter():
            with torch.autocast("cuda"):
                pass

        self.assertEqual(
            list(self.recorded(enter)), [("redirect", "torch.autocast", "cuda", "cpu")]
        )

    def test_grad_scaler(self):
        module = nn.Linear(2, 1).cuda()
        optimizer = torch.optim.AdamW(module.parameters())
        scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
        before = module.weight.detach().clone()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = module(torch.ones(4, 2, device="cuda")).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual(scaler.get_scale(), 8.0)
        self.assertFalse(torch.equal(module.weight, before))


if __name__ == "__main__":
    unittest.main()
