"""Memory figures are those of the tensors, exactly, and peaks are kept."""

import gc
import threading
import unittest

import torch

from conformance import ConformanceTest

BLOCK = 1 << 20  # bytes
# The C library rounds a block up, by at most a page.
SLACK = 4096


def block(count=1):
    return torch.ones(count * BLOCK, dtype=torch.uint8, device="cuda")


class MemoryTest(ConformanceTest):
    def assertNear(self, figure, expected):
        self.assertTrue(expected <= figure <= expected + SLACK, (figure, expected))

    def setUp(self):
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
        self.before = torch.cuda.memory_allocated()

    def test_a_tensor_counts_while_it_lives(self):
        kept = block()
        self.assertNear(torch.cuda.memory_allocated() - self.before, BLOCK)
        view = kept[:10]
        del kept
        self.assertNear(torch.cuda.memory_allocated() - self.before, BLOCK)
        del view
        self.assertEqual(torch.cuda.memory_allocated(), self.before)

    def test_every_name_for_it(self):
        kept = block()
        for module in (torch.cuda, torch.accelerator):
            for name in (
                "memory_allocated",
                "max_memory_allocated",
                "memory_reserved",
                "max_memory_reserved",
            ):
                figure = getattr(module, name, None)  # torch.accelerator has them since 2.9
                with self.subTest(f"{module.__name__}.{name}"):
                    if figure:
                        self.assertNear(figure() - self.before, BLOCK)
        del kept

    def test_the_peak_stays_until_it_is_reset(self):
        for make in (block, lambda: block().cpu() + 0):
            self.setUp()
            make()
            peak = torch.cuda.max_memory_allocated()
            self.assertGreaterEqual(peak - self.before, BLOCK)
            self.assertEqual(torch.cuda.memory_allocated(), self.before)
            torch.cuda.reset_peak_memory_stats()
            self.assertEqual(torch.cuda.max_memory_allocated(), self.before)

    def test_results_and_gradients_count(self):
        leaf = torch.ones(BLOCK // 4, device="cuda", requires_grad=True)
        (leaf * 2).sum().backward()
        self.assertNear(torch.cuda.memory_allocated() - self.before, 2 * BLOCK)

    def test_counts_of_blocks(self):
        before = torch.cuda.memory_stats()
        kept = [block(), block()]
        after = torch.cuda.memory_stats()
        for name in ("allocation", "active", "segment"):
            self.assertEqual(
                after[f"{name}.all.current"] - before[f"{name}.all.current"], 2, name
            )
        kept.clear()
        freed = torch.cuda.memory_stats()
        self.assertGreaterEqual(
            freed["allocated_bytes.all.freed"] - before["allocated_bytes.all.freed"], 2 * BLOCK
        )

    def test_threads_lose_nothing(self):
        def work():
            for _ in range(200):
                torch.ones(1000, device="cuda") * 2

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(torch.cuda.memory_allocated(), self.before)

    def test_too_much_is_out_of_memory_as_on_cuda(self):
        for ask in (
            lambda: torch.empty(1 << 50, device="cuda"),
            lambda: torch.empty(1 << 50, dtype=torch.uint8, device="cuda:0"),
            lambda: torch.ones(1).expand(1 << 50).to("cuda", torch.float64),
        ):
            with self.assertRaisesRegex(torch.cuda.OutOfMemoryError, "CUDA out of memory"):
                ask()
        self.assertEqual(torch.cuda.memory_allocated(), self.before)
        with self.assertRaisesRegex(RuntimeError, "DefaultCPUAllocator") as raised:
            torch.empty(1 << 50)
        self.assertNotIsInstance(raised.exception, torch.cuda.OutOfMemoryError)

    def test_free_and_total_are_the_machines(self):
        free, total = torch.cuda.mem_get_info()
        self.assertTrue(0 < free <= total)
        self.assertEqual(total, torch.cuda.get_device_properties(0).total_memory)

    def test_statistics_and_summary(self):
        kept = block()
        stats = torch.cuda.memory_stats()
        self.assertGreaterEqual(stats["allocated_bytes.all.current"], BLOCK)
        self.assertIn("CUDA memory summary", torch.cuda.memory_summary())
        self.assertEqual(torch.cuda.memory_snapshot(), [])
        del kept


if __name__ == "__main__":
    unittest.main()
