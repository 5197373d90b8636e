"""Code inside torch that really needs the CPU: in mode `full` on an accelerator all other requests
for the CPU go to the device. The library uses this data (redirect/force.h).
tests/sweep/host_callers.py removes each row to show that it is needed."""

import os
from typing import NamedTuple


class HostCaller(NamedTuple):
    """`file`: a module's path in torch's package, or a folder's, ending in a slash. `function`: one
    of its functions, or empty for all. `why`: what needs host memory there."""

    file: str
    function: str
    why: str


HOST_CALLERS = (
    HostCaller(
        "_dynamo/variables/torch_function.py",
        "populate_builtin_to_tensor_fn_map",
        "torch 2.8 fills a table by it at import, maybe before a fork",
    ),
    HostCaller("_utils.py", "", "tensors are built over storages that are there already"),
    HostCaller("autograd/graph.py", "_engine_run_backward", "gradients are where their tensors are"),
    HostCaller("export/pt2_archive/", "", "the parts of an archive are read into host memory"),
    HostCaller("jit/_serialization.py", "", "storages are read into host memory, and then moved"),
    HostCaller("nn/utils/rnn.py", "", "the lengths of packed sequences must be on the host"),
    HostCaller("storage.py", "", "copies of a storage in host memory, to write or print it"),
    HostCaller("utils/data/", "", "samplers read their numbers, workers send host memory"),
)


def paths(package):
    """(prefix of a file name, function) of each row, and our own files. `package` is torch's
    folder."""
    own = os.path.dirname(os.path.dirname(__file__)) + os.sep
    return [(own, "")] + [
        (os.path.join(package, *caller.file.split("/")), caller.function) for caller in HOST_CALLERS
    ]
