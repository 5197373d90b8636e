import unittest


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_passes(self):
        pass

    async def test_fails(self):
        self.fail("awaited")
