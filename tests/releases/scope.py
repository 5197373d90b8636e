"""Which modules, names and texts of torch's Python concern devices and process groups."""

import re

# Modules that speak of devices, process groups, or what a device's memory and randomness are.
SCOPE = re.compile(
    r"torch\.(?:cuda|mps|accelerator|amp|backends|random|storage|serialization|profiler|_dynamo\.device_interface"
    r"|_tensor|utils\.cpp_extension|utils\.data\._utils\.pin_memory|nn\.attention|nn\.parallel|multiprocessing\.reductions"
    r"|_inductor\.codegen\.(?:common|mps))(?:\.|$)|torch\.distributed(?:\.\w+)?$"
)
ELSEWHERE = re.compile(
    r"torch\.(?:backends|profiler)\.(?!cuda|cudnn|mps|profiler)|\.(?:xpu|mtia|tunable|_memory_viz|_cuspy)\b"
    r"|^torch\.distributed\.(?:run|launch|argparse_util|remote_device)"
)
# Modules whose every public name counts; elsewhere a name counts that speaks of a device.
WHOLE = re.compile(
    r"torch\.(?:cuda|mps|accelerator|amp|backends\.(?:cuda|cudnn|mps)|nn\.parallel|_dynamo\.device_interface|_inductor\.codegen\.mps)(?:\.|$)"
    r"|torch\.distributed(?:\.distributed_c10d|\.(?:fsdp|algorithms))?$"
)
# Packages of torch.distributed with many modules: what they show counts.
DEEP = re.compile(r"torch\.distributed\.(?:fsdp|tensor|algorithms|pipelining)$")
OURS = {"cuda", "mps", "nccl", "accelerator"}
# Members by which Python or another library asks an object for something.
PROTOCOL = re.compile(r"__(?:dlpack\w*|cuda_\w+|c?array\w*)__")
# Modules whose code compilers run and hand on, where a class of an error is theirs.
COMPILERS = re.compile(r"torch\.(?:_dynamo|_inductor|_export|export|fx|_functorch|_higher_order_ops|jit|package|distributed)(?:\.|$)")
# torch._C's names that only a build with the device has, as our names.py removes them.
OF_CUDA = re.compile(r"_(?:cuda|cudnn|cudart|cusparselt|gds|nccl|nvtx)|_Cuda|_CUDA|_graph_pool|_MemPool")
OF_METAL = re.compile(r"_mps_|_MPS|\w*MPS")
TABLES = "shim/python/compat_shim/cuda/tables.py"
HOOKS, MPS = "shim/simulate/accelerator.h", "shim/python/compat_shim/simulate/mps.py"
BACKEND = "shim/simulate/nccl/module.cc"
MPS_RULES, CUDA_RULES = "shim/simulate/mps_refusals.json", "shim/simulate/cuda_refusals.json"
DTYPES, OPERATORS = "shim/simulate/cuda_dtypes.json", "shim/simulate/operators.py"
OWN = "torch's own Python"
# Names of tuning and of other devices.
ASIDE = re.compile(
    r"(?<![^\W_])(?:rocm|hip|amd\w*|xpu|sycl|mtia|tpu|experimental|halide|ck|cutlass\w*|helion|pallas|jax|test\w*|autotune|benchmark\w*"
    r"|cudagraphs?|triton|tunable\w*)(?![^\W_])"
    r"|XpuInterface|MtiaInterface", re.I
)
OTHERS = re.compile(r"_?(?i:xpu|mtia|hpu)(?![a-z])")
# A text that refuses something, and words of devices and groups.
REFUSAL = re.compile(r"\bnot\b|must|only|n't|expect|cannot|requires?\b|unsupported|no viable", re.I)
OF_DEVICES = re.compile(r"cuda|mps|nccl|device|accelerator|stream|gpu", re.I)
# Parameters and texts of functions that are about more than devices.
PARAMETER = re.compile(rf"{OF_DEVICES.pattern}|backend|graph|dtype|pin_|arch|sources|memory", re.I)


def public(name, definitions=()):
    """Whether a name is for others: no part of it is private or defined inside a function."""
    parts = name.split(".")
    owners = (".".join(parts[:count]) for count in range(1, len(parts)))
    return not any(part.startswith("_") and part != "__init__" and not PROTOCOL.fullmatch(part) for part in parts) and all(
        definitions[owner]["kind"] == "class" for owner in owners if owner in definitions
    )


def table_of(module):
    if module.startswith("torch.distributed"):
        return BACKEND
    return MPS if module.startswith("torch.mps") else HOOKS if module.startswith("torch.accelerator") else TABLES
