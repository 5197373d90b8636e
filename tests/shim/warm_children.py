"""Scripts in processes that are forked from one that has imported torch, and what optimizers import:
most of what a script's own process costs are these imports. Each script has a process and a record of
its own.

A process of each usual environment imported torch with the shim active. One without the shim serves the
other environments: there the shim is activated after the fork, as by a program that imports torch first.

Not for tests of how the shim is activated, of what it does while modules are imported, or of how a
process ends: those run scripts of their own (conftest.run_child).
"""

import atexit
import gc
import json
import os
import pathlib
import subprocess
import sys
import threading

SHIM = str(pathlib.Path(__file__).parents[2] / "shim" / "python")
# A variable of one script alone.
OWN = "TORCHDEVICE_RECORD"
# The shim's variables in the environments that most scripts ask for.
USUAL = (
    {"TORCHDEVICE_MODE": "missing"},
    {"TORCHDEVICE_MODE": "missing", "TORCHDEVICE_SIMULATE": "cuda"},
    {"TORCHDEVICE_MODE": "missing", "TORCHDEVICE_SIMULATE": "cuda", "TORCHDEVICE_DEVICES": "4"},
    {"TORCHDEVICE_MODE": "missing", "TORCHDEVICE_SIMULATE": "mps"},
    {"TORCHDEVICE_MODE": "none", "TORCHDEVICE_SIMULATE": "mps"},
    {"TORCHDEVICE_MODE": "full", "TORCHDEVICE_SIMULATE": "mps"},
)
# Read when they are used.
LATE = ("TORCHINDUCTOR_", "PYTORCH_MPS_", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
ASKS = "ACTIVATE_TORCH_DEVICE"


class Warm:
    """A process that runs one script after the other."""

    def __init__(self, environ):
        self.process = subprocess.Popen(
            [sys.executable, __file__], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, path, folder, environ):
        """The script's exit status and output."""
        files = [str(folder / name) for name in ("out.txt", "err.txt")]
        print(json.dumps([str(path), str(folder), environ, *files]), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        out, err = (open(file).read() for file in files)
        return subprocess.CompletedProcess([str(path)], code, out, err)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


_warm = {}


def run(path, folder, environ, own):
    """`own`: the variables in which `environ` differs from other scripts'."""
    shims = {name: value for name, value in environ.items() if name.startswith("TORCHDEVICE_") and name != OWN}
    late = [name for name in own if name.startswith(LATE)]
    torchs = [name for name in own if name.startswith("PYTORCH_")]
    others = own.keys() - {*shims, *late, *torchs}
    # A path adds modules, or hides them, from the first import on.
    early = ASKS in environ and shims in USUAL and not others or "PYTHONPATH" in others
    left_out = late if early else [*own, *shims, ASKS]
    started = {**{name: value for name, value in environ.items() if name not in left_out}, OWN: os.devnull}
    key = json.dumps(started, sort_keys=True)
    if key not in _warm:
        _warm[key] = Warm(started)
        atexit.register(_warm[key].end)
    return _warm[key].run(path, folder, environ)


def _serve():
    import torch._dynamo  # noqa: F401  the first step of an optimizer imports it

    shim = sys.modules.get("compat_shim")  # none where it is not activated
    counted = shim and shim.counted()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    # Buffered output, or output by accident, belongs to no answer.
    os.dup2(2, 1)
    for line in sys.stdin:
        path, folder, environ, out, err = json.loads(line)
        pid = os.fork()
        if pid == 0:
            break
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    else:
        return None
    for number, file in enumerate((os.devnull, out, err)):
        opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    answers = None
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)
    os.chdir(folder)
    if shim:
        shim.record_anew(counted)
    elif environ.get(ASKS) == "1":
        sys.path.append(SHIM)  # as the shim's sitecustomize.py does
        import TorchDevice  # noqa: F401
    return path


def _become(script, sys=sys):
    """Runs the script as Python would, in `__main__`, with nothing of this file's; returns its exit status."""
    sys.argv[:] = [script]
    sys.path[0] = os.path.dirname(script)
    with open(script) as file:
        code = compile(file.read(), script, "exec")
    names = sys.modules["__main__"].__dict__
    for name in [name for name in names if not name.startswith("__")]:
        del names[name]
    names.update(__file__=script, __doc__=None)
    try:
        exec(code, names)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _leave(status, leave=os._exit, atexit=atexit, sys=sys, threading=threading):
    """Python's own end but for the objects of what was imported: nobody has to free them."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    leave(status)


if __name__ == "__main__":
    if (path := _serve()) is not None:
        _leave(_become(path))
