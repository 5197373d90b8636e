"""Dies the first time, by a mark that it leaves; so does one that hangs."""

import os
import time
import unittest


def first_time(name):
    path = os.path.join(os.environ["TORTURE_MARKS"], name)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class Flaky(unittest.TestCase):
    def test_1_dies_once(self):
        if first_time("dies"):
            os._exit(3)

    def test_2_hangs_once(self):
        if first_time("hangs"):
            time.sleep(60)

    def test_3_passes(self):
        pass
