"""For every maker: the seed of a name and the forms of an answer.

Not here: anything that imports the suite's packages at its top.
"""

import hashlib


def seed_of(name):
    """The same for the same name in each process and on each machine; 32 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def seed_everything(name):
    """Seeds Python's, numpy's and torch's generators by the name."""
    import random

    random.seed(seed_of(name))
    try:
        import numpy

        numpy.random.seed(seed_of(name))
    except ImportError:
        pass
    try:
        import torch

        torch.manual_seed(seed_of(name))
    except ImportError:
        pass


def missing(why, status=404):
    """The answer that there is no such thing."""
    return {"missing": why, "status": status}


def listing(folder):
    """The files below the folder, as an answer names them."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    for path in files:
        path.chmod(0o644)  # safetensors writes for the owner alone
    return [{"path": p.relative_to(folder).as_posix(), "at": str(p)} for p in files]


def found(folder, kind, why, **info):
    """An answer with all files of the folder. `kind`: the class that was made, or a phrase."""
    return {"files": listing(folder), "info": info, "class": kind, "why": why}
