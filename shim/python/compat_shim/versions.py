"""The version of torch, while it is being imported too."""

import functools


@functools.lru_cache(maxsize=None)
def at_least(version):
    """`version`: (2, 14), say."""
    from torch import version as torch

    return tuple(int(part) for part in torch.__version__.split(".")[:2]) >= version
