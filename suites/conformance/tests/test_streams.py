"""Streams and events: ordered, stateful, timed."""

import copy
import pickle
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
        made.record_stream(torch.Stream(device=made.device))
        two.synchronize()
        self.assertTrue(two.query())
        self.assertEqual(made.tolist(), [1, 1])

    def test_a_stream_is_a_torch_stream(self):
        stream = torch.cuda.Stream(priority=-1)
        self.assertIsInstance(stream, torch.Stream)
        self.assertEqual(stream.device.type, "cuda")
        self.assertEqual(stream.priority, -1)

    def test_a_stream_is_its_own_context(self):
        stream = torch.cuda.Stream()
        with stream:
            self.assertEqual(torch.cuda.current_stream(), stream)
        self.assertEqual(torch.cuda.current_stream(), torch.cuda.default_stream())

    def test_a_context_of_no_stream_changes_nothing(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.cuda.stream(None):
            self.assertEqual(torch.cuda.current_stream(), stream)

    def test_the_context_is_left_after_an_error(self):
        with self.assertRaises(ZeroDivisionError), torch.cuda.stream(torch.cuda.Stream()):
            raise ZeroDivisionError
        self.assertEqual(torch.cuda.current_stream(), torch.cuda.default_stream())

    def test_priorities(self):
        low, high = torch.cuda.Stream.priority_range()
        self.assertEqual((low, high), (0, -1))
        for asked, given in ((0, low), (7, low), (-1, high), (-7, high)):
            stream = torch.cuda.Stream(priority=asked)
            self.assertEqual(stream.priority, given)
            with torch.cuda.stream(stream):
                self.assertEqual(torch.cuda.current_stream().priority, given)
        self.assertEqual(torch.cuda.default_stream().priority, low)

    def test_equality_and_hash_go_by_the_stream(self):
        one, other = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(one):
            same = torch.cuda.current_stream()
        self.assertIsNot(one, same)
        self.assertEqual(len({one, same, other}), 2)
        self.assertNotEqual(one, one.cuda_stream)

    def test_the_pointer_tells_streams_apart(self):
        one = torch.cuda.Stream()
        self.assertEqual(torch.cuda.default_stream().cuda_stream, 0)
        self.assertNotIn(one.cuda_stream, (0, torch.cuda.Stream().cuda_stream))
        if hasattr(torch.Stream, "__cuda_stream__"):
            self.assertEqual(one.__cuda_stream__(), (0, one.cuda_stream))
        if hasattr(torch.Stream, "native_handle"):
            self.assertEqual(one.native_handle, one.cuda_stream)
        self.assertIn(f"{one.cuda_stream:#x}", repr(one))
        with torch.cuda.stream(one):
            self.assertEqual(torch._C._cuda_getCurrentRawStream(0), one.cuda_stream)

    def test_a_stream_from_a_pointer_of_ours(self):
        one = torch.cuda.Stream(priority=-1)
        for again in (
            torch.cuda.ExternalStream(one.cuda_stream),
            torch.cuda.get_stream_from_external(one.cuda_stream),
        ):
            self.assertEqual((again, again.priority), (one, -1))

    def test_a_pointer_of_another_librarys_is_refused(self):
        for make in (torch.cuda.ExternalStream, torch.cuda.get_stream_from_external):
            with self.assertRaisesRegex(NotImplementedError, "torch.cuda.ExternalStream"):
                make(0x7F0012345678)

    def test_streams_and_events_are_not_pickled(self):
        for each in (torch.cuda.Stream(), torch.cuda.Event()):
            self.assertRaises(TypeError, pickle.dumps, each)
            self.assertRaises(TypeError, copy.deepcopy, each)

    def test_a_device_that_is_not_there(self):
        for ask in (
            lambda: torch.cuda.Stream(device=1),
            lambda: torch.cuda.current_stream("cuda:1"),
            lambda: torch.cuda.default_stream(1),
            lambda: torch.Stream(device="cuda:1"),
            lambda: torch.cuda.synchronize(1),
        ):
            self.assertRaises(torch.AcceleratorError, ask)

    def test_generic_streams_are_the_same_streams(self):
        generic = torch.Stream(device="cuda", priority=-1)
        own = torch.cuda.Stream()
        self.assertNotEqual(generic.stream_id, own.stream_id)
        torch.accelerator.set_stream(generic)
        try:
            self.assertEqual(torch.cuda.current_stream().stream_id, generic.stream_id)
        finally:
            torch.accelerator.set_stream(torch.cuda.default_stream())
        with torch.cuda.stream(own):
            self.assertEqual(torch.accelerator.current_stream().stream_id, own.stream_id)
        own.wait_stream(generic)
        generic.wait_stream(own)


class EventTest(ConformanceTest):
    def test_generic_events(self):
        stream = torch.Stream(device="cuda")
        start, end = (torch.Event(device="cuda", enable_timing=True) for _ in range(2))
        start.record(stream)
        time.sleep(0.01)
        end.record(stream)
        stream.wait_event(end)
        end.synchronize()
        self.assertTrue(end.query())
        self.assertTrue(10 <= start.elapsed_time(end) < 2000)

    def test_an_event_is_a_torch_event(self):
        event = torch.cuda.Event()
        self.assertIsInstance(event, torch.Event)
        self.assertEqual((event.device, event.cuda_event), (None, 0))
        self.assertEqual(repr(event), "<torch.cuda.Event uninitialized>")
        event.record(torch.Stream(device="cuda"))
        self.assertEqual(event.device, torch.device("cuda", 0))
        self.assertIn(f"{event.cuda_event:#x}", repr(event))

    def test_before_it_is_recorded(self):
        event = torch.cuda.Event(blocking=True, interprocess=True)
        self.assertTrue(event.query())
        event.synchronize()
        event.wait()
        torch.cuda.Stream().wait_event(event)

    def test_the_last_record_counts(self):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        end.record()
        start.record()
        self.assertLessEqual(end.elapsed_time(end), 0)
        self.assertLess(start.elapsed_time(end), 0)
        end.record()
        self.assertGreaterEqual(start.elapsed_time(end), 0)

    def test_work_lies_between_its_events(self):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        clock = torch.cuda.get_device_properties(0).clock_rate  # kHz
        start.record()
        torch.cuda._sleep(20 * clock)
        end.record()
        self.assertTrue(20 <= start.elapsed_time(end) < 2000)

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

    def test_another_kind_of_event(self):
        timed = torch.cuda.Event(enable_timing=True)
        timed.record()
        self.assertRaises(TypeError, timed.elapsed_time, torch.Event(device="cuda"))


class RangeTest(ConformanceTest):
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
