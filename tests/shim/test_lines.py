"""Tests the source line recorded for a request in every kind of frame, and the log on stderr."""

import collections
import re

import pytest

from conftest import run_child

# Programs. The lines marked HERE must be recorded for the request.
FRAMES = {
    "generator": """
def numbers():
    for _ in range(2):
        yield torch.zeros(1, device="cuda")  # HERE 2
list(numbers())
""",
    "generator expression": """
list(torch.zeros(1, device="cuda")  # HERE 3
     for _ in range(3))
""",
    "comprehension": """
[torch.zeros(1, device="cuda") for _ in range(3)]  # HERE 3
""",
    "generator that is sent to": """
def echo():
    while True:
        where = yield
        torch.zeros(1, device=where)  # HERE 2
g = echo(); next(g)
g.send("cuda")
g.send("cuda")
""",
    "coroutine": """
import asyncio
async def ask():
    await asyncio.sleep(0)
    return torch.zeros(1, device="cuda")  # HERE 4
async def main():
    await asyncio.gather(*(ask() for _ in range(4)))
asyncio.run(main())
""",
    "asynchronous generator": """
import asyncio
async def numbers():
    for _ in range(2):
        yield torch.zeros(1, device="cuda")  # HERE 2
async def main():
    async for _ in numbers(): pass
asyncio.run(main())
""",
    "lambda": """
ask = lambda: torch.zeros(1,  # HERE 1
                          device="cuda")
ask()
""",
    "a C function calls back": """
import functools
ask = functools.partial(torch.zeros, 1, device="cuda")
ask()  # HERE 1
list(map(lambda _: ask(), range(2)))  # HERE 2
list(map(torch.nn.Module.cuda, []))
sorted([2, 1], key=lambda n: ask().item())  # HERE 2
functools.reduce(lambda a, b: ask(), range(3))  # HERE 2
""",
    "a C function calls torch": """
from functools import partial
for made in map(partial(torch.zeros, device="cuda"), (1, 2)):  # HERE 2
    pass
""",
    "class body": """
class Holder:
    value = torch.zeros(1, device="cuda")  # HERE 1
""",
    "default argument and decorator": """
def keep(value):
    return lambda f: f
@keep(torch.zeros(1, device="cuda"))  # HERE 1
def f(value=torch.zeros(1, device="cuda")):  # HERE 1
    pass
""",
    "destructor and context manager": """
class Ask:
    def __enter__(self): torch.zeros(1, device="cuda")  # HERE 1
    def __exit__(self, *_): torch.zeros(1, device="cuda")  # HERE 1
    def __del__(self): torch.zeros(1, device="cuda")  # HERE 1
with Ask(): pass
""",
    "property, descriptor and operator": """
class Ask:
    @property
    def one(self): return torch.zeros(1, device="cuda")  # HERE 1
    def __getattr__(self, name): return torch.zeros(1, device="cuda")  # HERE 1
    def __add__(self, other): return torch.zeros(1, device="cuda")  # HERE 1
Ask().one; Ask().two; Ask() + 1
""",
    "an exception is on its way": """
try:
    raise ValueError
except ValueError:
    torch.zeros(1, device="cuda")  # HERE 1
finally:
    torch.zeros(1, device="cuda")  # HERE 1
""",
    "trace and profile functions": """
import sys
sys.settrace(lambda *_: None); sys.setprofile(lambda *_: None)
torch.zeros(1, device="cuda")  # HERE 1
sys.settrace(None); sys.setprofile(None)
""",
    "deep recursion": """
def down(n):
    return down(n - 1) if n else torch.zeros(1, device="cuda")  # HERE 1
down(500)
""",
    "through torch's frames": """
from torch.utils.checkpoint import checkpoint
net = torch.nn.Sequential(torch.nn.Linear(2, 2))
net.apply(lambda module: torch.zeros(1, device="cuda"))  # HERE 2
checkpoint(lambda x: x + torch.zeros(1, device="cuda"), torch.ones(1), use_reentrant=False)  # HERE 1
""",
}


@pytest.fixture(scope="module")
def framed(library, tmp_path_factory):
    """A child process that ran all programs, each as one file and one test; and the files."""
    folder = tmp_path_factory.mktemp("frames")
    paths = {name: folder / f"{number}.py" for number, name in enumerate(FRAMES)}
    for name, path in paths.items():
        path.write_text("import torch" + FRAMES[name])
    script = f"""
import runpy, torch, compat_shim
for name, path in {[(name, str(path)) for name, path in paths.items()]!r}:
    compat_shim.begin_test(name)
    runpy.run_path(path)
    compat_shim.end_test()
"""
    ran = run_child(library, folder, script, warm=True)
    assert ran.returncode == 0, ran.stderr
    return ran, paths


@pytest.mark.parametrize("name", FRAMES)
def test_each_kind_of_frame_reports_the_requesting_line(framed, name):
    ran, paths = framed
    marks = {
        number: int(mark.group(1))
        for number, line in enumerate(paths[name].read_text().splitlines(), 1)
        if (mark := re.search(r"# HERE (\d+)", line))
    }
    counts = {}
    for event in ran.devices(test=name, op="aten::zeros"):
        assert event["file"] == str(paths[name])
        counts[event["line"]] = counts.get(event["line"], 0) + event["count"]
    assert marks and counts == marks


def test_code_without_a_file_is_recorded_by_its_name(warm_child):
    ran = warm_child(
        """
import torch
exec("torch.zeros(1, device='cuda')")
eval("torch.zeros(1, device='cuda')")
exec(compile("\\n\\ntorch.zeros(1, device='cuda')", "made up", "exec"))
exec(compile("torch.zeros(1, device='cuda')", "", "exec"))
"""
    )
    found = collections.Counter()
    for event in ran.devices():
        found[event["file"], event["line"]] += event["count"]
    # An empty name is recorded without a file, like a thread that Python does not know.
    assert found == {("<string>", 1): 2, ("made up", 3): 1, (None, 1): 1}


PROGRAM = """
import torch
for _ in range(3):
    torch.zeros(1, device="cuda")
torch.ones(1, device="cuda:1")
try: torch.cuda.CUDAGraph()
except NotImplementedError: pass
"""


def told(script):
    return [
        f"compat_shim: {script}:4: redirect aten::zeros: cuda -> cpu",
        f"compat_shim: {script}:5: redirect aten::ones: cuda:1 -> cpu",
    ]


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR"])
def test_each_log_level_prints_its_lines(warm_child, level):
    ran = warm_child(PROGRAM, env={"TORCHDEVICE_LOG_LEVEL": level})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
    zeros, ones = told(ran.script)
    lines = ran.stderr.splitlines()
    refusal = [line for line in lines if f"{ran.script}:6: refusal" in line]
    times = {"DEBUG": (3, 1, 1), "INFO": (1, 1, 1), "WARNING": (0, 0, 0), "ERROR": (0, 0, 0)}
    assert (lines.count(zeros), lines.count(ones), len(refusal)) == times[level]
    assert all(line.startswith("compat_shim: ") for line in lines)
    # The log level does not change the record.
    assert sum(e["count"] for e in ran.devices(kind="redirect")) == 4


def test_log_lines_of_parallel_processes_are_not_mixed(warm_child):
    """Each line is one write, so that lines on a shared stderr stay whole."""
    ran = warm_child(
        """
import os, threading, torch
def ask():
    for _ in range(200): torch.zeros(1, device="cuda")
children = [os.fork() for _ in range(2)]
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if 0 in children: os._exit(0)
for pid in children: assert os.waitpid(pid, 0)[1] == 0
""",
        env={"TORCHDEVICE_LOG_LEVEL": "DEBUG"},
    )
    assert ran.returncode == 0, ran.stderr
    line = f"compat_shim: {ran.script}:4: redirect aten::zeros: cuda -> cpu"
    assert ran.stderr.splitlines() == [line] * (4 * 4 * 200)
    assert sum(e["count"] for e in ran.devices()) == 4 * 4 * 200
