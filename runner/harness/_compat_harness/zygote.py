"""Warm start: one process imports what most modules of a suite need, then forks for each module.

The runner talks to it over a SOCK_SEQPACKET socket. A request is one message of words separated by
NUL: the harness's arguments for the module, last the key of its events, an empty word, and the
module's environment variables as NAME=VALUE. The write end of the module's log comes with it, and
in a sandbox the module's socket to the runner (namespaces.py). The first answer is `ready THREADS`
or `lost WHAT`; then each request gets `forked PID`, `refused WHY` or `later` (out of processes or
memory).

The process forks twice and the process between exits, so that the runner becomes the module's
parent and waits for it as for other children. docs/design/0003-warm-start.md lists the differences
from a process of its own.

Not here: running the module (session.py), and which results of a forked module are final
(runner/plan).
"""

import _socket
import atexit
import errno
import fcntl
import gc
import importlib
import os
import sys
import time

import _ctypes

from _compat_harness import namespaces, torch_hook

# A high number that suites do not use, as in events.py.
_SOCKET_DESCRIPTOR = 220
_LONGEST_REQUEST = 1 << 18

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9

# Bound before the suite's imports: the shim wraps os._exit.
_exit, _fork = os._exit, os.fork

# torch devices that a forked process cannot use once its parent has initialised them.
_DEVICES = ("cuda", "mps", "xpu")

_imported = {}  # name → module, imported by the zygote and shared by all forked processes


def serve(number, names):
    """Imports `names`, then forks on request. Returns only in a forked process, with the arguments
    of the module to run."""
    runner = os.getppid()
    sandbox = namespaces.settings()
    connection = _connection(number)
    before = set(sys.modules)
    torch_hook.watch_import(lambda: False)
    for name in names:
        importlib.import_module(name)
    _imported.update((name, sys.modules[name]) for name in sys.modules.keys() - before)
    _imported[""] = _imported  # a reference cycle in frozen objects: never freed
    shim = sys.modules.get("compat_shim")
    counted = shim.counted() if shim is not None else None
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # otherwise each forked process would write the buffer again
    # The collector of a forked process must not write to memory shared with this one.
    gc.freeze()
    connection.send(_readiness())
    while True:
        message, log, job = _receive(connection)
        try:
            pid = _fork_orphan() if job is None else _fork_in_sandbox(sandbox, job, message)
        except OSError as error:
            temporary = error.errno in (errno.EAGAIN, errno.ENOMEM)
            reason = b"refused " + os.strerror(error.errno).encode()
            connection.send(b"later" if temporary else reason)
        else:
            if pid == 0:
                break
            connection.send(b"forked %d" % pid)
        os.close(log)
        if job is not None:
            os.close(job)

    connection.close()
    if job is None:
        _die_with(runner)
    _skip_library_teardown()
    for standard in (1, 2):
        os.dup2(log, standard)
    os.close(log)
    words, _, variables = message.partition(b"\0\0")
    argv, key = _without_key([os.fsdecode(word) for word in words.split(b"\0")])
    for variable in filter(None, variables.split(b"\0")):
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    _set_process_title(argv)
    _reseed()
    if shim is not None:
        shim.record_anew(counted)
    return argv + key


def _without_key(argv):
    """The arguments that any process may read, and those that hold the events' key."""
    at = argv.index("--key") if "--key" in argv[-2:] else len(argv)
    return argv[:at], argv[at:]


def _connection(number):
    fd = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _SOCKET_DESCRIPTOR)
    os.close(number)
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)


def _receive(connection):
    """The next request, the descriptor of its log, and that of its socket or None. Exits when the
    runner has closed the connection, without atexit functions: those are for the processes that run
    modules."""
    try:
        message, ancillary, _, _ = connection.recvmsg(
            _LONGEST_REQUEST, _socket.CMSG_SPACE(8), _socket.MSG_CMSG_CLOEXEC
        )
    except OSError:
        message = b""
    if not message:
        _exit(0)
    descriptors = memoryview(ancillary[0][2]).cast("i").tolist()
    return (message, *descriptors, None)[:3]


def _readiness():
    """The first answer: the state after a fork. The first fork also ends thread pools that handle
    forks (OpenBLAS), so that they are not counted. With a process group nothing is forked: its
    threads hold locks and its sockets belong to one rank."""
    distributed = sys.modules.get("torch.distributed")
    if getattr(distributed, "is_initialized", bool)():
        return b"lost a process group"
    child = _fork()
    if child == 0:
        lost = 0
        try:
            for number, name in enumerate(_DEVICES, 1):
                module = sys.modules.get("torch." + name)
                if getattr(module, "_is_in_bad_fork", bool)():
                    lost = number
        finally:
            _exit(lost)
    _, status = os.waitpid(child, 0)
    lost = os.waitstatus_to_exitcode(status)
    if lost > 0:
        return b"lost " + _DEVICES[lost - 1].encode()
    return b"ready %d" % len(os.listdir("/proc/self/task"))


def _fork_orphan():
    """Forks a grandchild that becomes the runner's child. Returns its id; 0 in that process."""
    reading, writing = os.pipe()
    child = _fork()
    if child == 0:
        between = os.getpid()
        try:
            pid = _fork()
        except OSError as error:
            os.write(writing, b"-%d" % error.errno)
            _exit(1)
        if pid != 0:
            _exit(0)
        os.setsid()  # before its id is sent: the runner signals its process group
        os.write(writing, b"%d" % os.getpid())
        os.close(reading)
        os.close(writing)
        while os.getppid() == between:
            time.sleep(0.0002)
        return 0
    os.close(writing)
    answer = os.read(reading, 1 << 10)
    os.close(reading)
    os.waitpid(child, 0)
    pid = int(answer or -errno.ECHILD)  # empty: the intermediate process was killed
    if pid < 0:
        raise OSError(-pid, os.strerror(-pid))
    return pid


def _fork_in_sandbox(sandbox, job, message):
    words = [os.fsdecode(word) for word in message.partition(b"\0\0")[0].split(b"\0")]
    events = words[words.index("--events") + 1]
    return namespaces.fork(sandbox, job, os.path.dirname(events), _fork)


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Pointer(_ctypes._SimpleCData):
    _type_ = "P"


class _Function(_ctypes.CFuncPtr):
    _flags_, _restype_ = _ctypes.FUNCFLAG_CDECL, _Int


def _address(symbol):
    return _ctypes.dlsym(_ctypes.dlopen(None, 0), symbol)


def _die_with(runner):
    """Ends this process when the runner dies, as the runner sets it up for its other children."""
    _Function(_address("prctl"))(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != runner:  # it died before the call
        _exit(1)


def _skip_library_teardown():
    """Registers an exit function that ends the process before the libraries loaded by the zygote
    are torn down, which would copy most of the shared memory. C calls exit functions in reverse
    order: those of libraries that this process loads later still run."""
    try:
        on_exit, leave = _Function(_address("on_exit")), _Pointer(_address("_exit"))
        at_exit, flush = _Function(_address("__cxa_atexit")), _Pointer(_address("fflush"))
    except OSError:  # a C library without them
        return
    on_exit(leave, None)  # called with the exit status
    at_exit(flush, None, None)


def _keep_imported_modules():
    """Removes the zygote's modules from sys.modules so that Python does not finalize them. Collects
    garbage first, as Python would before finalizing."""
    gc.collect()
    for name, module in _imported.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]


# Registered first, so called last: after the functions of suites and their libraries.
atexit.register(_keep_imported_modules)


def _set_process_title(argv):
    """Sets the arguments and COMPAT_JOB that /proc shows for this process. The kernel shows the
    memory that held them at the start, so both are written there; arguments are cut to fit. Not
    through /proc/self/mem: root's /proc in a sandbox is read-only."""
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = sys.orig_argv[: sys.orig_argv.index("--zygote")] + argv
    with open("/proc/self/cmdline", "rb") as shown:
        program = shown.read().partition(b"\0--zygote\0")[0].split(b"\0")
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    arguments, arguments_end, variables, variables_end = map(int, fields[45:49])
    room = arguments_end - arguments
    text = b"\0".join(program + [os.fsencode(word) for word in argv])[: room - 1]
    _write_memory(arguments, text.ljust(room, b"\0"))
    with open("/proc/self/mem", "rb", 0) as memory:
        memory.seek(variables)
        block = b"\0" + memory.read(variables_end - variables)
    before, name, rest = block.partition(b"\0COMPAT_JOB=")
    room = len(rest.partition(b"\0")[0])
    job = os.environb.get(b"COMPAT_JOB", b"")
    if name and len(job) <= room:
        _write_memory(variables + len(before) + len(name) - 1, job.ljust(room, b"\0"))


def _write_memory(address, data):
    _Function(_address("memmove"))(_Pointer(address), data, _Pointer(len(data)))


def _reseed():
    """Reseeds numpy and torch, which draw a seed on import: forked processes would share it. Python
    reseeds `random` itself. A generator that an import has seeded keeps its seed: numpy's then has
    no seed sequence; torch's has a seed below 2**32, where a drawn seed has 64 bits."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and numpy_random.get_bit_generator().seed_seq is not None:
        numpy_random.set_state(numpy_random.RandomState().get_state())
    torch = sys.modules.get("torch")
    if torch is not None and torch.initial_seed() >= 1 << 32:
        torch.default_generator.seed()
