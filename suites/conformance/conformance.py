"""Helpers of the test modules: the skip without the shim, and access to the record."""

import sys
import unittest

import torch

CPU = torch.device("cpu")


def shim():
    """The shim, or None where this process runs without it."""
    module = sys.modules.get("compat_shim")
    return module if module is not None and module.active() else None


@unittest.skipIf(shim() is None, "the shim is not active in this process")
class ConformanceTest(unittest.TestCase):
    def assertOnHost(self, *tensors):
        for tensor in tensors:
            self.assertEqual(tensor.device, CPU)

    def recorded(self, function):
        """The events that `function` adds to the record: {(kind, op, from, to): count}."""
        before = self._counts()
        function()
        after = self._counts()
        added = {key: count - before.get(key, 0) for key, count in after.items()}
        return {key: count for key, count in added.items() if count}

    @staticmethod
    def _counts():
        counts = {}
        for site in shim().sites():
            key = (site["kind"], site["op"], site["from"], site["to"])
            counts[key] = counts.get(key, 0) + site["count"]
        return counts
