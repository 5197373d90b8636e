"""Its import never ends: no test of it is ever known, and its one row is that of the module.

Modules that take longest have the longest texts, so that they are started first: modules that never ran are ordered by size.
The module uses all of the time that a module has, and leaves none; in its output, the stack in which it hung is the part that helps.

A module that hangs here every time is not tried for ever. Where it was forked it is tried once more in a process of its own,
since a fork may hang in what another process would do (a lock that a thread of its parent held); and that is its last word.
The tests below never run, and nobody says of them that they failed: they are unknown, as those of any module that cannot be imported.
"""

import time
import unittest

time.sleep(60)


class Never(unittest.TestCase):
    def test_x(self):
        pass
