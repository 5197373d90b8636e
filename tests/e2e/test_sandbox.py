"""Tests what a sandbox leaves a test of the kernel: /proc, kinds of sockets, folders in memory.
test_isolation.py is about the host's files and processes. Nothing here writes to the kernel: the
tests only open."""
import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")

DEFINITION = {"format": 1, "name": "kernel", "framework": "unittest", "layout": {"pythonpath": ["."]}}
PASSES = "import unittest\n\n\nclass Passes(unittest.TestCase):\n    def test_passes(self):\n        pass\n"


@pytest.fixture
def sandbox(runner, write_suite):
    """sandbox(files, *words): runs a suite in a sandbox; the states of its tests, and their messages."""

    def call(files, *words, preload=()):
        definition = {**DEFINITION, "preload": list(preload)}
        folder = write_suite("kernel", {**files, "suite.json": json.dumps(definition)})
        result = runner(folder, "--python", sys.executable, "--shim", "off", "--isolate", "sandbox", *words)
        result.cases = {case["id"].rpartition("::")[2]: (case["state"], (case["failure"] or {}).get("message", ""))
                        for module in result.report["modules"] for case in module["cases"]}
        lines = [json.loads(line) for line in (result.folder / "record.jsonl").read_text().splitlines()]
        result.forked = [line["forked"] for line in lines if line["event"] == "attempt"]
        return result

    return call


OPENS_PROC = """
import os

# Settings of the sandbox's own namespaces belong to the user who made them; each process may watch pressures.
OWN = ["sys/fs/mqueue/", *("sys/kernel/" + name for name in ("auto_msgmni", "msg", "ns_last_pid", "pid_max", "sem", "shm")), "pressure/"]
ALLOWED = tuple("/proc/" + name for name in OWN if os.getuid() != 0)


def found():
    files = []
    for folder, folders, names in os.walk("/proc"):
        if folder == "/proc":  # the sandbox's own processes, and links to them
            folders[:] = [name for name in folders if not name.isdigit()]
        for name in names:
            path = os.path.join(folder, name)
            if path.startswith(ALLOWED):
                continue
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                continue
            files.append(path)
    return files


EARLY = found()
"""
TESTS_PROC = """
import os, unittest
import opens_proc


class Proc(unittest.TestCase):
    def test_while_it_imports(self):
        self.assertEqual(opens_proc.EARLY, [])

    def test_in_a_test(self):
        self.assertEqual(opens_proc.found(), [])

    def test_reads(self):
        with open("/proc/sys/kernel/ostype") as file:
            self.assertEqual(file.read(), "Linux\\n")
        with open("/proc/self/cmdline", "rb") as file:
            self.assertIn(b"test_proc.py", file.read())
        with open("/proc/cpuinfo") as file:
            self.assertTrue(file.read())
        self.assertIn(str(os.getpid()), os.listdir("/proc"))
"""


@pytest.mark.parametrize("warm", ["on", "off"])
def test_nothing_of_the_kernel_can_be_set(sandbox, warm):
    result = sandbox({"opens_proc.py": OPENS_PROC, "tests/test_proc.py": TESTS_PROC, "tests/test_passes.py": PASSES},
                     "--warm", warm, preload=["opens_proc"])
    assert result.code == 0, result.cases
    assert result.forked == [warm == "on"] * 2


TESTS_SOCKETS = """
import errno, os, socket, unittest

ALLOWED = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
ALL = range(1, 46)


def error_of(*words):
    try:
        socket.socket(*words).close()
    except OSError as error:
        return error.errno
    return 0


class Sockets(unittest.TestCase):
    def test_those_of_programs_open(self):
        for family in ALLOWED - {socket.AF_NETLINK}:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                self.assertIn(error_of(family, kind), (0, errno.EAFNOSUPPORT if family == socket.AF_INET6 else 0))
        self.assertEqual(error_of(socket.AF_NETLINK, socket.SOCK_RAW, 0), 0)
        self.assertTrue(socket.if_nameindex())
        for end in socket.socketpair():
            end.close()

    def test_others_do_not(self):
        kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW)
        got = {family: {error_of(family, kind) for kind in kinds} for family in ALL if family not in ALLOWED}
        self.assertEqual({family: errors for family, errors in got.items() if errors != {errno.EAFNOSUPPORT}}, {})
        self.assertEqual({error_of(socket.AF_NETLINK, socket.SOCK_RAW, protocol) for protocol in range(1, 23)},
                         {errno.EAFNOSUPPORT})
"""


@pytest.mark.parametrize("warm", ["on", "off"])
def test_only_sockets_of_programs_open(sandbox, warm):
    result = sandbox({"tests/test_sockets.py": TESTS_SOCKETS, "tests/test_passes.py": PASSES}, "--warm", warm, preload=["json"])
    assert result.code == 0, result.cases
    assert result.forked == [warm == "on"] * 2


TESTS_DDP = """
import os, tempfile, unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, folder):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29517", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    model(torch.full((2, 4), float(rank))).sum().backward()
    torch.save(model.module.weight.grad, os.path.join(folder, str(rank)))
    dist.destroy_process_group()
    os._exit(0)  # torch 2.13.0: one process in a hundred aborts after its last line, "terminate called without an active exception"


class Ddp(unittest.TestCase):
    def test_two_ranks_average_their_gradients(self):
        with tempfile.TemporaryDirectory() as folder:
            mp.start_processes(work, (folder,), nprocs=2, start_method="fork")
            for rank in "01":
                self.assertEqual(torch.load(os.path.join(folder, rank)).tolist(), [[1.0] * 4])
"""


def test_ranks_of_ddp_meet(sandbox):
    result = sandbox({"tests/test_ddp.py": TESTS_DDP}, "--test-timeout", "120s")
    assert result.code == 0, result.cases


TESTS_MEMORY = """
import errno, os, unittest

MIB = b"x" * (1 << 20)


class Memory(unittest.TestCase):
    def test_folders_in_memory_are_limited(self):
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/dev"):
            path = os.path.join(folder, "filled")
            with self.assertRaises(OSError, msg=folder) as caught:
                with open(path, "wb", buffering=0) as file:
                    for _ in range(6):
                        file.write(MIB)
            self.assertIn(caught.exception.errno, (errno.ENOSPC, errno.EROFS), folder)
        self.assertFalse(os.path.exists("/run/of-another"))
        open("/run/of-another", "w").close()

    def test_devices_work(self):
        with open("/dev/null", "wb") as file:
            file.write(b"x")
        with open("/dev/urandom", "rb") as file:
            self.assertEqual(len(file.read(8)), 8)
        for end in os.openpty():
            os.close(end)
"""


@pytest.mark.parametrize("warm", ["on", "off"])
def test_folders_in_memory_are_limited_and_of_one_module(sandbox, warm):
    result = sandbox({f"tests/test_{name}.py": TESTS_MEMORY for name in "ab"}, "--warm", warm, "--tmp-size", "4M", "-j", 1,
                     preload=["json"])
    assert result.code == 0, result.cases
    assert result.forked == [warm == "on"] * 2


def test_the_harness_may_be_a_link(program, runner, sandbox, tmp_path):
    """As stow and package managers install: here to what a sandbox covers."""
    share = program.parents[1] / "share" / "runner"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (share / "harness").rename(elsewhere / "harness")
    (share / "harness").symlink_to(elsewhere / "harness")
    try:
        result = sandbox({"tests/test_passes.py": PASSES})
        assert result.code == 0, result.out + result.err
    finally:
        (share / "harness").unlink()
        (elsewhere / "harness").rename(share / "harness")


def test_the_harness_may_hold_links(program, runner, sandbox, tmp_path):
    harness = program.parents[1] / "share" / "runner" / "harness"
    farm = tmp_path / "farm"
    harness.rename(farm)
    try:
        for path in farm.rglob("*.py"):
            link = harness / path.relative_to(farm)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
        result = sandbox({"tests/test_passes.py": PASSES})
        assert result.code == 0, result.out + result.err
    finally:
        shutil.rmtree(harness)
        farm.rename(harness)


LEAVES = """
import os, pathlib, tempfile, unittest


class Leaves(unittest.TestCase):
    def test_leaves_deep_folders_and_many_files(self):
        for top in (tempfile.gettempdir(), pathlib.Path.home(), pathlib.Path(__file__).parent):
            for number in range(500):
                pathlib.Path(top, f"left-{number}").touch()
            os.chdir(top)
            for _ in range(3000):
                os.mkdir("folder")
                os.chdir("folder")
            pathlib.Path("deepest").touch()
            os.chdir("/")
"""


# A process of its own: what this one takes counts for a process that it starts, until that calls exec.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@pytest.mark.parametrize("how", ["tree", "sandbox"])
def test_what_tests_leave_costs_the_runner_no_memory(program, write_suite, tmp_path, how):
    suite = write_suite("leaves", {"tests/test_leaves.py": LEAVES})
    command = [program, suite, "--python", sys.executable, "--shim", "off", "--isolate", how]
    measured = subprocess.run([sys.executable, "-c", MEASURE, *command], cwd=tmp_path, capture_output=True, text=True)
    assert measured.returncode == 0, measured.stderr
    [run] = (tmp_path / "results" / "runs").iterdir()
    counts = {place["place"]: place["count"] for place in json.loads((run / "report.json").read_text())["writes"]}
    assert counts == {"source": 501, "home": 501, "tmp": 501}
    assert not (run / "isolation").exists()
    assert int(measured.stdout) < 150 * 1024, "of the runner and all its children, in KiB"
