"""Refuses extensions with CUDA sources before a compiler is looked for: their kernels would be given
addresses of the host. CUDA_HOME stays what the host has, and other extensions are built."""

import inspect

from .. import importing, patching, refusal

_WHY = "a CUDA kernel cannot run where tensors are in the host's memory"
_INSTEAD = "build the sources for the CPU with CppExtension, or leave them out"
_MODULE = "torch.utils.cpp_extension"


def apply(library):
    importing.after(_MODULE, lambda module: _refuse(module, library))


def _refuse(module, library):
    def refused(symbol):
        refusal.refuse(library, f"{_MODULE}.{symbol}", _WHY, _INSTEAD)

    def extension(build):
        return lambda *args, **kwargs: refused("CUDAExtension")

    def just_in_time(build):
        """_jit_compile, which load and load_inline call."""
        signature = inspect.signature(build)

        def _jit_compile(*args, **kwargs):
            given = signature.bind(*args, **kwargs).arguments
            with_cuda, sources = given.get("with_cuda"), given.get("sources", ())
            sources = [sources] if isinstance(sources, str) else sources
            if with_cuda or with_cuda is None and any(map(module._is_cuda_file, sources)):
                refused("load")
            return build(*args, **kwargs)

        return _jit_compile

    patching.patch(_MODULE, "CUDAExtension", extension)
    patching.patch(_MODULE, "_jit_compile", just_in_time)
