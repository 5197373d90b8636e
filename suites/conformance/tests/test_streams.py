"""Streams and events: ordered, stateful, timed."""

import threading
import time
import unittest

import torch

from conformance import ConformanceTest


class StreamTest(ConformanceTest):
    def test_the_current_stream_follows_the_context(self):
        default = torch.cuda.current_stream()
        self.assertEqual(default, torch.cuda.default_stream())
        one, two = torch.cuda.Stream(), torch.cuda.Stream()
        self.assertNotEqual(one, two)
        with torch.cuda.stream(one):
            self.assertEqual(torch.cuda.current_stream(), one)
            with torch.cuda.stream(two):
                self.assertEqual(torch.cuda.current_stream(), two)
            self.assertEqual(torch.cuda.current_stream(), one)
        self.assertEqual(torch.cuda.current_stream(), default)

    def test_each_thread_has_its_own(self):
        seen = []
        with torch.cuda.stream(torch.cuda.Stream()):
            thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
            thread.start()
            thread.join()
        self.assertEqual(seen, [torch.cuda.default_stream()])

    def test_set_stream(self):
        stream = torch.cuda.Stream()
        torch.cuda.set_stream(stream)
        try:
            self.assertEqual(torch.cuda.current_stream(), stream)
        finally:
            torch.cuda.set_stream(torch.cuda.default_stream())

    def test_waiting(self):
        one, two = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(one):
            made = torch.ones(2, device="cuda")
        two.wait_stream(one)
        two.wait_event(one.record_event())
        made.record_stream(two)
        two.synchronize()
        self.assertTrue(two.query())
        self.assertEqual(made.tolist(), [1, 1])

    def test_a_stream_is_a_torch_stream(self):
        stream = torch.cuda.Stream(priority=-1)
        self.assertIsInstance(stream, torch.Stream)
        self.assertEqual(stream.device.type, "cuda")
        self.assertEqual(stream.priority, -1)

    def test_generic_streams_and_events(self):
        stream = torch.Stream(device="cuda")
        event = torch.Event(device="cuda", enable_timing=True)
        event.record(stream)
        event.synchronize()
        self.assertTrue(event.query())

    def test_events_measure_time(self):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        time.sleep(0.02)
        end.record()
        torch.cuda.synchronize()
        self.assertTrue(20 <= start.elapsed_time(end) < 2000, start.elapsed_time(end))

    def test_events_without_timing_or_record(self):
        timed = torch.cuda.Event(enable_timing=True)
        with self.assertRaises(ValueError):
            timed.elapsed_time(torch.cuda.Event())
        with self.assertRaises(ValueError):
            timed.elapsed_time(torch.cuda.Event(enable_timing=True))

    def test_ranges(self):
        self.assertEqual(torch.cuda.nvtx.range_push("outer"), 0)
        self.assertEqual(torch.cuda.nvtx.range_push("inner"), 1)
        self.assertEqual(torch.cuda.nvtx.range_pop(), 1)
        self.assertEqual(torch.cuda.nvtx.range_pop(), 0)
        torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("apart"))
        with torch.cuda.nvtx.range("block"):
            torch.cuda.nvtx.mark("here")


if __name__ == "__main__":
    unittest.main()
