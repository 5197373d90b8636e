"""Tests activation with parallel threads, Python's flags, other import hooks, retries and exits."""

import os
import subprocess
import sys
import zipapp

import pytest

from conftest import ACTIVATE, SHIM, kept_folder

ASK = "import torch; print(torch.zeros(1, device='cuda').device)"
# Checks that activation ran once: a second one would wrap functions twice.
ONCE = """
def wrapped(function):
    depth = 0
    while hasattr(function, "__wrapped__"): function, depth = function.__wrapped__, depth + 1
    return depth
import os, sys, threading, torch
depths = [wrapped(threading.Thread._bootstrap_inner), wrapped(os._exit),
          wrapped(torch.nn.parallel.DistributedDataParallel.__init__)]
"""


@pytest.mark.parametrize("start", ["", "import torch\n", "import TorchDevice\n"])
def test_fifty_threads_activate_once(starting_child, start):
    """torch, its alias and install() in any mixture; in a process where torch is there, or not.
    (torch's own submodules may not be asked for by threads while torch is imported: it breaks
    without the shim as well.)"""
    script = f"""
import importlib, json, sys, threading
sys.setswitchinterval(1e-5)
{start}import compat_shim.hook
together = threading.Barrier(50)
answers, errors = [], []
def run(number):
    together.wait()
    try:
        if number % 5 == 4: compat_shim.hook.install()
        importlib.import_module(("torch", "TorchDevice")[number % 2])
        import torch
        answers.append([torch.zeros(1, device="cuda").device.type, torch.cuda.is_available()])
    except BaseException as error:
        errors.append(repr(error))
threads = [threading.Thread(target=run, args=(number,)) for number in range(50)]
for thread in threads: thread.start()
for thread in threads: thread.join(120)
{ONCE}
print(json.dumps([answers, errors, depths, [t.is_alive() for t in threads].count(True),
    sum(type(f).__module__ == "compat_shim.importing" for f in sys.meta_path)]))
"""
    ran = starting_child(script)
    answers, errors, depths, stuck, finders = ran.answer
    assert errors == [] and stuck == 0
    assert answers == [["cpu", True]] * 50
    assert (depths, finders) == ([1, 1, 1], 1)
    assert [line["event"] for line in ran.record].count("session") == 1
    assert sum(event["count"] for event in ran.devices(op="aten::zeros")) == 50


@pytest.mark.parametrize("round", range(2))
def test_torchdevice_works_while_another_thread_imports_torch(starting_child, round):
    """Without a sitecustomize the shim did not see the start of that import."""
    script = f"""
import json, sys, threading, time
sys.setswitchinterval(1e-5)
def run():
    global torch
    import torch
thread = threading.Thread(target=run); thread.start()
time.sleep({round * 0.6})
import TorchDevice
thread.join()
{ONCE}
print(json.dumps([torch.zeros(1, device="cuda").device.type, torch.cuda.is_available(), depths]))
"""
    answer = starting_child(script, env={"PYTHONPATH": str(SHIM / "python")}).answer
    assert answer == ["cpu", True, [1, 1, 1]]


def test_deactivation_is_refused(starting_child):
    ran = starting_child(
        """
import compat_shim, json
answers = []
def refused():
    try: compat_shim.deactivate()
    except RuntimeError as error: return str(error)
answers.append(refused())
import torch
answers.append(refused())
print(json.dumps([answers, torch.zeros(1, device="cuda").device.type, compat_shim.active()]))
"""
    )
    messages, where, active = ran.answer
    assert messages[0] == messages[1] and "without ACTIVATE_TORCH_DEVICE=1" in messages[0]
    assert (where, active) == ("cpu", True)


def test_unsetting_the_variable_or_reloading_does_not_deactivate(warm_child):
    """The variable affects new processes only; reloading the shim's modules changes nothing."""
    ran = warm_child(
        f"""
import importlib, json, os, subprocess, sys, torch, compat_shim, TorchDevice
torch.zeros(1, device="cuda")
del os.environ["ACTIVATE_TORCH_DEVICE"]
child = subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"],
                       capture_output=True, text=True)
for name in ("compat_shim", "compat_shim.state", "compat_shim.hook", "TorchDevice"):
    importlib.reload(sys.modules[name])
os.environ["ACTIVATE_TORCH_DEVICE"] = "1"
importlib.reload(TorchDevice); compat_shim.hook.install()
for name in [name for name in sys.modules if name == "TorchDevice"]: del sys.modules[name]
import TorchDevice
{ONCE}
print(json.dumps([torch.zeros(1, device="cuda").device.type, depths, compat_shim.active(),
    len(compat_shim.sites()), child.returncode]))
"""
    )
    assert ran.answer == ["cpu", [1, 1, 1], True, 2, 1]


def outcome(ran):
    return ran.returncode, ran.stdout, ran.stderr.splitlines()[-1:]


RELOAD = """
import importlib, torch
importlib.reload(torch)
print(torch.zeros(1, device="DEVICE").device, torch.ones(2).to("DEVICE").device)
torch.set_default_device("DEVICE"); print(torch.ones(2).sum())
"""
# A first import that fails: torch needs a module of its own, and numpy.core if numpy is installed.
RETRY = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "BLOCKED": raise ImportError("blocked")
sys.meta_path.insert(0, Blocker())
try: import torch
except ImportError as error: print(error)
del sys.meta_path[0]
import torch
print(torch.zeros(1, device="DEVICE").device)
"""
SAME = {
    "torch is reloaded": RELOAD,
    "the import failed early": RETRY.replace("BLOCKED", "torch._C"),
    "the import failed before torch.cuda": RETRY.replace("BLOCKED", "torch._tensor"),
    "the import failed late": RETRY.replace("BLOCKED", "torch.nn.functional"),
    "torch was taken out of sys.modules": """
import sys, torch
del sys.modules["torch"]
import torch
print(torch.zeros(1, device="DEVICE").device)
""",
}


@pytest.mark.parametrize("name", SAME)
def test_failed_and_repeated_imports_end_as_without_the_shim(starting_child, name):
    """torch does not allow all of these; if it does, requests are redirected afterwards."""
    without = starting_child(SAME[name].replace("DEVICE", "cpu"), active=False)
    assert outcome(starting_child(SAME[name].replace("DEVICE", "cuda"))) == outcome(without)


HOOKS = {
    "a finder without find_spec": """
class Old:
    def find_module(self, name, path=None): return None
sys.meta_path.insert(0, Old())
""",
    "a finder that says no": """
class Finder:
    def find_spec(self, name, path=None, target=None): return None
sys.meta_path.insert(0, Finder())
""",
    "a finder that goes first and delegates": """
import importlib.machinery
class Finder:
    def find_spec(self, name, path=None, target=None):
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec: return spec
sys.meta_path.insert(0, Finder())
""",
    "one loader for every module": """
import importlib.machinery, os
class Loader(importlib.machinery.SourceFileLoader):
    def __init__(self): self.files = {}
    def get_filename(self, name): return self.files[name]
    @property
    def path(self): raise AttributeError
    def get_data(self, path):
        with open(path, "rb") as file: return file.read()
    def path_stats(self, path):
        found = os.stat(path)
        return {"mtime": found.st_mtime, "size": found.st_size}
class Finder:
    loader = Loader()
    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and type(spec.loader) is importlib.machinery.SourceFileLoader:
            self.loader.files[name] = spec.origin
            spec.loader = self.loader
        return spec
sys.meta_path.insert(1, Finder())
""",
    "a lazy torch": """
import importlib.util
spec = importlib.util.find_spec("torch")
spec.loader = importlib.util.LazyLoader(spec.loader)
module = sys.modules["torch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
""",
    "a look whether torch is there": """
import importlib.util
assert importlib.util.find_spec("torch").loader.is_package("torch")
assert "torch" not in sys.modules
""",
}


@pytest.mark.parametrize("name", HOOKS)
def test_the_shim_works_with_other_import_hooks(starting_child, name):
    script = f"""
import json, sys
{HOOKS[name]}
import torch, inspect
print(json.dumps([torch.zeros(1, device="cuda").device.type, torch.cuda.is_available(),
    "def compile(" in inspect.getsource(torch), torch.__spec__.loader is torch.__loader__,
    type(torch.__loader__).__module__ != "compat_shim.importing"]))
"""
    ran = starting_child(script)
    if ran.returncode and starting_child(f"import sys\n{HOOKS[name]}\nimport torch; torch.zeros(1)", active=False).returncode:
        pytest.skip("without the shim, too, this Python cannot import torch so")  # as 3.15 a lazy one
    assert ran.answer == ["cpu", True, True, True, True]


def test_a_sub_interpreter_behaves_as_without_the_shim(child):
    """torch cannot be imported in one: its import hangs with and without the shim."""
    script = """
try: import _interpreters as interpreters  # from Python 3.13 on
except ImportError: import _xxsubinterpreters as interpreters
number = interpreters.create()
interpreters.run_string(number, "import sys; print(sys.version_info[0], flush=True)")
interpreters.destroy(number)
import torch
print(torch.zeros(1, device="cuda").device, flush=True)
number = interpreters.create()
interpreters.run_string(number, "print('again', flush=True)")
interpreters.destroy(number)
torch.zeros(1, device="cuda")
"""
    ran = child(script)
    assert (ran.returncode, ran.stdout.split()) == (0, ["3", "cpu", "again"]), ran.stderr
    assert sum(event["count"] for event in ran.devices(op="aten::zeros")) == 2


def test_every_way_of_starting_python_activates(starting_child, tmp_path):
    """One program, started in each way that Python has."""
    (tmp_path / "program.py").write_text(ASK)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(ASK)
    zipapp.create_archive(tmp_path / "package", tmp_path / "program.pyz")
    ways = {
        "a string": ["-c", ASK],
        "a module": ["-m", "program"],
        "a zip archive": ["program.pyz"],
        "a standard stream": ["-"],
        "import times": ["-X", "importtime", "program.py"],
        "optimized, in development mode": ["-OO", "-X", "dev", "-W", "ignore", "package"],
    }
    # Nobody installs torch's optimized code. Without it Python compiles all that is imported.
    compiled = {"PYTHONPYCACHEPREFIX": str(kept_folder("optimized", sys.prefix)), "PYTHONDONTWRITEBYTECODE": None}
    for name, argv in ways.items():
        ran = starting_child("", argv=argv, cwd=tmp_path, stdin=ASK, env=compiled if "optimized" in name else {})
        assert (ran.returncode, ran.stdout) == (0, "cpu\n"), f"{name}: {ran.stderr}"


def test_torchrun_workers_are_redirected(starting_child, tmp_path):
    (tmp_path / "job.py").write_text(
        """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.full((2,), float(dist.get_rank()), device="cuda")
dist.all_reduce(x)
print(f"sum {x.tolist()}", flush=True)
dist.destroy_process_group()
"""
    )
    argv = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    argv += ["--rdzv-endpoint", "localhost:0", "--local-addr", "localhost", "job.py"]
    ran = starting_child("", argv=argv, cwd=tmp_path, env={"GLOO_SOCKET_IFNAME": "lo"})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("[1.0, 1.0]") == 2
    assert len({event["pid"] for event in ran.devices(op="aten::full")}) == 2


def test_nested_virtual_environments_activate(starting_child, tmp_path):
    """A virtual environment made from the one with torch: with and without a .pth file that adds
    torch, as tools write it."""
    import torch

    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", "outer"],
        cwd=tmp_path,
        check=True,
    )
    outer = tmp_path / "outer" / "bin" / "python"
    subprocess.run([outer, "-m", "venv", "--without-pip", "inner"], cwd=tmp_path, check=True)
    inner = tmp_path / "inner" / "bin" / "python"
    without = starting_child("import sys; print(sys.prefix)", python=str(inner))
    assert (without.returncode, without.stdout) == (0, f"{tmp_path / 'inner'}\n"), without.stderr
    for environment in ("outer", "inner"):
        (packages,) = (tmp_path / environment / "lib").glob("python*/site-packages")
        paths = {os.path.dirname(os.path.dirname(torch.__file__))}
        paths |= {path for path in sys.path if path.endswith("site-packages")}
        (packages / "parent.pth").write_text("\n".join(sorted(paths)))
        python = str(tmp_path / environment / "bin" / "python")
        assert starting_child(ASK, python=python).stdout == "cpu\n"


def test_the_users_sitecustomize_and_usercustomize_still_run(starting_child, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("sitecustomize", "usercustomize"):
        (site / f"{name}.py").write_text(
            f"import sys; sys.ran = getattr(sys, 'ran', []) + ['{name}']\n"
            "import torch; sys.ran.append(str(torch.zeros(1, device='cuda').device))\n"
        )
    ran = starting_child(
        "import json, sys; print(json.dumps(sys.ran))",
        env={
            "PYTHONPATH": os.pathsep.join([str(ACTIVATE), str(site)]),
            "PYTHONNOUSERSITE": None,
        },
    )
    said = ran.answer
    assert said[:2] == ["sitecustomize", "cpu"]
    # A virtual environment has no user site folder, so Python imports no usercustomize.
    assert said[2:] in ([], ["usercustomize", "cpu"])


def test_pytest_may_rewrite_assertions_in_torch(starting_child, tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import pytest\npytest.register_assert_rewrite('torch.testing', 'helper')\n"
    )
    (tmp_path / "helper.py").write_text("def check(x):\n    assert x.device.type == 'cpu'\n")
    (tmp_path / "test_it.py").write_text(
        "import torch, helper\ndef test_it(): helper.check(torch.zeros(1, device='cuda'))\n"
    )
    ran = starting_child("", argv=["-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert [event["line"] for event in ran.devices(op="aten::zeros")] == [2]
