"""Code inside torch whose own requests for the CPU are meant: in mode `full` on an accelerator all
others go to the device. Data for the library (redirect/force.h); which of them are needed is what
tests/sweep/host_callers.py shows by leaving each out."""

import os
from typing import NamedTuple


class HostCaller(NamedTuple):
    """`file`: a module's path in torch's package, or a folder's, which ends in a slash. `function`:
    one of its functions, or empty for all. `why`: what needs host memory there."""

    file: str
    function: str
    why: str


HOST_CALLERS = (
    HostCaller("_utils.py", "", "tensors are built over storages that are there already"),
    HostCaller("autograd/graph.py", "_engine_run_backward", "gradients are where their tensors are"),
    HostCaller("export/pt2_archive/", "", "the parts of an archive are read into host memory"),
    HostCaller("jit/_serialization.py", "", "storages are read into host memory, and then moved"),
    HostCaller("nn/utils/rnn.py", "", "the lengths of packed sequences must be on the host"),
    HostCaller("storage.py", "", "copies of a storage in host memory, to write or print it"),
    HostCaller("utils/data/", "", "samplers read their numbers, workers send host memory"),
)


def paths(package):
    """(beginning of a file's name, function) of each, with our own files: `package` is torch's
    folder."""
    own = os.path.dirname(__file__) + os.sep
    return [(own, "")] + [
        (os.path.join(package, *caller.file.split("/")), caller.function) for caller in HOST_CALLERS
    ]
