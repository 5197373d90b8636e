"""A thread that no interpreter's end waits out.

The test has passed, the framework has said so and has left: what hangs is the exit of the interpreter, which waits for every thread
that is not a daemon. The test keeps its state; that its process had to be ended is a row of the module, so that it is not overlooked.
"""

import threading
import time
import unittest


class Exit(unittest.TestCase):
    def test_x(self):
        threading.Thread(target=time.sleep, args=(60,)).start()
