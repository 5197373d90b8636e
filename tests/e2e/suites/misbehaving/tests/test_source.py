"""Writes into its own source, as tests with snapshots and caches do."""
import os
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Source(unittest.TestCase):
    def test_adds_a_file(self):
        (ROOT / "data" / "added.txt").write_text("added")

    def test_changes_a_file(self):
        (ROOT / "data" / "numbers.txt").write_text("4 5 6")

    def test_changes_a_file_that_is_read_only(self):
        path = ROOT / "tests" / "test_files.py"
        os.chmod(path, 0o444)
        os.chmod(path, 0o644)
        with open(path, "a") as file:
            file.write("# changed\n")

    def test_deletes_a_file(self):
        (ROOT / "data" / "deleted.txt").unlink()

    def test_fails_with_its_path(self):
        self.fail("it is " + __file__)
