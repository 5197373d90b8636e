"""Warm start: one process imports what most modules of a suite need, and is forked for each module.

The runner holds the other end of a socket whose messages are whole (SOCK_SEQPACKET). A request is
one message, words separated by NUL: the harness's arguments for the module, an empty word, the
module's own variables as NAME=VALUE; the write end of its log comes with it. The answers are
`ready THREADS` or `lost DEVICE` once, then `forked PID`, `refused WHY` or `later` (no process or
memory to spare).

What runs a module is the child of a child that has ended: its parent is then the runner, which
waits for it as for any other. It looks like a process that has imported the same and has run
nothing yet; docs/design/0003-warm-start.md names what stays different.

Not here: running the module (session.py), and what is believed of a module that was forked
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

# Out of the way of what suites look at, as those of events.py.
_SOCKET_DESCRIPTOR = 220
_LONGEST_REQUEST = 1 << 18

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9

# Bound before the suite's imports: torch's redirection wraps os._exit.
_exit, _fork = os._exit, os.fork

# Of torch's: a process forked from one that has initialised the device cannot use it.
_DEVICES = ("cuda", "mps", "xpu")

_imported = {}  # by the zygote for all: name → module


def serve(number, names):
    """Imports `names`, then forks on request. Returns in a forked process alone: the arguments of
    the module that it is to run."""
    runner = os.getppid()
    connection = _connection(number)
    before = set(sys.modules)
    for name in names:
        importlib.import_module(name)
    _imported.update((name, sys.modules[name]) for name in sys.modules.keys() - before)
    _imported[""] = _imported  # no collection looks at it: it is held for ever
    shim = sys.modules.get("compat_shim")
    counted = shim.counted() if shim is not None else None
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or each forked process would write it once more
    # Collections in the forked processes do not touch what they share with this one: it stays so.
    gc.freeze()
    connection.send(_fitness())
    while True:
        message, log = _receive(connection)
        try:
            pid = _fork_orphan()
        except OSError as error:
            passing = error.errno in (errno.EAGAIN, errno.ENOMEM)
            connection.send(b"later" if passing else b"refused " + os.strerror(error.errno).encode())
        else:
            if pid == 0:
                break
            connection.send(b"forked %d" % pid)
        os.close(log)

    connection.close()
    _die_with(runner)
    _skip_the_exit_of_libraries()
    for standard in (1, 2):
        os.dup2(log, standard)
    os.close(log)
    words, _, variables = message.partition(b"\0\0")
    argv = [os.fsdecode(word) for word in words.split(b"\0")]
    for variable in filter(None, variables.split(b"\0")):
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    _look_like(argv)
    _seed_anew()
    if shim is not None:
        shim.record_anew(counted)
    return argv


def _connection(number):
    fd = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _SOCKET_DESCRIPTOR)
    os.close(number)
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)


def _receive(connection):
    """The next request and its descriptor. There is nothing left to do here once the runner has
    hung up: what imports have registered for an exit is for those that run modules."""
    try:
        message, ancillary, _, _ = connection.recvmsg(
            _LONGEST_REQUEST, _socket.CMSG_SPACE(4), _socket.MSG_CMSG_CLOEXEC
        )
    except OSError:
        message = b""
    if not message:
        _exit(0)
    return message, int.from_bytes(ancillary[0][2], sys.byteorder)


def _fitness():
    """What a fork would find. A pool of threads that knows of forks (OpenBLAS's) ends itself before
    the first one."""
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
    """The id of a grandchild that the runner has as its own child; 0 in that process."""
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
        os.setsid()  # before anybody hears of it: the runner signals it by its group
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
    pid = int(answer or -errno.ECHILD)  # empty: the process between was killed
    if pid < 0:
        raise OSError(-pid, os.strerror(-pid))
    return pid


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Pointer(_ctypes._SimpleCData):
    _type_ = "P"


class _Function(_ctypes.CFuncPtr):
    _flags_, _restype_ = _ctypes.FUNCFLAG_CDECL, _Int


def _address(symbol):
    return _ctypes.dlsym(_ctypes.dlopen(None, 0), symbol)


def _die_with(runner):
    """As the runner asks for its other children before they are executed."""
    _Function(_address("prctl"))(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != runner:  # it was gone before
        _exit(1)


def _skip_the_exit_of_libraries():
    """When Python is finalized and what this process has loaded itself has been told of the exit,
    it ends: to take down the libraries that the zygote has loaded would copy most of what is
    shared. Here because C calls what was registered last first."""
    try:
        on_exit, leave = _Function(_address("on_exit")), _Pointer(_address("_exit"))
        at_exit, flush = _Function(_address("__cxa_atexit")), _Pointer(_address("fflush"))
    except OSError:  # a C library without them
        return
    on_exit(leave, None)  # called with the exit status
    at_exit(flush, None, None)


def _let_go_of_the_imported():
    """What the zygote has imported is not taken down either: Python finalizes the modules that it
    finds in sys.modules. Before that it would collect once more."""
    gc.collect()
    for name, module in _imported.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]


# The first to be registered is called last: after all that suites and their libraries have.
atexit.register(_let_go_of_the_imported)


def _look_like(argv):
    """What others read of this process: its arguments, and in COMPAT_JOB whose it is. The kernel
    shows the memory that both lay in at the start, so there they are written; arguments are cut to
    the room there is."""
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = sys.orig_argv[: sys.orig_argv.index("--zygote")] + argv
    with open("/proc/self/cmdline", "rb") as shown:
        program = shown.read().partition(b"\0--zygote\0")[0].split(b"\0")
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    arguments, arguments_end, variables, variables_end = map(int, fields[45:49])
    with open("/proc/self/mem", "r+b", 0) as memory:
        room = arguments_end - arguments
        text = b"\0".join(program + [os.fsencode(word) for word in argv])[: room - 1]
        memory.seek(arguments)
        memory.write(text.ljust(room, b"\0"))
        memory.seek(variables)
        block = b"\0" + memory.read(variables_end - variables)
        before, name, rest = block.partition(b"\0COMPAT_JOB=")
        room = len(rest.partition(b"\0")[0])
        job = os.environb.get(b"COMPAT_JOB", b"")
        if name and len(job) <= room:
            memory.seek(variables + len(before) + len(name) - 1)
            memory.write(job.ljust(room, b"\0"))


def _seed_anew():
    """numpy and torch draw a seed as they are imported: once for all that are forked. Python's own
    `random` sees to itself. A generator that the imports have given a seed is left alone: numpy's
    has no sequence of seeds then, torch's a small one, where a drawn one has 64 bits."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and numpy_random.get_bit_generator().seed_seq is not None:
        numpy_random.set_state(numpy_random.RandomState().get_state())
    torch = sys.modules.get("torch")
    if torch is not None and torch.initial_seed() >= 1 << 32:
        torch.default_generator.seed()
