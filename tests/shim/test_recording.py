"""Tests the record: exact lines, counts by test, all kinds of processes and threads, no growth."""

import json
import pathlib
import signal

import pytest


def by_test(ran):
    counts = {}
    for event in ran.devices():
        key = (event["test"], event["op"])
        counts[key] = counts.get(key, 0) + event["count"]
    return counts


def test_file_and_line_of_a_request_are_exact(warm_child):
    ran = warm_child(
        """import torch
def outer(x):
    return torch.nn.Linear(2, 2).to(
        x)
a = torch.zeros(2,
    device="cuda:1")
b = outer("cuda")
"""
    )
    assert ran.returncode == 0, ran.stderr
    found = {(e["op"], e["line"], e["count"], e["from"], e["to"]) for e in ran.devices()}
    assert found == {
        ("aten::zeros", 5, 1, "cuda:1", "cpu"),
        ("aten::to.dtype_layout", 3, 2, "cuda", "cpu"),
    }
    assert {e["file"] for e in ran.devices()} == {ran.script}
    assert {e["kind"] for e in ran.devices()} == {"redirect"}


def test_counts_belong_to_the_test_that_ran(warm_child):
    ran = warm_child(
        """
import torch, compat_shim
def ask(n):
    for _ in range(n): torch.zeros(2, device="cuda")
ask(1)
for name, n in (("t::a", 2), ("t::b", 0), ("t::c", 3)):
    compat_shim.begin_test(name)
    ask(n)
    compat_shim.end_test()
compat_shim.end_test()
ask(4)
"""
    )
    assert by_test(ran) == {
        (None, "aten::zeros"): 5,
        ("t::a", "aten::zeros"): 2,
        ("t::c", "aten::zeros"): 3,
    }
    assert [e["count"] for e in ran.devices(test=None)] == [1, 4]
    assert [e["test"] for e in ran.record if e["event"] == "test"] == ["t::a", "t::b", "t::c"]


def test_requests_of_a_test_started_before_torch_are_counted(starting_child):
    ran = starting_child(
        """
import compat_shim
compat_shim.begin_test("t::lazy")
import torch
torch.zeros(2, device="cuda")
compat_shim.end_test()
"""
    )
    assert by_test(ran) == {("t::lazy", "aten::zeros"): 1}


def test_a_crash_loses_only_the_running_tests_counts(warm_child):
    ran = warm_child(
        """
import os, signal, torch, compat_shim
for name in ("t::done", "t::killed"):
    compat_shim.begin_test(name)
    torch.zeros(2, device="cuda")
    if name == "t::killed": os.kill(os.getpid(), signal.SIGKILL)
    compat_shim.end_test()
"""
    )
    assert ran.returncode == -signal.SIGKILL
    assert by_test(ran) == {("t::done", "aten::zeros"): 1}


def test_a_killed_program_without_tests_has_written_its_sites(warm_child):
    ran = warm_child(
        """
import os, signal, time, torch, compat_shim
torch.zeros(2, device="cuda")
time.sleep(0), time.sleep(1.1)  # Python 3.15 calls the hook after the first, and not after zeros
for _ in range(3): torch.ones(2, device="cuda")
sites = {site["op"]: site["count"] for site in compat_shim.sites()}
print(sites == {"aten::zeros": 1, "aten::ones": 3}, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert ran.returncode == -signal.SIGKILL and ran.stdout == "True\n"
    assert {(e["op"], e["line"]) for e in ran.devices()} == {("aten::zeros", 3), ("aten::ones", 5)}


def test_early_writes_neither_lose_nor_double_counts(warm_child):
    ran = warm_child(
        """
import time, torch, compat_shim
end = time.monotonic() + 2.5
made = 0
while time.monotonic() < end:
    exec(compile("torch.zeros(1, device='cuda')", "<made>", "exec"))
    made += 1
sites = sum(site["count"] for site in compat_shim.sites())
print(f"[{made}, {sites}]")
"""
    )
    made, sites = ran.answer
    assert made == sites == sum(e["count"] for e in ran.devices())
    assert 3 <= len(ran.devices()) <= 6


@pytest.mark.parametrize("ending", ["raise SystemExit(0)", "os._exit(0)", "pass"])
def test_every_normal_exit_writes_the_record(child, ending):
    ran = child(f"import os, torch\ntorch.zeros(2, device='cuda')\n{ending}\n")
    assert ran.returncode == 0
    assert by_test(ran) == {(None, "aten::zeros"): 1}


def test_a_forked_child_counts_its_own_for_the_same_test(warm_child):
    ran = warm_child(
        """
import os, torch, compat_shim
compat_shim.begin_test("t::fork")
torch.zeros(2, device="cuda")
pid = os.fork()
if pid == 0:
    for _ in range(3): torch.ones(2, device="cuda")
    os._exit(0)
os.waitpid(pid, 0)
compat_shim.end_test()
"""
    )
    assert by_test(ran) == {("t::fork", "aten::zeros"): 1, ("t::fork", "aten::ones"): 3}
    (parent,) = {e["pid"] for e in ran.devices(op="aten::zeros")}
    (forked,) = {e["pid"] for e in ran.devices(op="aten::ones")}
    assert parent != forked
    events = [(line["event"], line["pid"]) for line in ran.record]
    assert events.index(("session", forked)) < events.index(("device", forked))


def test_what_a_test_starts_belongs_to_it(warm_child):
    started = "import torch; torch.ones(2, device='cuda').add(1)"
    ran = warm_child(
        f"""
import subprocess, sys, torch, compat_shim
def start(): subprocess.run([sys.executable, "-c", {started!r}], check=True)
start()
for name in ("t::é\\0", "t::" + "x" * 200_000):
    compat_shim.begin_test(name)
    start()
    compat_shim.end_test()
start()
""",
        env={"TORCHDEVICE_SIMULATE": "cuda"},
    )
    assert ran.returncode == 0, ran.stderr
    kernels = [line for line in ran.record if line["event"] == "kernels"]
    # The last is of the program itself.
    assert [line.get("test") for line in kernels[:4]] == [None, "t::é\ufffd", None, None]
    assert all(line["kernels"]["cuda"] > 0 for line in kernels[:4])


def test_every_thread_is_redirected_and_counted(warm_child):
    ran = warm_child(
        """
import _thread, ctypes, json, threading, torch, compat_shim.state as state
from concurrent.futures import ThreadPoolExecutor
made = []
def ask():
    where = torch.zeros(2, device="cuda").device.type
    made.append([where, state.redirection.this_thread_included()])
thread = threading.Thread(target=ask); thread.start(); thread.join()
with ThreadPoolExecutor(2) as pool: list(pool.map(lambda _: ask(), range(3)))
done = threading.Event(); _thread.start_new_thread(lambda: (ask(), done.set()), ()); done.wait(20)
callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: ask())
native = ctypes.c_ulong(); libc = ctypes.CDLL(None)
libc.pthread_create(ctypes.byref(native), None, callback, None); libc.pthread_join(native, None)
print(json.dumps(made))
"""
    )
    # Two mechanisms: Python's threads use the first, native threads only the second.
    assert ran.answer == [["cpu", True]] * 4 + [["cpu", False]] * 2
    assert sum(e["count"] for e in ran.devices()) == 6
    assert {e["line"] for e in ran.devices()} == {6}


@pytest.mark.unsanitized(reason="AddressSanitizer keeps freed memory")
def test_the_record_does_not_grow_with_the_count(warm_child):
    ran = warm_child(
        """
import json, resource, torch, compat_shim.state
library = compat_shim.state.library
def ask(n):
    for _ in range(n): torch.zeros(1, device="cuda")
ask(10_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ask(90_000)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
(site,) = compat_shim.sites()
print(json.dumps([library.site_count(), site["count"], grown < 4096]))
"""
    )
    assert ran.answer == [1, 100_000, True]


def test_freed_code_is_counted_and_not_kept_alive(warm_child):
    ran = warm_child(
        """
import gc, json, torch, weakref, compat_shim.state
library = compat_shim.state.library
alive = []
for _ in range(2000):
    code = compile("torch.zeros(1, device='cuda')", "<made>", "exec")
    exec(code)
    alive.append(weakref.ref(code))
del code
gc.collect()
(site,) = compat_shim.sites()
print(json.dumps([sum(ref() is not None for ref in alive), library.site_count(), site]))
"""
    )
    kept, sites, site = ran.answer
    assert (kept, sites) == (0, 1)
    assert (site["file"], site["line"], site["count"]) == ("<made>", 1, 2000)


def test_without_a_record_nothing_is_written_and_counts_reset(warm_child, tmp_path):
    ran = warm_child(
        """
import json, torch, compat_shim
compat_shim.begin_test("a"); torch.zeros(1, device="cuda"); one = compat_shim.sites()
compat_shim.end_test()
print(json.dumps([len(one), compat_shim.sites()]))
""",
        env={"TORCHDEVICE_RECORD": None},
    )
    assert ran.answer == [1, []]
    assert not (tmp_path / "record.jsonl").exists()


@pytest.mark.parametrize("level, told", [("WARNING", 0), ("INFO", 1), ("DEBUG", 3)])
def test_each_site_is_logged_once(warm_child, level, told):
    ran = warm_child(
        "import torch\nfor _ in range(3): torch.zeros(1, device='cuda')\n",
        env={"TORCHDEVICE_LOG_LEVEL": level},
    )
    line = f"compat_shim: {ran.script}:2: redirect aten::zeros: cuda -> cpu"
    assert ran.stderr.splitlines().count(line) == told


def test_names_that_are_not_utf8_are_recorded(warm_child):
    ran = warm_child(
        r"""
import torch, compat_shim
compat_shim.begin_test("t::\udcff")
exec(compile("torch.zeros(1, device='cuda')", "bad\udcffname", "exec"))
compat_shim.end_test()
"""
    )
    assert ran.returncode == 0, ran.stderr
    (event,) = ran.devices()
    assert "\ufffd" in event["test"] and event["file"].startswith("bad")


def test_a_pending_exception_survives_recording(warm_child):
    ran = warm_child(
        """
import json, torch
try:
    torch.zeros(-1, device="cuda")
except RuntimeError as error:
    print(json.dumps("negative" in str(error)))
"""
    )
    assert ran.answer is True


def test_a_zygotes_fork_records_what_its_imports_redirected(starting_child):
    ran = starting_child(
        """
import os
record = os.environ.pop("TORCHDEVICE_RECORD")  # the process that imports has none
import torch, compat_shim
def ask(n):
    for _ in range(n): torch.zeros(2, device="cuda")
ask(2)
counted = compat_shim.counted()
for name in ("a", "b"):
    if os.fork() == 0:
        os.environ["TORCHDEVICE_RECORD"] = record + "." + name
        compat_shim.record_anew(counted)
        assert [s["count"] for s in compat_shim.sites()] == [2]
        ask(1)
        compat_shim.begin_test("t::" + name)
        ask(3)
        if os.fork() == 0:
            ask(5)
            os._exit(0)
        os.wait()
        compat_shim.end_test()
        raise SystemExit
    os.wait()
"""
    )
    assert ran.returncode == 0, ran.stderr
    for name in ("a", "b"):
        record = pathlib.Path(ran.script).with_name(f"record.jsonl.{name}").read_text()
        lines = [json.loads(line) for line in record.splitlines()]
        pid = lines[0]["pid"]
        assert [
            (e["event"], e.get("test"), e.get("count"), e["pid"] == pid) for e in lines
        ] == [
            ("watch", None, None, True),
            ("session", None, None, True),
            ("device", None, 2, True),
            ("device", None, 1, True),
            ("session", None, None, False),
            ("device", f"t::{name}", 5, False),
            ("device", f"t::{name}", 3, True),
            ("test", f"t::{name}", None, True),
        ]
