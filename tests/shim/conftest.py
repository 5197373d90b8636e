"""Fixtures that run scripts in child processes under the shim, with the Python that runs the tests.
Without torch in that Python, the tests are skipped.

COMPAT_SHIM_LIBRARY names an existing library. Otherwise one is built into
$XDG_CACHE_HOME/runner/tests/shim; CMake rebuilds what changed.
"""

import functools
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import warm_children
from machinery import script

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHIM = ROOT / "shim"
ELSEWHERE = "9.9.9+elsewhere"
ACTIVATE = SHIM / "python" / "activate"
# Why a test of the conformance suite is left out on some versions of torch.
LEFT_OUT = re.compile("this torch cannot unset the default device|the tables were not checked with")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "unsanitized(reason): left out by sanitizers/run.sh, which this cannot run under"
    )


def kept_folder(name, made_of):
    """For what takes long to make and is the same as long as `made_of` is."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    key = hashlib.sha256(made_of.encode()).hexdigest()[:12]
    return cache / "runner" / "tests" / "shim" / f"{name}-{key}"


def build(name):
    """Configures, builds and installs the library; returns its path."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip(f"no torch in {sys.executable}")
    folder = kept_folder(name, f"{ROOT} {sys.prefix}")
    commands = (
        ["cmake", "-S", str(SHIM), "-B", str(folder / "build"), "-G", "Ninja"]
        + ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
        + [f"-DCMAKE_INSTALL_PREFIX={folder / 'lib'}"],
        ["cmake", "--build", str(folder / "build")],
        ["cmake", "--install", str(folder / "build")],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (library,) = (folder / "lib").glob("_compat_shim*.so")
    return str(library)


def older_than(version):
    """Whether torch is: for tests of what older versions cannot do."""
    here = pytest.importorskip("torch").__version__.split(".")
    return [int(part) for part in here[:2]] < [int(part) for part in version.split(".")]


@pytest.fixture(scope="session")
def library():
    return os.environ.get("COMPAT_SHIM_LIBRARY") or build("own")


@pytest.fixture(scope="session")
def foreign_library(library, tmp_path_factory):
    """A copy of the library that claims to be built for another torch."""
    path = tmp_path_factory.mktemp("foreign") / pathlib.Path(library).name
    says = re.compile(rb"(compat_shim built for \{torch=)[^;]*")
    content, found = says.subn(
        lambda match: match[1] + ELSEWHERE.encode(), pathlib.Path(library).read_bytes()
    )
    assert found == 1
    path.write_bytes(content)
    return str(path)


class Child:
    """A script that ran in a child process. `answer`: its last line of output as JSON."""

    def __init__(self, done, script, record):
        self.returncode = done.returncode
        self.stdout, self.stderr = done.stdout, done.stderr
        self.script = str(script)
        self.record = [json.loads(line) for line in record.read_text().splitlines()] if (
            record.exists()
        ) else []

    @property
    def answer(self):
        assert self.returncode == 0, self.stderr
        return json.loads(self.stdout.splitlines()[-1])

    def devices(self, **wanted):
        return [
            line
            for line in self.record
            if line["event"] == "device" and all(line[key] == wanted[key] for key in wanted)
        ]


# Python's own end but for the objects of what was imported.
LEAVE = """
import atexit, os, sys, threading
threading._shutdown(); atexit._run_exitfuncs(); sys.stdout.flush(); sys.stderr.flush(); os._exit(0)
"""


def in_folder(folder):
    """What a script begins with, to go on as one that was started in this folder."""
    return f"import os, sys; os.chdir({str(folder)!r}); sys.path.insert(0, {str(folder)!r})\n"


def run_child(
    library, folder, script, *, active=True, env=None, python=sys.executable, argv=None, cwd=None,
    stdin=None, warm=False, late=False, ends=True,
):
    """Runs a script as the runner would run a module. `warm`: in a process that is forked from one
    that has imported torch (warm_children.py). `late`: that, and the script itself imports TorchDevice.
    `ends=False`: a script that comes to its end does not
    wait until Python has freed all modules, a quarter of its time."""
    path = folder / "script.py"
    path.write_text(script if ends else script + LEAVE)
    record = folder / "record.jsonl"
    ours = ("ACTIVATE_", "COMPAT_", "TORCHDEVICE_", "TORCH_ALLOW", "PYTEST_", "PYTHON", "CUDA_")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    environ.update(
        PYTHONPATH=str(ACTIVATE),
        PYTHONDONTWRITEBYTECODE="1",
        OMP_NUM_THREADS="1",
        COMPAT_SHIM_LIBRARY=library,
        TORCHDEVICE_MODE="missing",
        TORCHDEVICE_RECORD=str(record),
    )
    if active:
        environ["ACTIVATE_TORCH_DEVICE"] = "1"
    for key, value in (env or {}).items():
        environ.pop(key, None) if value is None else environ.update({key: value})
    if warm or late:
        return Child(warm_children.run(path, folder, environ, env or {}, late), path, record)
    done = subprocess.run(
        [python, *(argv or [str(path)])],
        env=environ,
        cwd=cwd or folder,
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Child(done, path, record)


# The environment of a script on a host with MPS: simulated by the shim itself, or by
# hardware/sitecustomize.py before the shim looks for a device.
MPS = {
    "simulated": {"TORCHDEVICE_SIMULATE": "mps"},
    "hardware": {"PYTHONPATH": os.pathsep.join([str(ACTIVATE), str(ROOT / "tests/shim/hardware")])},
}

# The same of a host with a CUDA GPU.
CUDA_HARDWARE = {**MPS["hardware"], "COMPAT_HARDWARE": "cuda"}


@pytest.fixture
def child(library, tmp_path):
    """child(script, …): run_child in the test's temporary folder."""
    return functools.partial(run_child, library, tmp_path)


@pytest.fixture
def starting_child(child):
    """The same for tests of how a process starts: without Python's own end."""
    return functools.partial(child, ends=False)


@pytest.fixture(scope="session")
def started_child(library, tmp_path_factory):
    """A fresh process that asked for CUDA once, for tests that only read what it wrote."""
    script = "import json, torch\nprint(json.dumps([torch.cuda.is_available(), torch.ones(2, device='cuda').device.type]))\n"
    return run_child(library, tmp_path_factory.mktemp("started"), script, ends=False)


@pytest.fixture
def warm_child(library, tmp_path):
    """The same, warm."""
    return functools.partial(run_child, library, tmp_path, warm=True)


@pytest.fixture
def late_child(library, tmp_path):
    """The same for scripts that activate the shim themselves: torch was imported without it."""
    return functools.partial(run_child, library, tmp_path, late=True)


@pytest.fixture(scope="session")
def inductor_cache(tmp_path_factory):
    """A shared cache: the compiler runs once for the same code."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path_factory.mktemp("inductor")),
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
    }


# Groups of machinery that begin no thread and no process: they do not tell a fork from a process of
# their own.
WARM_GROUPS = ("everyday", "compiling", "tracing", "transforms", "objects")


@pytest.fixture(scope="session")
def machinery(library, tmp_path_factory):
    """machinery(group, device, …): the process that ran a group's cases, on "cpu" without the shim."""

    def run(group, device, env):
        return run_child(
            library, tmp_path_factory.mktemp(group), script(group, device), active=device == "cuda", env=env,
            warm=group in WARM_GROUPS,
        )

    return run


@pytest.fixture(scope="session")
def plain(machinery, inductor_cache):
    """plain(group): the process that ran its cases on the CPU, without the shim."""
    return functools.cache(lambda group: machinery(group, "cpu", inductor_cache))


@pytest.fixture(scope="module")
def package(library):
    """compat_devices, as `cmake --install` has it beside the shim."""
    pytest.importorskip("torch")
    folder = str(pathlib.Path(library).parent)
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("compat_devices")
    finally:
        sys.path.remove(folder)


@pytest.fixture
def on_cuda(warm_child):
    """Runs a script with two simulated CUDA devices; its last line of output is JSON."""

    def run(script, **env):
        return warm_child(
            "import copy, io, json, os, pickle, threading, warnings, torch\n"
            "from torch import nn\nfrom torch.nn import functional as F\n"
            "warnings.simplefilter('ignore')\n"
            "def equal(a, b, tolerance=1e-5): return torch.allclose(a.cpu(), b.cpu(), atol=tolerance)\n"
            "def raised(call, *args, **kwargs):\n"
            "    try: call(*args, **kwargs)\n"
            "    except Exception as error: return [type(error).__name__, str(error)]\n" + script,
            env={"TORCHDEVICE_SIMULATE": "cuda", **env},
        )

    return run


SIMULATED = {"mps": {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"},
           "cuda": {"TORCHDEVICE_SIMULATE": "cuda"}}  # fmt: skip
ON_DEVICE = """
import json, sys, torch
from torch.nn import functional as F
d = {device!r}
here = torch.ones(1, device=d).device
def on(values, dtype=None): return torch.tensor(values, dtype=dtype, device=d)
def raised(call, *args, **kwargs):
    try: call(*args, **kwargs)
    except Exception as error: return [type(error).__name__, str(error)]
"""


@pytest.fixture(params=SIMULATED)
def on_device(request, warm_child):
    """Runs a script with a simulated device `d`; its last line of output is JSON. `on_device.name` is
    "mps" or "cuda"."""

    def run(script, **env):
        return warm_child(ON_DEVICE.format(device=request.param) + script, env={**SIMULATED[request.param], **env})

    run.name = request.param
    return run
