"""Deletes, empties and replaces the file of its events."""

import os
import unittest

from tests.test_liar import events_file


class Eraser(unittest.TestCase):
    def test_1_before(self):
        pass

    def test_2_deletes(self):
        os.unlink(events_file())

    def test_3_empties(self):
        open(events_file(), "w").close()

    def test_4_replaces(self):
        path = events_file()
        with open(path + ".new", "w") as out:
            out.write('{"event": "session"}\n')
        os.rename(path + ".new", path)

    def test_5_fails(self):
        self.fail("not erased")
