"""Tests that each request is counted under the line that made it."""

import inspect
import threading
import unittest

import torch

from conformance import ConformanceTest, shim


def line_here():
    return inspect.currentframe().f_back.f_lineno


class RecordingTest(ConformanceTest):
    def here(self):
        """The sites of this file, by line."""
        return {site["line"]: site for site in shim().sites() if site["file"] == __file__}

    def test_the_line_that_asked(self):
        torch.zeros(2, device="cuda:1"); line = line_here()  # noqa: E702
        self.assertEqual(
            self.here()[line],
            {
                "kind": "redirect",
                "op": "aten::zeros",
                "from": "cuda:1",
                "to": "cpu",
                "file": __file__,
                "line": line,
                "count": 1,
            },
        )

    def test_a_line_is_counted_each_time(self):
        for _ in range(50):
            torch.zeros(2, device="cuda"); line = line_here()  # noqa: E702
        self.assertEqual(self.here()[line]["count"], 50)

    def test_torchs_own_frames_are_not_the_caller(self):
        module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        module.to("cuda"); line = line_here()  # noqa: E702
        self.assertEqual(self.here()[line]["count"], 4)

    def test_threads_are_counted(self):
        def work():
            torch.zeros(2, device="cuda")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.here()[work.__code__.co_firstlineno + 1]["count"], 4)

    def test_two_requests_on_one_line(self):
        torch.zeros(2, device="cuda"), torch.ones(2, device="mps"); line = line_here()  # noqa: E702
        found = {
            (site["op"], site["from"])
            for site in shim().sites()
            if (site["file"], site["line"]) == (__file__, line)
        }
        self.assertEqual(found, {("aten::zeros", "cuda"), ("aten::ones", "mps")})

    def test_what_is_not_redirected_is_not_counted(self):
        added = self.recorded(lambda: torch.zeros(2) + torch.ones(2, device="cpu"))
        self.assertEqual(added, {})


if __name__ == "__main__":
    unittest.main()
