"""Tests device-probe with the real LibTorch: its list of devices is right and names what fails.

A library loaded before LibTorch (LD_PRELOAD) plays a backend that crashes, hangs or lacks a kernel.
"""

import json
import os
import pathlib
import subprocess
import time

import pytest

DTYPES = ["fp32", "fp16", "bf16", "fp64", "int8"]
# Names as the compiler writes them: at::get_cpu_capability(), at::_ops::mm::call(a, b).
BACKENDS = {
    "crashes": 'extern "C" void _ZN2at18get_cpu_capabilityB5cxx11Ev() { abort(); }',
    "hangs": 'extern "C" void _ZN2at18get_cpu_capabilityB5cxx11Ev() { for (;;) pause(); }',
    "crashes in a kernel": 'extern "C" void _ZN2at4_ops2mm4callERKNS_6TensorES4_() { raise(SIGILL); }',
    "lacks a kernel": 'extern "C" void _ZN2at4_ops2mm4callERKNS_6TensorES4_() '
    '{ throw std::runtime_error("no \\"mm\\"\\nhere"); }',
}


@pytest.fixture(scope="module")
def probe(library):
    """probe(**environment): device-probe's output, and the seconds it took."""
    import torch

    program = pathlib.Path(library).parent / "device-probe"
    folder = pathlib.Path(torch.__file__).parent / "lib"

    def run(**environment):
        begun = time.monotonic()
        done = subprocess.run(
            [program],
            env={**os.environ, "LD_LIBRARY_PATH": str(folder), "OMP_NUM_THREADS": "1", **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout), time.monotonic() - begun

    return run


def test_a_host_without_an_accelerator_has_one_cpu(probe):
    import torch

    report, _ = probe()
    assert list(report) == ["format", "torch", "git", "config", "built", "devices", "failed"]
    assert report["format"] == 1
    assert (report["torch"], report["git"]) == (torch.__version__, torch.version.git_version)
    assert report["config"] == torch.__config__.show()
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this host has an accelerator")
    assert report["built"] == (["cpu", "cuda"] if torch.version.cuda else ["cpu"])
    assert report["failed"] == []
    (cpu,) = report["devices"]
    assert (cpu["device"], cpu["type"]) == ("cpu", "cpu")
    assert cpu["capability"] == torch.backends.cpu.get_cpu_capability()
    assert cpu["name"]


def test_memory_of_the_cpu_is_the_machines_memory(probe):
    report, _ = probe()
    cpu = report["devices"][0]
    assert cpu["memory_total"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    lines = dict(line.split(":") for line in open("/proc/meminfo"))
    now = int(lines["MemAvailable"].split()[0]) * 1024
    assert 0 < cpu["memory_free"] < cpu["memory_total"]
    assert abs(cpu["memory_free"] - now) < cpu["memory_total"] / 4


def test_dtypes_are_reported_as_torch_supports_them(probe):
    import torch

    names = dict(zip(DTYPES, (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8)))
    report, _ = probe()
    dtypes = report["devices"][0]["dtypes"]
    assert list(dtypes) == DTYPES
    for name, dtype in names.items():
        ones = torch.ones(4, 4, dtype=dtype)
        expected = ones + ones if name == "int8" else ones @ ones
        assert dtypes[name] == {"works": expected.sum().item() in (32, 64), "why": None}


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    """backend(name): a library of BACKENDS."""

    def build(name):
        folder = tmp_path_factory.mktemp("backend")
        source = folder / "backend.cc"
        source.write_text("#include <csignal>\n#include <cstdlib>\n#include <stdexcept>\n#include <unistd.h>\n" + BACKENDS[name])
        subprocess.run(["g++", "-shared", "-fPIC", "-o", folder / "backend.so", source], check=True)
        return str(folder / "backend.so")

    return build


def test_a_backend_that_crashes_is_named(probe, backend):
    report, _ = probe(LD_PRELOAD=backend("crashes"))
    assert report["devices"] == [] and report["config"] is None
    assert report["failed"] == [
        {"asked": "config", "why": "Aborted, asking"},
        {"asked": "cpu", "why": "Aborted, asking cpu"},
    ]


def test_a_kernel_that_crashes_is_named(probe, backend):
    report, _ = probe(LD_PRELOAD=backend("crashes in a kernel"))
    assert report["failed"] == [{"asked": "cpu", "why": "Illegal instruction, trying fp32 on cpu"}]


def test_a_hanging_backend_is_stopped_early(probe, backend):
    report, took = probe(LD_PRELOAD=backend("hangs"))
    assert report["failed"] == [
        {"asked": "config", "why": "no answer in 15 s, asking"},
        {"asked": "cpu", "why": "no answer in 15 s, asking cpu"},
    ]
    assert 14 < took < 20


def test_a_dtype_without_a_kernel_says_why(probe, backend):
    report, _ = probe(LD_PRELOAD=backend("lacks a kernel"))
    dtypes = report["devices"][0]["dtypes"]
    broken = {"works": False, "why": 'no "mm"'}
    assert dtypes == {**dict.fromkeys(DTYPES[:4], broken), "int8": {"works": True, "why": None}}


def test_the_probe_does_not_depend_on_its_build_folder(library):
    program = pathlib.Path(library).parent / "device-probe"
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert "libtorch.so" in dynamic and "RPATH" not in dynamic and "RUNPATH" not in dynamic
