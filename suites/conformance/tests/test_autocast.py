"""Under autocast("cuda") the host computes in the dtype that CUDA would."""

import unittest
import warnings

import torch
from torch import nn

from conformance import ConformanceTest


def product():
    one = torch.ones(2, 2, device="cuda")
    return torch.mm(one, one)


def data_of(output):
    return output.data if isinstance(output, nn.utils.rnn.PackedSequence) else output


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

    def test_off_within_the_cpus_own(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for off in (torch.autocast("cuda", enabled=False), torch.autocast("cuda", dtype=torch.float32)):
                with warnings.catch_warnings(), off:
                    self.assertEqual(product().dtype, torch.bfloat16)
            with torch.autocast("cuda", dtype=torch.float16):
                self.assertEqual(product().dtype, torch.float16)
            self.assertEqual(product().dtype, torch.bfloat16)

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

    def test_that_of_mps(self):
        with torch.autocast("mps", dtype=torch.float16):
            self.assertEqual(product().dtype, torch.float16)
            self.assertTrue(torch.is_autocast_enabled("mps"))
            one = torch.ones(2, 2, device="mps")
            self.assertEqual(torch.mv(one, one[0]).dtype, torch.float16)
        self.assertEqual(product().dtype, torch.float32)
        self.assertFalse(torch.is_autocast_enabled("cpu"))

    def test_as_decorator(self):
        decorated = torch.autocast("cuda", dtype=torch.bfloat16)(product)
        self.assertEqual(decorated().dtype, torch.bfloat16)

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


    def test_grad_scaler_skips_a_step_with_infinities(self):
        module = nn.Linear(2, 1).cuda()
        optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
        scaler = torch.cuda.amp.GradScaler(init_scale=16.0, growth_interval=1)
        before = module.weight.detach().clone()
        for poison, scale in ((float("inf"), 8.0), (float("nan"), 4.0), (0.0, 8.0)):
            optimizer.zero_grad()
            loss = module(torch.ones(1, 2, device="cuda")).sum()
            scaler.scale(loss).backward()
            module.weight.grad[0, 0] += poison
            scaler.step(optimizer)
            scaler.update()
            self.assertEqual(scaler.get_scale(), scale)
            self.assertEqual(torch.equal(module.weight, before), poison != 0.0)


class ListTest(ConformanceTest):
    """CUDA's list of ops, where it is longer than the CPU's (tests/shim has torch's own cases)."""

    def test_what_cuda_computes_in_float32(self):
        half = torch.rand(2, 2, device="cuda").half() + 0.1
        ops = {
            "cumsum": lambda: torch.cumsum(half, 0),
            "exp": lambda: torch.exp(half),
            "layer_norm": lambda: nn.functional.layer_norm(half, (2,)),
            "norm": lambda: torch.norm(half),
            "pow": lambda: half**2.5,
            "softmax": lambda: torch.softmax(half, 0),
            "sum": lambda: half.sum(),
        }
        for name, op in ops.items():
            with self.subTest(name):
                self.assertEqual(op().dtype, torch.float16)
                with torch.autocast("cuda"):
                    self.assertEqual(op().dtype, torch.float32)

    def test_what_cuda_computes_in_half(self):
        one = torch.rand(2, 2, device="cuda")
        ops = {
            "mv": lambda: torch.mv(one, one[0]),
            "addmv": lambda: torch.addmv(one[0], one, one[0]),
            "addr": lambda: torch.addr(one, one[0], one[0]),
            "einsum": lambda: torch.einsum("ij,jk->ik", one, one),
            "chain_matmul": lambda: torch.linalg.multi_dot([one, one, one]),
        }
        for name, op in ops.items():
            with self.subTest(name):
                for dtype in (torch.float16, torch.bfloat16):
                    with torch.autocast("cuda", dtype=dtype):
                        self.assertEqual(op().dtype, dtype)

    def test_recurrent_modules(self):
        makes = (
            lambda: nn.LSTM(3, 4),
            lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True),
            lambda: nn.LSTM(3, 4, proj_size=2),
            lambda: nn.GRU(3, 4),
            lambda: nn.RNN(3, 4),
            lambda: nn.RNN(3, 4, nonlinearity="relu"),
        )
        packed = nn.utils.rnn.pack_sequence([torch.rand(3, 3), torch.rand(2, 3)])
        for make in makes:
            module = make().cuda()
            for dtype in (torch.float16, torch.bfloat16):
                for inputs in (torch.rand(5, 2, 3, device="cuda"), packed):
                    with self.subTest(module=str(module), dtype=dtype):
                        with torch.autocast("cuda", dtype=dtype):
                            out, hidden = module(inputs)
                        out = data_of(out)
                        state = hidden[0] if isinstance(hidden, tuple) else hidden
                        self.assertEqual((out.dtype, state.dtype), (dtype, dtype))
                        expected = data_of(module(inputs)[0])
                        self.assertTrue(torch.allclose(out.float(), expected, atol=0.03))
                        out.float().sum().backward()
                        self.assertEqual(module.weight_ih_l0.grad.dtype, torch.float32)

    def test_recurrent_cells(self):
        for make in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            with self.subTest(make.__name__), torch.autocast("cuda"):
                answer = make(3, 4).cuda()(torch.rand(2, 3, device="cuda"))
                state = answer[0] if isinstance(answer, tuple) else answer
                self.assertEqual(state.dtype, torch.float16)

    def test_autocast_of_the_cpu_alone_is_the_cpus(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(torch.exp(torch.ones(2).bfloat16()).dtype, torch.bfloat16)
            self.assertEqual(torch.mv(torch.ones(2, 2), torch.ones(2)).dtype, torch.float32)
            with torch.autocast("cuda"):
                self.assertEqual(torch.mv(torch.ones(2, 2), torch.ones(2)).dtype, torch.float16)
            self.assertEqual(torch.exp(torch.ones(2).bfloat16()).dtype, torch.bfloat16)
            self.assertEqual(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype, torch.bfloat16)


class CustomFunctionTest(ConformanceTest):
    def function(self, **options):
        seen = []

        class Keep(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cuda", **options)
            def forward(ctx, x, other):
                seen.append((x.dtype, other["key"][0].dtype, product().dtype))
                return x * 2

            @staticmethod
            @torch.amp.custom_bwd(device_type="cuda")
            def backward(ctx, grad):
                seen.append(product().dtype)
                return grad * 2, None

        return Keep, seen

    def run_under(self, **options):
        function, seen = self.function(**options)
        x = torch.ones(2, device="cuda", requires_grad=True)
        with torch.autocast("cuda"):
            function.apply(x.half(), {"key": [x.half()]}).float().sum().backward()
        return seen

    def test_inputs_are_cast_and_autocast_is_off_inside(self):
        self.assertEqual(
            self.run_under(cast_inputs=torch.float32),
            [(torch.float32, torch.float32, torch.float32), torch.float32],
        )

    def test_without_a_cast_autocast_stays(self):
        self.assertEqual(
            self.run_under(), [(torch.float16, torch.float16, torch.float16), torch.float16]
        )

    def test_outside_autocast_nothing_is_cast(self):
        function, seen = self.function(cast_inputs=torch.float32)
        function.apply(torch.ones(2).half(), {"key": [torch.ones(2).half()]})
        self.assertEqual(seen, [(torch.float16, torch.float16, torch.float32)])

if __name__ == "__main__":
    unittest.main()
