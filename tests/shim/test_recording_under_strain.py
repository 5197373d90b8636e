"""Tests that counts are neither lost nor doubled with threads, forks, late exits and a record that
cannot be written."""

import collections
import json
import os

import pytest

# Threads that torch starts itself: unknown to Python, without the GIL.
NATIVE = """
import os, time, torch
@torch.jit.script
def ask(n: int, where: str):
    x = torch.zeros(1)
    for _ in range(n):
        x = torch.zeros(1, device=torch.device(where))
    return x
@torch.jit.script
def start(n: int, where: str):
    return torch.jit.fork(ask, n, where), torch.jit.fork(ask, n, where)
"""


def counts(ran, **wanted):
    return sum(event["count"] for event in ran.devices(**wanted))


def test_concurrent_threads_lose_no_count(warm_child):
    ran = warm_child(
        """
import sys, threading, torch, compat_shim
sys.setswitchinterval(1e-5)
def ask(op, n):
    for _ in range(n): op(1, device="cuda")
for test in ("t::a", "t::b"):
    compat_shim.begin_test(test)
    threads = [threading.Thread(target=ask, args=(op, 500)) for op in (torch.zeros, torch.ones) * 8]
    for thread in threads: thread.start()
    while any(thread.is_alive() for thread in threads): compat_shim.sites(); compat_shim.flush()
    for thread in threads: thread.join()
    compat_shim.end_test()
"""
    )
    assert ran.returncode == 0, ran.stderr
    for test in ("t::a", "t::b"):
        for op in ("aten::zeros", "aten::ones"):
            assert counts(ran, test=test, op=op) == 8 * 500
    assert {event["line"] for event in ran.devices()} == {5}


def test_threads_without_the_gil_lose_no_count(warm_child):
    """Rows are taken repeatedly while the threads count."""
    ran = warm_child(
        NATIVE
        + """
import compat_shim
parts = start(50_000, "cuda")
for _ in range(200): compat_shim.flush(); time.sleep(0.001)
for part in parts: torch.jit.wait(part)
"""
    )
    assert ran.returncode == 0, ran.stderr
    assert counts(ran) == 2 * 50_000
    assert {(event["file"], event["line"]) for event in ran.devices()} == {(None, 0)}


@pytest.mark.unsanitized(reason="AddressSanitizer's allocator is not safe where others allocate")
def test_a_fork_during_counting_in_native_threads_works(warm_child):
    ran = warm_child(
        NATIVE
        + """
parts = start(2_000_000_000, "cuda")
for _ in range(150):
    child = os.fork()
    if child == 0:
        torch.zeros(1, device="cuda")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""
    )
    assert ran.returncode == 0, ran.stderr
    assert {event["count"] for event in ran.devices(line=17)} == {1}
    assert counts(ran, line=17) == 150


def test_a_fork_during_counting_and_writing_in_python_threads_works(warm_child):
    ran = warm_child(
        """
import os, sys, threading, torch, compat_shim
sys.setswitchinterval(1e-5)
done = False
def ask():
    while not done: torch.zeros(1, device="cuda")
def write():
    while not done: compat_shim.flush()
threads = [threading.Thread(target=target) for target in (ask, ask, write)]
for thread in threads: thread.start()
for _ in range(60):
    child = os.fork()
    if child == 0:
        for _ in range(7): torch.ones(1, device="cuda")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done = True
for thread in threads: thread.join()
"""
    )
    assert ran.returncode == 0, ran.stderr
    made = collections.Counter()
    for event in ran.devices(op="aten::ones"):
        made[event["pid"]] += event["count"]
    assert list(made.values()) == [7] * 60
    (parent,) = {event["pid"] for event in ran.devices(op="aten::zeros")}
    assert parent not in {event["pid"] for event in ran.devices(op="aten::ones")}


def test_requests_of_exit_handlers_are_counted(child):
    """An exit handler registered before torch's import runs after torch's own."""
    ran = child(
        """
import atexit
@atexit.register
def late():
    torch.ones(1, device="cuda")
import torch
torch.zeros(1, device="cuda")
"""
    )
    assert ran.returncode == 0, ran.stderr
    assert (counts(ran, op="aten::zeros"), counts(ran, op="aten::ones")) == (1, 1)


@pytest.mark.parametrize("call", ["execv(exe, args)", "execvpe(exe, args, os.environ)"])
def test_the_record_is_written_before_exec(child, call):
    ran = child(
        f"""
import os, sys, torch
torch.zeros(1, device="cuda")
exe, args = sys.executable, [sys.executable, "-c", "print('another')"]
os.{call}
"""
    )
    assert (ran.returncode, ran.stdout) == (0, "another\n")
    assert counts(ran) == 1


def test_a_worker_that_raises_or_exits_writes_its_counts(warm_child):
    ran = warm_child(
        """
import multiprocessing, sys, torch
def work(how):
    torch.zeros(1, device="cuda")
    raise how
if __name__ == "__main__":
    for how in (SystemExit(3), ValueError("x")):
        worker = multiprocessing.get_context("fork").Process(target=work, args=(how,))
        worker.start(); worker.join()
        print(worker.exitcode)
"""
    )
    assert ran.stdout.split() == ["3", "1"]
    assert counts(ran, op="aten::zeros") == 2


def test_a_mocked_os_or_json_does_not_affect_the_record(warm_child):
    ran = warm_child(
        """
import json, os, torch, compat_shim
from unittest import mock
names = ("open", "write", "close", "getpid")
compat_shim.begin_test("t::mocked")
with mock.patch.multiple(os, **{name: mock.Mock(side_effect=OSError) for name in names}):
    with mock.patch.object(json, "dumps", side_effect=ValueError):
        torch.zeros(1, device="cuda")
        compat_shim.end_test()
"""
    )
    assert ran.returncode == 0, ran.stderr
    assert counts(ran, test="t::mocked") == 1


@pytest.mark.parametrize("path", ["nowhere/record", "/dev/full", "."])
def test_a_record_that_cannot_be_written_is_reported_once(warm_child, tmp_path, path):
    """The program runs unchanged, except for one more line on stderr."""
    ran = warm_child(
        """
import os, torch, compat_shim
for test in ("t::a", "t::b"):
    compat_shim.begin_test(test)
    torch.zeros(1, device="cuda")
    compat_shim.end_test()
child = os.fork()
torch.ones(1, device="cuda")
if child: assert os.waitpid(child, 0)[1] == 0
else: os._exit(0)
print("done")
""",
        env={"TORCHDEVICE_RECORD": path},
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n")
    (line,) = ran.stderr.splitlines()
    where = os.path.normpath(tmp_path / path)
    assert line.startswith(f"compat_shim: the record is not complete: {where}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_does_not_stop_the_program(child, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    ran = child("import torch", env={"TORCHDEVICE_RECORD": str(folder / "record")})
    assert ran.returncode == 0
    assert "Permission denied" in ran.stderr


def test_a_full_disk_truncates_at_most_one_line(warm_child, tmp_path):
    """A limit on file sizes plays the full disk; it is lifted later."""
    record = tmp_path / "filling"
    ran = warm_child(
        """
import resource, signal, torch, compat_shim
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
for number in range(40):
    if number == 30: resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    compat_shim.begin_test(f"t::{number}")
    torch.zeros(1, device="cuda")
    compat_shim.end_test()
print("done")
""",
        env={"TORCHDEVICE_RECORD": str(record)},
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
    (said,) = ran.stderr.splitlines()
    assert "the record is not complete" in said
    whole, torn = [], []
    for line in record.read_text().splitlines():
        try:
            whole.append(json.loads(line))
        except ValueError:
            torn.append(line)
    assert len(torn) == 1
    tests = [line["test"] for line in whole if line["event"] == "test"]
    assert tests[0] == "t::0" and tests[-10:] == [f"t::{number}" for number in range(30, 40)]
