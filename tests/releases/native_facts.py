"""Facts of the libraries of a torch wheel: texts, the names of torch._C, environment variables, and in
a wheel for macOS which of MPS's functions loads which text, and the Metal kernels. Nothing is
loaded. A library is read whole, so that this takes 2 GB of memory for a wheel for macOS."""

import pathlib
import re
import sys

import elf
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "sweep"))
import macho

LINUX = ("libtorch_cuda", "libtorch_cuda_linalg", "libtorch_cpu", "libtorch_python", "libc10", "libc10_cuda")
MPS = re.compile(r"mps|Metal|MPS")
VARIABLE = re.compile(
    r"(?:TORCH|PYTORCH|C10|CAFFE2|ATEN|NCCL|CUDA|CUDNN|CUBLAS(?:LT)?|CUSOLVER|MPS|GLOO|KINETO|DISABLE|ENABLE|USE"
    r"|TENSORPIPE|LIBTORCH|NVSHMEM|INDUCTOR|XLA|MKL|OMP)_[A-Z0-9_]{3,}"
)
# Names of CUDA's libraries and of enumerations, which the same prefixes have.
NO_VARIABLE = re.compile(
    r"CU(?:DA|BLAS|BLASLT|DNN|SOLVER|FFT|SPARSE)_(?:STATUS|ERROR|SUCCESS|ATTR|BACKEND|TYPE|R_|C_|OP|BEHAVIOR|NUMERICAL"
    r"|ENGINE|POINTWISE|TENSOR|KNOB|HEUR|DATA|API|KERNEL|VERSION|GRAPH|EVENT|STREAM|MEM|CONVOLUTION)|NCCL_(?:INVALID|ERROR)"
)
ASSERTION = re.compile(r"INTERNAL ASSERT|Could this error message|template <|^__global__")
LONGEST = 1000  # of a message; what is longer is a program
NATIVE = re.compile(
    r"_(?:cuda|cudnn|cudart|nccl|mps|accelerator|gds|cusparselt|host|graph_pool)\w*"
    r"|_[A-Z]\w*(?:CUDA|MPS|Cuda)\w*|_(?:CUDA|MPS|Cuda|NCCL)\w+"
)
ARCHITECTURES = re.compile(r"(?:sm_\d+\w? ?|compute_\d+\w? ?){2,}$")


class _Library(macho.Library):
    def callers(self, names):
        """Each of these functions with the functions that call it."""
        found = {}
        for start in numpy.intersect1d(self._starts["value"], self._called).tolist():
            name = self._function(start)[1]
            if name in names:
                users = {self._function(call)[1] for call in self._calls[self._called == start].tolist()}
                found.setdefault(name, set()).update(users)
        return found


def identifiers(mangled):
    """The names of a mangled function, outermost first: at, native, mps, …"""
    found, at = [], 0
    while match := re.compile(r"\d+").search(mangled, at):
        length = int(match[0])
        name = mangled[match.end() : match.end() + length]
        if not re.match(r"[A-Za-z_]\w*$", name) or len(name) < length:
            at = match.end()
            continue
        found.append(name)
        at = match.end() + length
        if mangled[at : at + 1] in ("E", "I", "v", "R"):  # parameters follow
            break
    return [name for name in found if not name.startswith("_GLOBAL__")]


def function_name(mangled):
    """The last names of a function, without the namespaces that all of them are in."""
    names = [name for name in identifiers(mangled) if name not in ("at", "native", "mps")]
    return "::".join(names[-2:]) or mangled[:40]


def is_kernel(mangled):
    return identifiers(mangled)[:2] == ["at", "native"]


def is_of_mps(mangled):
    names = identifiers(mangled)
    return "nnapi" not in names and "metal" not in names and any(map(MPS.search, names))


def linux(read):
    found = {"texts": {}, "variables": set(), "native": set(), "architectures": "", "owners": {}, "callers": {}}
    for name in LINUX:
        library = elf.Library(read(f"torch/lib/{name}.so"))
        texts = library.texts()
        found["variables"] |= {text for text in texts if VARIABLE.fullmatch(text) and not NO_VARIABLE.match(text)}
        if name == "libtorch_python":
            found["native"] = {text for text in texts if NATIVE.fullmatch(text)}
            found["words"] = library.words()
        found["texts"][name] = sorted(text for text in texts if " " in text or "_" in text)
        for text in filter(ARCHITECTURES.match, texts):
            found["architectures"] = max(found["architectures"], text.strip(), key=len)
        if "cuda" in name:
            _of_cuda(*library.users(), found)
    return {key: sorted(value) if isinstance(value, set) else value for key, value in found.items()}


def _of_cuda(loading, calling, found):
    """Which of PyTorch's own kernels load which text, and which of them call those that do."""
    calls = {}
    for called, users in calling.items():
        calls.setdefault(function_name(called), set()).update(function_name(each) for each in users if is_kernel(each))
    for text, users in loading.items():
        shown = {function_name(each) for each in users if is_kernel(each)}
        if shown and " " in text and len(text) < LONGEST and not ASSERTION.search(text):
            found["owners"][text] = sorted({*found["owners"].get(text, ()), *shown})
            found["callers"].update({each: sorted(calls[each] - {each}) for each in shown if calls.get(each)})


def macos(read):
    library = _Library(read("torch/lib/libtorch_cpu.dylib"))
    texts, owners, shared, saying = set(), {}, [], set()
    for text, users in library.users_of_all():
        if len(text) > 5 and text.isascii():
            texts.add(text)
            if of_mps := sorted(filter(is_of_mps, users)):
                owners[text] = of_mps
                saying.update(of_mps)
                if len(of_mps) < len(users):
                    shared.append(text)
    callers = {}
    for called, users in library.callers(saying).items():
        callers.setdefault(function_name(called), set()).update(function_name(each) for each in users if is_of_mps(each))
    python = read("torch/lib/libtorch_python.dylib")
    names = {name.decode() for name in re.findall(rb"(?<=\0)_(?:mps_|MPS)\w+(?=\0)", python)}
    return {
        "minos": library.minimum_system(),
        "texts": sorted(texts),
        "core": sorted(elf.texts(read("torch/lib/libc10.dylib"))),
        "owners": owners,
        "callers": {name: sorted(users - {name}) for name, users in callers.items() if users - {name}},
        "shared": shared,
        "alerts": sorted(library.loaded_before_calls_of(b"alertNotDeterministic")),
        "kernels": sorted(library.kernels()),
        "native": sorted(names),
    }
