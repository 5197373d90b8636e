"""Releases of torch that are made up, for tests: wheels with a few files and tiny libraries."""

import json
import struct
import zipfile

BEFORE, AFTER = "90.1.0", "90.2.0"


def elf(*texts, functions=None, calls=None, stripped=False):
    """A library for Linux with texts. `functions`: each of at::native loads its texts; `calls`: and these call one."""
    functions, calls = functions or {}, calls or {}
    # A linker lets a text be the end of another one.
    loaded = [each for some in functions.values() for each in some if not any(text.endswith(each) for text in texts)]
    rodata = b"\0" + b"\0".join(text.encode() for text in (*texts, *loaded)) + b"\0"
    text_at, code, strings, symbols, starts = 0x100000, b"", b"\0", b"", {}
    for name in (*functions, *calls):
        starts[name] = text_at + len(code)
        symbols += struct.pack("<IBBHQQ", len(strings), 2, 0, 1, starts[name], 1)
        strings += f"_ZN2at6native{len(name)}{name}Ev".encode() + b"\0"
        for text in functions.get(name, ()):
            code += b"\x48\x8d\x05" + struct.pack("<i", 64 + rodata.index(text.encode() + b"\0") - text_at - len(code) - 7)
        if name in calls:
            code += b"\xe8" + struct.pack("<i", starts[calls[name]] - text_at - len(code) - 5)
        code += b"\xc3"
    contents = {".rodata": rodata, ".text": code + bytes(8)} | ({} if stripped else {".symtab": symbols, ".strtab": strings})
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*contents, ".shstrtab"))
    contents[".shstrtab"] = names
    section, headers, body = struct.Struct("<IIQQQQ16x8x"), bytes(64), b""
    for name, content in contents.items():
        address = {".rodata": 64, ".text": text_at}.get(name, 0)
        headers += section.pack(names.index(name.encode()), 1, 0, address, 64 + len(body), len(content))
        body += content
    header = bytearray(64)
    struct.pack_into("<Q", header, 40, 64 + len(body))
    struct.pack_into("<HHH", header, 58, 64, len(contents) + 1, len(contents))
    return bytes(header) + body + headers


def mach_o(functions, alerts=(), kernels=(), minimum=14, calls=None):
    """A library for macOS: each function loads its texts, those in `alerts` call torch's function, and `calls` one each."""
    text_at, commands = 0x1000, 3
    order = ["alertNotDeterministic", *functions]
    texts = [text for each in functions.values() for text in each]
    strings = b"\0".join(text.encode() for text in texts) + b"\0"
    string_at = 0x4000
    place_of = {text: string_at + strings.index(text.encode()) for text in texts}
    code, starts = [], {}
    for register, name in enumerate(order):
        starts[name] = text_at + 4 * len(code)
        for text in functions.get(name, ()):
            here = text_at + 4 * len(code)
            page_of = (place_of[text] >> 12) - (here >> 12)
            code += [0x90000000 | (page_of & 3) << 29 | page_of >> 2 << 5 | register,
                     0x91000000 | (place_of[text] & 0xFFF) << 10 | register << 5 | register]
        for called in (*(["alertNotDeterministic"] if name in alerts else ()), *((calls or {}).get(name, ()))):
            here = text_at + 4 * len(code)
            code.append(0x94000000 | (starts[called] - here) // 4 & 0x3FFFFFF)
        code.append(0xD65F03C0)
    symbols, names = b"", b"\0"
    for name in order:
        symbols += struct.pack("<IBBHQ", len(names), 0x0F, 1, 0, starts[name])
        names += b"__ZN2at6native3mps" + f"{len(name)}{name}Ev".encode() + b"\0"
    metal = b"".join(b"NAME" + struct.pack("<H", len(name) + 1) + name.encode() + b"\0" for name in kernels)
    size = 32 + 72 + 2 * 80 + 24 + 24
    content = b"".join(struct.pack("<I", word) for word in code)
    offsets = (size, size + len(content), size + len(content) + len(strings))
    segment = struct.pack("<II", 0x19, 72 + 160) + bytes(56) + struct.pack("<II", 2, 0)
    for name, address, length, offset in ((b"__text", text_at, len(content), offsets[0]), (b"__cstring", string_at, len(strings), offsets[1])):
        segment += struct.pack("<16s16sQQI", name, b"__TEXT", address, length, offset) + bytes(28)
    table = struct.pack("<IIIIII", 2, 24, offsets[2], len(order), offsets[2] + len(symbols), len(names))
    build = struct.pack("<IIIIII", 0x32, 24, 1, minimum << 16, 0, 0)
    return struct.pack("<IIIIIIII", 0xFEEDFACF, 0, 0, 6, commands, size - 32, 0, 0) + segment + table + build + content + strings + symbols + names + metal


class Release:
    """The files of a made-up release, to be changed by a test."""

    def __init__(self):
        self.requires, self.tags = ">=3.11", ["cp311"]
        self.entry_points = "[torch.distributed.backends]\nnccl = torch.distributed.distributed_c10d:_register\n"
        self.texts, self.native, self.functions, self.alerts, self.kernels, self.minimum = ["a text of CUDA"], ["_cuda_init"], {"add_mps": ["adding two is not supported"]}, [], [], 14
        self.kernels_of_cuda, self.calls, self.settings = {"add_cuda": ["add has a text"]}, {}, ["max_split_size_mb"]
        self.texts_of_cpu, self.words, self.calls_of_mps = [], [], {}
        self.files = {
            "torch/cuda/__init__.py": "def synchronize(device=None):\n    return torch._C._cuda_init()\n",
            "torch/cuda/streams.py": "class _Given:\n    def one(self):\n        pass\ndef give() -> _Given:\n    return _Given()\ndef _check():\n    pass\n",
            "torch/_C/__init__.pyi": "class _CudaDeviceProperties:\n    name: str\n",
            "torch/cuda/properties.py": "def get() -> _CudaDeviceProperties:\n    pass\n",
            "torch/cuda/random.py": "LIMITS = [1, 2]\ndef seed():\n    raise RuntimeError('seed is not supported on CUDA')\n",
            "torch/nn/parallel/distributed.py": "class DistributedDataParallel:\n    def __init__(self, module):\n        pass\n",
            "torch/distributed/distributed_c10d.py": "import os\ndef _make():\n    return _old if os.environ.get('TORCH_DIST_X') == '1' else _new\n",
            "torch/testing/_internal/common_mps.py": "SUPPORTED_COMPLEX_OPS = {'a', 'b', 'c', 'd', 'e'}\n",
            "torch/include/ATen/detail/CUDAHooksInterface.h": "struct CUDAHooksInterface : AcceleratorHooksInterface {\n  virtual bool hasCUDA() const;\n};\n",
            "torch/include/c10/cuda/CUDAAllocatorConfig.h": "class CUDAAllocatorConfig {\n  size_t parseMaxSplitSize(int i);\n  size_t parseSpliceSize(int i);\n  static const Keys& getKeys() {\n    static Keys keys{\"backend\", \"one_\" \"two\", \"three\", \"four\"};\n    return keys;\n  }\n};\n",
            "torch/include/c10/core/impl/DeviceGuardImplInterface.h": "struct DeviceGuardImplInterface {\n  virtual void splice() const;\n};\n",
            "torch/include/ATen/mps/MPSGuardImpl.h": "C10_DIAGNOSTIC_PUSH(\"-Wunused\")\n\nstruct MPSGuardImpl : c10::impl::DeviceGuardImplInterface {\n  Cap getDeviceCapability(Device d) const override {\n    return kIndex_Byte | kIndex_Char | kIndex_Half;\n  }\n};\n",
        }
        self.ops = "- func: add(Tensor self) -> Tensor\n  dispatch:\n    CPU: add_cpu\n    CUDA: add_cuda\n- func: _int_mm(Tensor self) -> Tensor\n- func: splice(Tensor self) -> Tensor\n"

    def replace(self, end, old, new):
        path = next(each for each in self.files if each.endswith(end))
        assert old in self.files[path]
        self.files[path] = self.files[path].replace(old, new)

    def write(self, cache, version):
        folder = cache / "runner/tests/releases" / version
        folder.mkdir(parents=True)
        platforms = ("manylinux_2_28_x86_64", "macosx_14_0_arm64")
        (folder / "listed.json").write_text(json.dumps([[tag.rstrip("t"), tag, each] for tag in self.tags for each in platforms]))
        libraries = {
            "manylinux_2_28_x86_64": {f"torch/lib/{name}.so": elf() for name in ("libtorch_cuda_linalg", "libc10")}
            | {"torch/lib/libtorch_cpu.so": elf(*self.texts_of_cpu)}
            | {"torch/lib/libtorch_cuda.so": elf(*self.texts, functions=self.kernels_of_cuda, calls=self.calls), "torch/lib/libtorch_python.so": elf(*self.native, functions={"bind": self.words}),
               "torch/lib/libc10_cuda.so": elf(*self.settings)},
            "macosx_14_0_arm64": {"torch/lib/libtorch_cpu.dylib": mach_o(self.functions, self.alerts, self.kernels, self.minimum, self.calls_of_mps),
                                  "torch/lib/libtorch_python.dylib": b"", "torch/lib/libc10.dylib": b""},
        }
        for platform, files in libraries.items():
            info = f"torch-{version}.dist-info"
            with zipfile.ZipFile(folder / f"torch-{version}-cp311-cp311-{platform}.whl", "w") as wheel:
                wheel.writestr(f"{info}/METADATA", f"Name: torch\nRequires-Python: {self.requires}\n")
                wheel.writestr(f"{info}/entry_points.txt", self.entry_points)
                wheel.writestr("torchgen/packaged/ATen/native/native_functions.yaml", self.ops)
                for name, content in {**self.files, **files}.items():
                    wheel.writestr(name, content)
