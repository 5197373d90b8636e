"""A process that shim.py and training.py ask for times: a line in, a line of JSON out."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the caller's environment: what a child would do otherwise by.
OURS = ("ACTIVATE_", "COMPAT_", "TORCHDEVICE_", "TORCH_ALLOW", "PYTORCH_", "PYTHON", "CUDA_")


class Child:
    def __init__(self, argv, shim=None):
        """`shim`: the variables that say how the shim is to act; None: without it."""
        environ = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        environ.update(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        if shim is not None:
            environ.update(
                PYTHONPATH=str(ROOT / "shim/python/activate"),
                ACTIVATE_TORCH_DEVICE="1",
                COMPAT_SHIM_LIBRARY=os.environ["COMPAT_SHIM_LIBRARY"],
                **shim,
            )
        self.process = subprocess.Popen(
            [sys.executable, *argv],
            env=environ, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a child ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
