"""Answers and refusals of torch.cuda and torch.accelerator."""

import unittest

import torch

from conformance import ConformanceTest


class AnswerTest(ConformanceTest):
    def test_there_is_one_device(self):
        self.assertIs(torch.cuda.is_available(), True)
        self.assertIs(torch.cuda.is_initialized(), True)
        self.assertEqual(torch.cuda.device_count(), 1)
        self.assertEqual(torch.cuda.current_device(), 0)
        self.assertIs(torch.backends.cuda.is_built(), True)

    def test_accelerator(self):
        self.assertTrue(torch.accelerator.is_available())
        self.assertEqual(torch.accelerator.current_accelerator().type, "cuda")
        self.assertEqual(torch.accelerator.device_count(), 1)
        self.assertEqual(torch.accelerator.current_device_index(), 0)
        torch.accelerator.synchronize()

    def test_name_says_what_it_is(self):
        self.assertTrue(torch.cuda.get_device_name().endswith("(as CUDA)"))
        self.assertEqual(torch.cuda.get_device_name(0), torch.cuda.get_device_name("cuda:0"))

    def test_properties(self):
        properties = torch.cuda.get_device_properties(0)
        self.assertEqual((properties.major, properties.minor), (7, 0))
        self.assertEqual(torch.cuda.get_device_capability(), (7, 0))
        self.assertGreater(properties.total_memory, 1 << 20)
        self.assertGreaterEqual(properties.multi_processor_count, 1)

    def test_a_device_that_is_not_there(self):
        self.assertRaises(AssertionError, torch.cuda.get_device_properties, 1)
        self.assertRaises(RuntimeError, torch.cuda.set_device, 1)

    def test_set_device(self):
        for device in (0, "cuda:0", torch.device("cuda", 0)):
            torch.cuda.set_device(device)
        self.assertEqual(torch.cuda.current_device(), 0)

    def test_device_contexts(self):
        with torch.cuda.device(0):
            self.assertEqual(torch.cuda.current_device(), 0)
        with torch.cuda.device_of(torch.ones(1)):
            self.assertEqual(torch.cuda.current_device(), 0)

    def test_calls_that_only_wait_or_clean(self):
        torch.cuda.synchronize()
        torch.cuda.synchronize(0)
        torch.cuda.empty_cache()
        torch.cuda.ipc_collect()
        torch.cuda.init()

    def test_bfloat16(self):
        self.assertTrue(torch.cuda.is_bf16_supported())

    def test_device_module(self):
        self.assertIs(torch.get_device_module("cuda"), torch.cuda)
        self.assertIs(torch.get_device_module(), torch.cuda)

    def test_not_in_a_bad_fork_and_not_capturing(self):
        self.assertFalse(torch.cuda._is_in_bad_fork())
        self.assertFalse(torch.cuda.is_current_stream_capturing())

    def test_flags_are_kept(self):
        flags = (
            (torch.backends.cudnn, "benchmark"),
            (torch.backends.cudnn, "deterministic"),
            (torch.backends.cuda.matmul, "allow_tf32"),
        )
        for holder, name in flags:
            before = getattr(holder, name)
            try:
                for value in (True, False):
                    setattr(holder, name, value)
                    self.assertEqual(getattr(holder, name), value)
            finally:
                setattr(holder, name, before)


class StubTest(ConformanceTest):
    """A call that is answered without its effect is recorded, with the line that asked."""

    CALLS = {
        "torch.cuda.set_per_process_memory_fraction": lambda: (
            torch.cuda.set_per_process_memory_fraction(1.0)
        ),
        "torch.cuda.set_sync_debug_mode": lambda: torch.cuda.set_sync_debug_mode("default"),
        "torch.cuda.memory._record_memory_history": lambda: (
            torch.cuda.memory._record_memory_history(enabled=None)
        ),
        "torch._C._cuda_attach_out_of_memory_observer": lambda: (
            torch._C._cuda_attach_out_of_memory_observer(print)
        ),
    }

    def test_is_recorded(self):
        for symbol, call in self.CALLS.items():
            with self.subTest(symbol):
                self.assertEqual(self.recorded(call), {("stub", symbol, None, None): 1})

    def test_what_has_its_whole_effect_is_not(self):
        def calls():
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.ipc_collect()
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.nvtx.range_push("one")
            torch.cuda.nvtx.range_pop()
            torch.cuda.Event().record()
            with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
                torch.cuda.current_stream().synchronize()

        self.assertEqual(self.recorded(calls), {})

    def test_ops_and_training_record_none(self):
        module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).cuda()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step():
            loss = module(torch.ones(2, 1, 4, 4)).sum()
            loss.backward()
            optimizer.step()

        self.assertEqual(self.recorded(step), {})


if __name__ == "__main__":
    unittest.main()
