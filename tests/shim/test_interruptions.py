"""Tests signals, forks and retries during activation, pinning, exits and writes of the record."""

import os
import shutil
import subprocess

import pytest

from conftest import ACTIVATE

MANY_SITES = """
import os, signal, sys, time, torch
def count_at(n, name):
    exec(compile("torch.zeros(1, device='cuda')\\n" * n, name, "exec"))
"""


def test_a_worker_interrupted_while_exiting_still_exits(warm_child):
    ran = warm_child(
        MANY_SITES
        + """
def interrupt(signum, frame): raise KeyboardInterrupt
pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGALRM, interrupt)
    count_at(3000, "worker.py")
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        os._exit(0)
    except BaseException:
        os.kill(os.getpid(), signal.SIGKILL)  # goes on in its parent's code
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    assert ran.answer == 0


def test_an_exception_of_a_signal_handler_during_a_write_reaches_the_program(warm_child):
    ran = warm_child(
        MANY_SITES
        + """
import json
class Stop(Exception): pass
raised = 0
def alarm(signum, frame):
    global raised
    raised += 1
    raise Stop
signal.signal(signal.SIGALRM, alarm)
caught = 0
for turn in range(6):
    try:
        count_at(1, f"first{turn}")
        count_at(3000, f"many{turn}")
        time.sleep(1.1)
        signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.003 * turn)
        count_at(1, f"last{turn}")  # asks for the write
        end = time.monotonic() + 0.5
        while time.monotonic() < end: pass
    except Stop:
        caught += 1
print(json.dumps([raised, caught]))
"""
    )
    raised, caught = ran.answer
    assert raised == caught == 6
    total = sum(event["count"] for event in ran.devices())
    assert total == 6 * 3002


def test_pinning_works_after_a_fork_during_pinning(warm_child):
    ran = warm_child(
        """
import json, os, signal, threading, torch
base = torch.empty(8)
def churn():
    while True: base.pin_memory()
for _ in range(2): threading.Thread(target=churn, daemon=True).start()
ends = []
for _ in range(150):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        base.is_pinned()
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(json.dumps(sorted(set(ends))), flush=True)
os._exit(0)
"""
    )
    assert ran.answer == [0]


def test_an_interrupted_activation_can_be_repeated(late_child):
    ran = late_child(
        """
import json, torch
import compat_shim.redirect.distributed as late_step
apply = late_step.apply
def interrupted(*args):
    late_step.apply = apply
    raise KeyboardInterrupt
late_step.apply = interrupted
from compat_shim import hook
try:
    import TorchDevice
except KeyboardInterrupt:
    hook.install()
print(json.dumps([str(torch.device("cpu")), torch.zeros(1, device="cuda").device.type]))
"""
    )
    assert ran.answer == ["cpu", "cpu"]


def test_sharding_imported_before_the_shim_works(late_child):
    ran = late_child(
        """
import json, torch
import torch.distributed.fsdp as fsdp
before = fsdp.FullyShardedDataParallel.__init__
import TorchDevice
print(json.dumps(fsdp.FullyShardedDataParallel.__init__ is not before))
"""
    )
    assert ran.answer is True


def test_a_relative_record_path_is_based_on_the_starting_folder(child, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    ran = child(
        """
import os, subprocess, sys
os.chdir("other")
import torch
torch.zeros(1, device="cuda")
subprocess.run([sys.executable, "-c", "import torch; torch.ones(1, device='cuda')"], check=True)
""",
        env={"TORCHDEVICE_RECORD": "record.jsonl"},
    )
    assert ran.returncode == 0, ran.stderr
    assert sorted(e["op"] for e in ran.devices()) == ["aten::ones", "aten::zeros"]
    assert list(other.iterdir()) == []


def test_sites_are_listed_after_they_were_written(warm_child):
    ran = warm_child(
        """
import json, torch, compat_shim
compat_shim.begin_test("t::a")
torch.zeros(1, device="cuda")
compat_shim.flush()
torch.ones(1, device="cuda")
counts = [sorted(site["op"] for site in compat_shim.sites())]
compat_shim.end_test()
print(json.dumps([*counts, compat_shim.sites()]))
"""
    )
    assert ran.answer == [["aten::ones", "aten::zeros"], []]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_activation_does_not_deadlock_with_a_thread_that_loads_libraries(child, tmp_path):
    """A native thread: it holds no GIL, only the dynamic loader's locks."""
    empty = tmp_path / "empty.c"
    empty.write_text("int nothing_in_particular;\n")
    loads = tmp_path / "loads.c"
    loads.write_text(
        """
#include <dlfcn.h>
#include <pthread.h>
static void *work(void *path) {
    for (;;) { void *object = dlopen(path, RTLD_NOW); if (object) dlclose(object); }
}
void start(const char *path) { pthread_t thread; pthread_create(&thread, 0, work, (void *)path); }
"""
    )
    for source in (empty, loads):
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-pthread", "-o", source.with_suffix(".so"), source], check=True
        )
    many = tmp_path / "many"
    many.mkdir()
    for n in range(400):
        shutil.copy(empty.with_suffix(".so"), many / f"{n}.so")
    ran = child(
        f"""
import ctypes, glob, os, signal
kept = [ctypes.CDLL(path) for path in glob.glob({str(many)!r} + "/*.so")]
name = {str(empty.with_suffix('.so'))!r}.encode()
loads = ctypes.CDLL({str(loads.with_suffix('.so'))!r})
signal.alarm(120)
loads.start(ctypes.c_char_p(name))
import torch
print('"' + torch.zeros(1, device="cuda").device.type + '"', flush=True)
os._exit(0)
""",
        env={"PYTHONPATH": str(ACTIVATE)},
    )
    assert ran.answer == "cpu"
