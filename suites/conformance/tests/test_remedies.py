"""Tests functions that name a device and reach neither the dispatcher nor torch._C: defaults,
`out=`, parallel modules, the profiler, versions."""

import json
import os
import pathlib
import tempfile
import unittest
import warnings

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from conformance import CPU, ConformanceTest


def can_unset_the_default_device():
    """torch 2.8 cannot answer after set_default_device(None)."""
    torch.set_default_device(None)
    try:
        return torch.get_default_device() is not None
    except AttributeError:
        return False


@unittest.skipUnless(can_unset_the_default_device(), "this torch cannot unset the default device")
class DefaultDeviceTest(ConformanceTest):
    def tearDown(self):
        torch.set_default_device(None)

    def test_what_was_set_is_answered(self):
        self.assertEqual(torch.get_default_device(), CPU)
        for asked in ("cuda", "cuda:0", torch.device("cuda"), 0):
            torch.set_default_device(asked)
            self.assertEqual(torch.get_default_device(), torch.device("cuda", 0))
            self.assertOnHost(torch.ones(2))
        torch.set_default_device("cpu")
        self.assertEqual(torch.get_default_device(), CPU)

    def test_in_a_context(self):
        with torch.device("cuda"):
            self.assertEqual(torch.get_default_device(), torch.device("cuda", 0))
            with torch.device("cpu"):
                self.assertEqual(torch.get_default_device(), CPU)
            self.assertEqual(torch.get_default_device(), torch.device("cuda", 0))
        self.assertEqual(torch.get_default_device(), CPU)

    def test_asking_redirects_nothing(self):
        torch.set_default_device("cuda")
        self.assertEqual(self.recorded(torch.get_default_device), {})


class OutTest(ConformanceTest):
    MAKES = {
        "arange": lambda **options: torch.arange(2, **options),
        "empty": lambda **options: torch.empty(2, **options),
        "eye": lambda **options: torch.eye(2, **options),
        "full": lambda **options: torch.full((2,), 3.0, **options),
        "linspace": lambda **options: torch.linspace(0, 1, 2, **options),
        "ones": lambda **options: torch.ones(2, **options),
        "rand": lambda **options: torch.rand(2, **options),
        "randint": lambda **options: torch.randint(3, (2,), **options),
        "randn": lambda **options: torch.randn(2, **options),
        "randperm": lambda **options: torch.randperm(2, **options),
        "zeros": lambda **options: torch.zeros(2, **options),
    }

    def test_a_factory_with_both(self):
        for name, make in self.MAKES.items():
            with self.subTest(name):
                out = torch.empty(0, dtype=torch.long if name == "randperm" else torch.float)
                made = []
                added = self.recorded(lambda m=make, o=out: made.append(m(out=o, device="cuda")))
                self.assertIs(made[0], out)
                self.assertTrue(out.numel())
                self.assertIn(
                    ("redirect", "torch.utils.check_out_type_matches", "cuda", "cpu"), added
                )

    def test_under_a_default_device(self):
        with torch.device("cuda"):
            out = torch.empty(2)
            self.assertIs(torch.ones(2, out=out), out)

    def test_what_does_not_match_still_raises(self):
        for device in ("meta", "cuda"):
            out = torch.empty(2, device="cpu" if device == "meta" else "meta")
            with self.assertRaisesRegex(RuntimeError, "does not match device type of out"):
                torch.ones(2, out=out, device=device)


class ParallelTest(ConformanceTest):
    def test_data_parallel(self):
        module = nn.Linear(2, 3)
        parallel = nn.DataParallel(module).cuda()
        self.assertEqual((parallel.device_ids, parallel.output_device, parallel.dim), ([0], 0, 0))
        x = torch.rand(4, 2, device="cuda")
        self.assertTrue(torch.equal(parallel(x), module(x)))
        parallel(x).sum().backward()
        self.assertIsNotNone(module.weight.grad)

    def test_its_own_scatter_is_called(self):
        class Halved(nn.DataParallel):
            def scatter(self, inputs, kwargs, device_ids):
                return super().scatter((inputs[0] / 2,), kwargs, device_ids)

        self.assertEqual(Halved(nn.Identity(), [0])(torch.ones(2)).tolist(), [0.5, 0.5])

    def test_keywords_and_no_inputs(self):
        class Named(nn.Module):
            def forward(self, x=None, *, y=None):
                return "none" if y is None else y * 2

        parallel = nn.DataParallel(Named(), device_ids=["cuda:0"])
        self.assertEqual(parallel(), "none")
        self.assertEqual(parallel(y=torch.ones(1)).tolist(), [2])

    def test_the_function(self):
        module = nn.Linear(2, 3).cuda()
        x = torch.rand(4, 2, device="cuda")
        for options in ({}, {"device_ids": [0]}, {"device_ids": [0], "output_device": 0}):
            made = nn.parallel.data_parallel(module, x, **options)
            self.assertTrue(torch.equal(made, module(x)))

    def test_two_devices_are_one_too_many(self):
        for ask in (
            lambda: nn.DataParallel(nn.Identity(), device_ids=[0, 1]),
            lambda: nn.parallel.data_parallel(nn.Identity(), torch.ones(2), [0, 1]),
            lambda: torch.cuda.comm.broadcast(torch.ones(1), [0, 1]),
            lambda: torch.cuda.comm.scatter(torch.ones(2), [0, 1]),
            lambda: torch.cuda.comm.gather([torch.ones(2)], destination=1),
            lambda: torch.cuda.comm.reduce_add([torch.ones(2)], destination=1),
        ):
            self.assertRaises((AssertionError, torch.AcceleratorError), ask)

    def test_collectives_into_given_tensors(self):
        import torch.cuda.comm as comm

        four = torch.arange(4.0, device="cuda")
        one, two = torch.empty(1), torch.empty(3)
        comm.scatter(four, out=[one, two])
        self.assertEqual((one.tolist(), two.tolist()), ([0], [1, 2, 3]))
        self.assertEqual(comm.gather([one, two], out=torch.empty(4)).tolist(), [0, 1, 2, 3])
        comm.broadcast(four, out=[torch.empty(4)])
        self.assertEqual(comm.scatter(four, [0], chunk_sizes=[4])[0].tolist(), four.tolist())
        with self.assertRaisesRegex(ValueError, "input 1 has invalid size"):
            comm.reduce_add([torch.ones(2), torch.ones(3)])

    def test_what_is_scattered_is_a_copy(self):
        source = torch.zeros(2)
        torch.cuda.comm.scatter(source, [0])[0].fill_(1)
        torch.cuda.comm.broadcast(source, [0])[0].fill_(1)
        self.assertEqual(source.tolist(), [0, 0])


class AttentionTest(ConformanceTest):
    def test_kernels_that_cuda_alone_has(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        query = torch.rand(1, 2, 4, 8, device="cuda")
        attend = torch.nn.functional.scaled_dot_product_attention
        expected = attend(query, query, query)
        state = torch.backends.cuda.math_sdp_enabled()
        stub = ("stub", "torch.nn.attention.sdpa_kernel", None, None)
        for chosen, stubs in (
            (SDPBackend.EFFICIENT_ATTENTION, {stub: 1}),
            ([SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION], {stub: 1}),
            ([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH], {}),
            (SDPBackend.FLASH_ATTENTION, {}),
        ):
            with self.subTest(chosen=chosen):
                made = []

                def run(chosen=chosen, made=made):
                    with sdpa_kernel(chosen):
                        made.append(attend(query, query, query))

                self.assertEqual(self.recorded(run), stubs)
                self.assertTrue(torch.allclose(made[0], expected, atol=1e-6))
                self.assertEqual(torch.backends.cuda.math_sdp_enabled(), state)


class ProfilerTest(ConformanceTest):
    def test_cuda_alone_profiles_what_ran(self):
        with profile(activities=[ProfilerActivity.CUDA], profile_memory=True) as profiled:
            torch.ones(2, device="cuda") + 1
        names = {event.key for event in profiled.key_averages()}
        self.assertLessEqual({"aten::ones", "aten::add"}, names)
        self.assertIn("aten::add", profiled.key_averages().table(sort_by="cuda_time_total"))

    def test_a_schedule_and_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            with profile(
                activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                schedule=torch.profiler.schedule(wait=1, warmup=1, active=1),
                on_trace_ready=lambda profiled: profiled.export_chrome_trace(str(path)),
            ) as profiled:
                for _ in range(3):
                    torch.ones(2, device="cuda")
                    profiled.step()
            self.assertIn("traceEvents", json.loads(path.read_text()))

    def test_nvtx_around_every_op(self):
        def emit():
            with torch.autograd.profiler.emit_nvtx() as emitting:
                torch.ones(2) + 1
                self.assertRaises(RuntimeError, emitting.__enter__)

        self.assertEqual(
            self.recorded(emit), {("stub", "torch.autograd.profiler.emit_nvtx", None, None): 1}
        )

    def test_nvtx_that_is_off(self):
        def pass_by():
            with torch.autograd.profiler.emit_nvtx(enabled=False):
                pass

        self.assertEqual(self.recorded(pass_by), {})


class VersionTest(ConformanceTest):
    def test_versions_go_together(self):
        major, minor = (int(part) for part in torch.version.cuda.split("."))
        self.assertEqual(torch._C._cuda_getCompiledVersion(), major * 1000 + minor * 10)
        self.assertIsNone(torch.version.hip)
        arch = torch.cuda.get_device_capability()
        self.assertEqual(torch.cuda.get_arch_list(), ["sm_{}{}".format(*arch)])
        # torch warns where its build and the device do not fit, and refuses an unfit cuDNN.
        releases = getattr(torch.cuda, "PYTORCH_RELEASES_CODE_CC", None)
        if releases is not None:
            built = releases[torch.version.cuda]
            if isinstance(built, dict):  # newer versions: by the machine's architecture
                built = built["x86_64"]
            self.assertIn(10 * arch[0] + arch[1], built)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.cuda._check_capability()
            getattr(torch.cuda, "_check_cubins", lambda: None)()
        self.assertTrue(torch.backends.cudnn._init())


class ManagementTest(ConformanceTest):
    def test_figures_agree(self):
        free, total = torch.cuda.mem_get_info()
        used = torch.cuda.device_memory_used()
        self.assertLess(abs(total - free - used), total // 4)
        self.assertIn(f"process {os.getpid():>10d} uses", torch.cuda.list_gpu_processes())

    def test_they_are_of_a_device_that_is_there(self):
        for ask in (torch.cuda.utilization, torch.cuda.clock_rate, torch.cuda.list_gpu_processes):
            ask("cuda:0")
            self.assertRaises(AssertionError, ask, 1)


if __name__ == "__main__":
    unittest.main()
