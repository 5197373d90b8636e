"""The tests that the wheel of PyTorch holds for a backend of torch.distributed, as a module whose class
spawned processes can import. Run by distributed.py, which sets BACKEND, WORLD_SIZE and TEMP_DIR."""

from torch.testing._internal.distributed import distributed_test


class Nccl(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()
