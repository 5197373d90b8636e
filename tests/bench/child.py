"""The environment of child processes with the shim, for benchmarks and sweeps; and a child that times
work for shim.py, training.py and distributed.py: one line in, one JSON line out."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Variables of the caller's environment that would change a child's behaviour.
OURS = ("ACTIVATE_", "COMPAT_", "TORCHDEVICE_", "TORCH_ALLOW", "PYTORCH_", "PYTHON", "CUDA_")


def environment(shim=None):
    """`shim`: the shim's variables; None is without the shim. PYTHONPATH stays the caller's."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    path = [os.environ.get("PYTHONPATH", "")]
    if shim is not None:
        path.insert(0, str(ROOT / "shim/python/activate"))
        environ.update(
            ACTIVATE_TORCH_DEVICE="1",
            COMPAT_SHIM_LIBRARY=os.environ["COMPAT_SHIM_LIBRARY"],
            **shim,
        )
    return {
        **environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }


def simulated(device, **more):
    """The environment where `device` is simulated and nothing is redirected to it."""
    shim = {
        "TORCHDEVICE_SIMULATE": device,
        "TORCHDEVICE_MODE": "none",
        "TORCHDEVICE_SUMMARY": "off",
    }
    return {**environment(shim), **more}


def memory_mb():
    """Resident memory of this process, in MB."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


class Child:
    def __init__(self, argv, shim=None):
        self.process = subprocess.Popen(
            [sys.executable, *argv],
            env=environment(shim), text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def tell(self, line):
        self.process.stdin.write(line + "\n")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a child ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
