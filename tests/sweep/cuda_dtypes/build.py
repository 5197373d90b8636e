"""Builds stubs of CUDA's libraries for a CUDA build of torch: build.py TORCH INCLUDE OUTPUT.

TORCH is the folder of the unpacked wheel, INCLUDE that of cuda_runtime_api.h. The functions that the
wheel's libraries want and none of them has become one library under all their names."""

import pathlib
import re
import subprocess
import sys

LIBRARIES = "libtorch_cuda libtorch_cuda_linalg libc10_cuda libtorch_cpu libtorch_python libtorch_nvshmem libcaffe2_nvrtc"
# Libraries of the machine, not of CUDA.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gomp)\.so|ld-linux|libtorch|libc10|libshm)")
OWN = re.compile(
    r"^(__)?(cu|cuda|cublas|cublasLt|cudnn|cufft|cuFile|curand|cusparse|cusparseLt|cusolver|cusolverDn"
    r"|nccl|nvrtc|nvshmem|cupti|nvml|nvJitLink)\w*$"
)


def symbols(library):
    """Undefined and defined names, with the version that each wants."""
    lines = subprocess.run(
        ["readelf", "--dyn-syms", "-W", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for line in lines:
        parts = line.split()
        if len(parts) >= 8 and parts[0].endswith(":") and parts[4] in ("GLOBAL", "WEAK"):
            yield parts[6] == "UND", parts[7].partition("@")[0]


def needed(library):
    text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED.*\[(.*)\]", text)


def build(torch, include, output):
    output.mkdir(parents=True, exist_ok=True)
    libraries = [path for name in LIBRARIES.split() if (path := torch / "lib" / f"{name}.so").exists()]
    wanted = {name for path in libraries for undefined, name in symbols(path) if undefined and OWN.match(name)}
    names = {name for path in libraries for name in needed(path) if not SYSTEM.match(name)}
    here = pathlib.Path(__file__).parent
    common = ["g++", "-O1", "-fPIC", "-w", f"-I{include}"]
    subprocess.run([*common, "-c", here / "stubs.cc", "-o", output / "own.o"], check=True)
    own = subprocess.run(["nm", output / "own.o"], capture_output=True, text=True, check=True).stdout
    written = set(re.findall(r" T (\w+)$", own, re.M))
    (output / "rest.c").write_text(
        "".join(f"long {name}(void) {{ return 0; }}\n" for name in sorted(wanted - written))
    )
    subprocess.run(["gcc", "-O1", "-fPIC", "-w", "-c", output / "rest.c", "-o", output / "rest.o"], check=True)
    library = output / "libstubs.so"
    subprocess.run(
        ["g++", "-shared", "-Wl,-soname,libstubs.so", output / "own.o", output / "rest.o", "-o", library],
        check=True,
    )
    for name in names:
        (output / name).unlink(missing_ok=True)
        (output / name).symlink_to(library.name)
    return sorted(names)


if __name__ == "__main__":
    print(*build(*map(pathlib.Path, sys.argv[1:])), sep="\n")
