"""Names that no file and no line could hold."""

import unittest


class Names(unittest.TestCase):
    def test_plain(self):
        pass


def passes(self):
    pass


def fails(self):
    self.fail("by any name")


setattr(Names, "test_a\nb", passes)
setattr(Names, "test_nul\0", fails)
setattr(Names, "test_\ud800", passes)
setattr(Names, "test_" + "long" * 2500, fails)
setattr(Names, "test_'\"<&>|`*", passes)
