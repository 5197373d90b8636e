"""Compiles and links the shim's redirection for macOS on arm64, against the newest torch's macOS wheel,
and checks what the shim reads and replaces in that wheel's libraries. Nothing runs on a Mac.

It takes five minutes of CPU time, so that sources which passed once are not compiled again: their digest
stands in macos_build.sha256. After a change of them the tests run, and COMPAT_UPDATE_GOLDEN=1 writes the new
digest if they pass. An empty digest file, or COMPAT_MACOS_BUILD=1, has them run in any case."""

import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEWEST = "2.15.0"
WHEEL = "{}-cp{}{}".format(NEWEST, *sys.version_info)
PLACE = ROOT / "build" / "macos"
CANNOT_DOWNLOAD = 77
LIBRARIES = ["_compat_redirect", "_compat_shim"]

DIGEST = pathlib.Path(__file__).with_name("macos_build.sha256")
# The compiled sources, the build's files, and the tests.
PARTS = ("shim/policy", "shim/redirect", "shim/runtime", "shim/record", "tests/cross")
FILES = ("shim/CMakeLists.txt", "shim/ask_python.py", "cmake/macos-arm64.cmake", "tests/requirements.txt", "tests/shim/test_macos_build.py")


def digest_of_sources():
    found = hashlib.sha256(NEWEST.encode())
    files = [path for part in PARTS for path in (ROOT / part).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted([*files, *(ROOT / name for name in FILES)]):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()


pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="a Mac builds it as every test needs it")


@pytest.fixture(scope="module")
def built():
    """The output of tests/cross/shim.sh."""
    if DIGEST.read_text().strip() == digest_of_sources() and "COMPAT_MACOS_BUILD" not in os.environ:
        pytest.skip("these sources passed before; COMPAT_MACOS_BUILD=1 compiles them again")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip(f"no ziglang in {sys.executable}")
    done = subprocess.run(
        [ROOT / "tests/cross/shim.sh", "--only", "_compat_redirect", NEWEST],
        env={**os.environ, "COMPAT_ZIG_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    if done.returncode == CANNOT_DOWNLOAD:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        pytest.skip(f"pip cannot download the macOS wheel of torch {NEWEST}: {reason}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_symbol_of_the_redirection_is_known_on_a_mac(built):
    files = [line.partition(": ") for line in built.splitlines() if " undefined symbols, " in line]
    assert [file.split("/")[-1].split(".")[0] for file, _, _ in files] == LIBRARIES
    assert all(" 0 unknown" in found for _, _, found in files), built


def test_the_slots_of_the_replaced_functions_are_found(built, tmp_path):
    program = tmp_path / "macho_slots"
    subprocess.run(
        [os.environ.get("CXX") or shutil.which("c++"), "-std=c++20", f"-I{ROOT / 'shim'}", "-o", program]
        + [ROOT / "tests/cross/macho_slots.cc", ROOT / "shim/runtime/macho_slots.cc"],
        check=True,
    )
    folder = PLACE / "torch" / WHEEL / "torch" / "lib"
    files = [folder / f"lib{name}.dylib" for name in ("torch_python", "torch_cpu", "c10")]
    output = subprocess.run([program, *files], check=True, capture_output=True, text=True).stdout
    slots = {}
    for file, symbol, *addresses in map(str.split, output.splitlines()):
        name = next(name for name in EXPECTED if name in symbol)
        slots.setdefault(name, {})[file[3:-6]] = len(addresses)
    assert slots == EXPECTED
    test_every_symbol_of_the_redirection_is_known_on_a_mac(built)
    if os.environ.get("COMPAT_UPDATE_GOLDEN"):
        DIGEST.write_text(digest_of_sources() + "\n")


# torch's Python calls these in other libraries. The last but one is also called by the library that
# defines it, whose kernels use no slot; the last one by that library alone.
EXPECTED = {
    "DeviceC1": {"torch_python": 1, "torch_cpu": 1, "c10": 0},
    "Device3str": {"torch_python": 1, "torch_cpu": 1, "c10": 0},
    "check_out_type_matches": {"torch_python": 1, "torch_cpu": 0, "c10": 0},
    "getDefaultCPUGenerator": {"torch_python": 1, "torch_cpu": 0, "c10": 0},
    "get_default_device": {"torch_python": 0, "torch_cpu": 0, "c10": 0},
}
