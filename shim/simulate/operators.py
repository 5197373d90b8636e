"""Writes the table of kernels that upstream has for MPS and CUDA, as C++: operators.py OUTPUT.
Kernels that no CPU kernel can compute have a table of their own.

It reads native_functions.yaml of the target torch with that torch's own torchgen, which needs
PyYAML. From headers of that torch it reads the names of the settings of CUDA's allocator, and the dtypes of
MPS's tensors.
CMakeLists.txt runs it.
"""

import ast
import os
import pathlib
import re
import sys

import torchgen
from torchgen.api import cpp
from torchgen.gen import parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey

# Keys of an accelerator's tensors, dense first, without keys that this torchgen does not know.
ACCELERATORS = {
    "mps": ("MPS", "SparseMPS", "SparseCsrMPS", "NestedTensorMPS", "QuantizedMPS"),
    "cuda": ("CUDA", "SparseCUDA", "SparseCsrCUDA", "NestedTensorCUDA", "QuantizedCUDA"),
}

# Composite ops whose CPU kernels choose by device inside, so they must be handled as a whole. Not
# `convolution`: the tracer of TorchScript records the call below it.
WHOLE = {
    "mps": ("_convolution", "convolution_backward", "linear"),
    "cuda": (
        "_convolution",
        "convolution_backward",
        "kaiser_window",
        "kaiser_window.beta",
        "kaiser_window.periodic",
    ),
}

# Ops that MPSFallback.mm of some version sends to the CPU, even without
# PYTORCH_ENABLE_MPS_FALLBACK. It does so until the op has a kernel, or the op of its name with _ in
# front, which it calls, has one. native_functions.yaml does not list them for MPS.
ALWAYS_ON_CPU = ("embedding_renorm_", "linalg_svd", "linalg_svd.U")

# Whose wrappers check the devices of all tensors (torchgen's device guard).
STRICT = ("cuda",)

CONVOLUTIONS = ("_convolution",)
INDEXING = (
    "index.Tensor",
    "index.Tensor_out",
    "index_put",
    "index_put_",
    "_index_put_impl_",
    "_unsafe_index.Tensor",
    "_unsafe_index_put",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
)
ANYWHERE = ("is_set_to",)
# Lists of tensors, each item with its own device.
PER_ITEM = ("_foreach_", "_fused_adam", "_fused_sgd", "_fused_adagrad", "_amp_foreach", "_chunk_cat")


def read():
    folder = os.path.join(os.path.dirname(torchgen.__file__), "packaged", "ATen", "native")
    return parse_native_yaml(
        os.path.join(folder, "native_functions.yaml"), os.path.join(folder, "tags.yaml")
    )


def kernel_groups(functions):
    """Op → the ops that share its kernel, functional form first: with in-place and `out`."""
    from torchgen.gen import get_grouped_native_functions
    from torchgen.model import NativeFunctionsGroup

    found = {}
    for group in get_grouped_native_functions(functions):
        members = list(group.functions()) if isinstance(group, NativeFunctionsGroup) else [group]
        found.update((str(each.func.name), members) for each in members)
    return found


def wrapper(function, key):
    """torchgen's name of the function that checks devices (dest/register_dispatch_key.py)."""
    name, overload = cpp.name(function.func), function.func.name.overload_name
    if function.structured or function.structured_delegate is not None:
        return f"wrapper_{key}_{overload}_{name}" if overload else f"wrapper_{key}_{name}"
    return f"wrapper_{key}_{overload}_{name}"


def check(name, function, strict):
    if name in CONVOLUTIONS:
        return "types"
    if name.startswith(PER_ITEM) or name in ANYWHERE:
        return "per_item"
    if name in INDEXING:
        return "indices"
    if strict and name not in WHOLE["cuda"] and function.device_check != DeviceCheckType.NoCheck:
        return "strict"
    return "common"


class Table:
    def __init__(self, parsed):
        self.functions = {str(each.func.name): each for each in parsed.native_functions}
        self.indices = parsed.backend_indices

    def runs_under(self, function, key):
        """Whether a kernel of a layout's key runs the op."""
        return self.has(function, key) or function.has_composite_explicit_autograd_kernel

    def unsimulated(self, keys, whole):
        """Kernels of the accelerator that no kernel of the CPU or of this folder computes."""
        dense, *others = keys
        for name, function in self.functions.items():
            if function.has_composite_implicit_autograd_kernel or name in whole:
                continue
            if self.has_dense(function, dense) and not self.runs_on_cpu(function):
                yield name, dense
            for key in others:
                if self.has(function, key) and not self.runs_under(function, on_cpu(key)):
                    yield name, key

    def has(self, function, key):
        index = self.indices.get(getattr(DispatchKey, key, None))
        return index is not None and index.has_kernel(function)

    def has_dense(self, function, key):
        """Whether it has a kernel, or the structured function to which it delegates has one."""
        delegate = function.structured_delegate
        return self.has(function, key) or (
            delegate is not None and self.has(self.functions[str(delegate)], key)
        )

    def runs_on_cpu(self, function):
        """Whether the op has a CPU kernel. An op that is composite on the CPU stays composite on
        the accelerator, and its parts are handled one by one."""
        return (
            self.has_dense(function, "CPU")
            or function.has_composite_explicit_autograd_kernel
            and not function.has_composite_implicit_autograd_kernel
        )

    def always_on_cpu(self):
        for name in ALWAYS_ON_CPU:
            own = [each for each in (name, f"_{name}") if each in self.functions]
            if own and not any(self.has_dense(self.functions[each], "MPS") for each in own):
                yield name

    def rows(self, keys, whole):
        """Kernels that a kernel of the CPU computes."""
        dense, *others = keys
        for name, function in self.functions.items():
            if name in whole or self.has_dense(function, dense) and self.runs_on_cpu(function):
                yield name, function, dense
            for key in others:
                if self.has(function, key) and self.runs_under(function, on_cpu(key)):
                    yield name, function, key


def header(path):
    """The text of a header of the target torch, without comments; empty if it has none."""
    file = pathlib.Path(torchgen.__file__).parents[1] / "torch" / "include" / path
    return re.sub("//.*", "", file.read_text(encoding="utf-8") if file.exists() else "")


def allocator_keys():
    """Names of the settings that are CUDA's own; none before torch 2.10, which checks no names here."""
    keys = re.search(
        r"unordered_set<std::string> keys\{([^}]*)\}", header("c10/cuda/CUDAAllocatorConfig.h")
    )
    return ast.literal_eval(f"({keys[1]},)") if keys else ()


def tensor_dtypes():
    """Dtypes of MPS's tensors, as it lists them for torch.accelerator.get_device_capability(); none
    before torch 2.12, which lists none."""
    return re.findall(r"kIndex_(\w+)", header("ATen/mps/MPSGuardImpl.h"))


def strings(name, texts):
    listed = ", ".join(f'"{text}"' for text in texts)
    return f"constexpr std::array<std::string_view, {len(texts)}> {name}{{{listed}}};"


def on_cpu(key):
    """SparseCPU for SparseMPS."""
    return next(key.removesuffix(each) for each in ("MPS", "CUDA") if key.endswith(each)) + "CPU"


def main():
    (output,) = sys.argv[1:]
    table = Table(read())
    lines = ["// Made by operators.py.", '#include "simulate/accelerator.h"', "", "#include <array>", ""]
    lines += ["namespace compat::shim::simulate {", "namespace {", ""]
    for accelerator, keys in ACCELERATORS.items():
        lines.append(f"constexpr Operator k_{accelerator}[] = {{")
        for name, function, key in table.rows(keys, WHOLE[accelerator]):
            lines.append(
                f'    {{"{name}", "{wrapper(function, key)}", c10::DispatchKey::{key}, '
                f'Check::{check(name, function, accelerator in STRICT)}}},'
            )
        lines += ["};", ""]
        rows = [
            f'    {{"{name}", c10::DispatchKey::{key}}},'
            for name, key in table.unsimulated(keys, WHOLE[accelerator])
        ]
        lines += [f"constexpr Unsimulated k_{accelerator}_unsimulated[] = {{", *rows, "};", ""]
    lines.append(strings("k_always_on_cpu", list(table.always_on_cpu())))
    lines.append(strings("k_allocator_keys", allocator_keys()))
    dtypes = [f"c10::ScalarType::{each}" for each in tensor_dtypes()]
    lines.append(
        f"constexpr std::array<c10::ScalarType, {len(dtypes)}> k_tensor_dtypes{{{', '.join(dtypes)}}};"
    )
    lines += ["", "}  // namespace", ""]
    for accelerator in ACCELERATORS:
        lines += [
            f"std::span<const Operator> {accelerator}_operators() noexcept {{ return k_{accelerator}; }}",
            f"std::span<const Unsimulated> {accelerator}_unsimulated() noexcept {{",
            f"    return k_{accelerator}_unsimulated;",
            "}",
        ]
    for function, table in (("mps_always_on_cpu", "k_always_on_cpu"), ("cuda_allocator_keys", "k_allocator_keys")):
        lines.append(f"std::span<const std::string_view> {function}() noexcept {{ return {table}; }}")
    lines.append(
        "std::span<const c10::ScalarType> mps_tensor_dtypes() noexcept { return k_tensor_dtypes; }"
    )
    lines += ["", "}  // namespace compat::shim::simulate", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
