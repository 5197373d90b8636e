"""Fills TMPDIR until it is full, at most to a given size."""
import os
import tempfile
import unittest

MOST = int(os.environ["MISBEHAVING_FILL"])


class Fill(unittest.TestCase):
    def test_fills_tmpdir(self):
        with open(os.path.join(tempfile.gettempdir(), "filled"), "wb", 0) as file:
            for _ in range(MOST >> 20):
                file.write(b"\1" * (1 << 20))

    def test_passes_afterwards(self):
        os.unlink(os.path.join(tempfile.gettempdir(), "filled"))
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
