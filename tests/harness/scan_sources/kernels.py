import cupy as cp
import pynvml
import torch
import triton
import triton.language as tl
from numba import cuda
from torch.utils.cpp_extension import CUDAExtension, load

from . import wrappers
from .wrappers import init_process_group, synchronize


@triton.jit
def add(x, y, n: tl.constexpr):
    tl.store(x, tl.load(y))


@cuda.jit
def scale(x):
    i = cuda.grid(1)
    x[i] *= 2


square = cp.RawKernel("__global__ void square() {}", "square")
fast = load("fast", sources=["fast.cpp", "fast_kernel.cu"])
plain = load("plain", sources=["plain.cpp"])
extension = CUDAExtension("fast", ["fast.cu"])


def use():
    pynvml.nvmlInit()
    synchronize()
    init_process_group("nccl-like")
    wrappers.cuda.Stream()
    torch.synchronize_everything()
