"""Describes a value down to the bit, as text that two processes can compare."""

import hashlib

import torch
from torch.utils import _pytree as pytree


def describe(value):
    """Every leaf of `value`, in its order."""
    return [_leaf(leaf) for leaf in pytree.tree_leaves(value)]


def _leaf(leaf):
    if isinstance(leaf, torch.Tensor):
        return _tensor(leaf)
    if isinstance(leaf, torch.nn.Module):
        return describe(dict(leaf.state_dict()))
    if isinstance(leaf, float):
        return leaf.hex()
    if isinstance(leaf, complex):
        return leaf.real.hex() + "," + leaf.imag.hex()
    if isinstance(leaf, torch.Generator):
        return "Generator"
    if isinstance(leaf, torch.device):
        return _plain(str(leaf))
    if leaf is None or isinstance(leaf, (bool, int, str, torch.dtype, torch.layout, torch.Size)):
        return _plain(repr(leaf))
    return type(leaf).__qualname__


def _plain(text):
    """Where the one process says CUDA, the other has been told to say CPU."""
    return text.replace("cuda:0", "cpu").replace("cuda", "cpu")


def _tensor(tensor):
    detached = tensor.detach()
    if tensor.is_nested:
        return ["nested", str(tensor.dtype)] + [_tensor(part) for part in detached.unbind()]
    if tensor.layout == torch.sparse_coo:
        return _parts(tensor, detached._indices(), detached._values(), tensor.is_coalesced())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return _parts(tensor, detached.crow_indices(), detached.col_indices(), detached.values())
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return _parts(tensor, detached.ccol_indices(), detached.row_indices(), detached.values())
    if tensor.layout != torch.strided:
        return _parts(tensor, detached.to_dense())
    if tensor.is_meta:
        return f"meta {tensor.dtype} {tuple(tensor.shape)} {tensor.stride()}"
    if tensor.is_quantized:
        return _parts(tensor, detached.int_repr(), tensor.qscheme(), tensor.q_scale().hex())
    return f"{tensor.dtype} {tuple(tensor.shape)} {tensor.stride()} {_digest(detached)}" + (
        " requires_grad" if tensor.requires_grad else ""
    )


def _parts(tensor, *parts):
    told = [_tensor(part) if isinstance(part, torch.Tensor) else str(part) for part in parts]
    return [str(tensor.layout), str(tensor.dtype), str(tuple(tensor.shape))] + told


def _digest(tensor):
    parts = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    row = torch.empty(parts.numel(), dtype=parts.dtype).copy_(parts.resolve_neg().reshape(-1))
    if row.is_floating_point():
        row[row.isnan()] = float("nan")  # one bit pattern for all of them
    digest = hashlib.sha256(row.view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
    # The first numbers are for whoever reads about a difference.
    return f"{digest} {row[:3].tolist()}"
