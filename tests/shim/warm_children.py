"""Scripts in processes that are forked from one that has imported torch, and what optimizers import:
most of what a script's own process costs are these imports. Each script has a process and a record of
its own.

A process of each usual environment imported torch with the shim active. One without the shim serves the
other environments: there the shim is activated after the fork, as by a program that imports torch first,
or by the script itself (`late`).

Not for tests of how the shim is activated, of what it does while modules are imported, or of how a
process ends: those run scripts of their own (conftest.run_child).
"""

import atexit
import gc
import importlib
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
LATE = ("TORCHINDUCTOR_", "PYTORCH_MPS_", "PYTORCH_NVML_", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
# Read when the shim is activated.
AT_ACTIVATION = ("TORCHDEVICE_", "PYTORCH_ENABLE_MPS_FALLBACK")
ASKS, LIBRARY = "ACTIVATE_TORCH_DEVICE", "COMPAT_SHIM_LIBRARY"


class Warm:
    """A process that runs one script after the other."""

    def __init__(self, environ, modules):
        self.process = subprocess.Popen(
            [sys.executable, __file__, *modules], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, path, folder, environ, late):
        """The script's exit status and output."""
        files = [str(folder / name) for name in ("out.txt", "err.txt")]
        print(json.dumps([str(path), str(folder), environ, late, *files]), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        out, err = (open(file).read() for file in files)
        return subprocess.CompletedProcess([str(path)], code, out, err)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


_warm = {}


def run(path, folder, environ, own, late=False):
    """`own`: the variables in which `environ` differs from other scripts'. `late`: nobody but the script
    itself activates the shim, by `import TorchDevice`."""
    shims = {name: value for name, value in environ.items() if name.startswith(AT_ACTIVATION) and name != OWN}
    read_late = [name for name in own if name.startswith(LATE)]
    others = own.keys() - {*shims, *read_late}
    # A path adds modules, or hides them, from the first import on.
    early = not late and (ASKS in environ and shims in USUAL and not others or "PYTHONPATH" in others)
    left_out = read_late if early else [*own, *shims, ASKS, LIBRARY]
    started = {**{name: value for name, value in environ.items() if name not in left_out}, OWN: os.devnull}
    key = json.dumps(started, sort_keys=True)
    if key not in _warm:
        few = "PYTHONPATH" in others and own.keys() - {"PYTHONPATH", "TORCHDEVICE_MODE"}
        # The first step of an optimizer imports the second, which takes as long as torch.
        _warm[key] = Warm(started, ["torch"] if few else ["torch", "torch._dynamo"])
        atexit.register(_warm[key].end)
    return _warm[key].run(path, folder, environ, late)


def _serve():
    for name in sys.argv[1:]:
        importlib.import_module(name)
    shim = sys.modules.get("compat_shim")  # none where it is not activated
    counted = shim and shim.counted()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    # Buffered output, or output by accident, belongs to no answer.
    os.dup2(2, 1)
    for line in sys.stdin:
        path, folder, environ, late, out, err = json.loads(line)
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
    elif late or environ.get(ASKS) == "1":
        sys.path.append(SHIM)  # as the shim's sitecustomize.py does
        if not late:
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
