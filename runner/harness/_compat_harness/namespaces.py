"""A forked module's own sandbox: new namespaces inside that of the zygote.

    zygote ─ fork ─► between: makes the namespaces, exits
                     └─ fork ─► init, process 1 of them: becomes the runner's program that waits
                                └─ fork ─► the module's process

The module's process has no capability and waits for the runner's word. It sees no process but its
own, has a loopback interface of its own, and empty temporary folders. docs/design/isolation.md says
why each is needed.

Not here: the zygote's sandbox, which bubblewrap makes (runner/run/isolation), and modules that are
not forked (runner/exec/linux/sandbox_init.cc).
"""

import _socket
import errno
import fcntl
import json
import os
import struct
import traceback

import _ctypes

_NEW_NAMESPACES = 0x00020000 | 0x08000000 | 0x10000000 | 0x20000000  # mount, IPC, user, process
_NEW_NETWORK = 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_BIND, _MS_REC = 4096, 16384
_CAPABILITY_VERSION_3 = 0x20080522
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

_exit, _mkdir, _open = os._exit, os.makedirs, os.open


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Long(_ctypes._SimpleCData):
    _type_ = "L"


class _Text(_ctypes._SimpleCData):
    _type_ = "z"


class _Function(_ctypes.CFuncPtr):
    _flags_, _restype_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO, _Int


def settings():
    """The runner's settings of the sandbox; None outside one."""
    text = os.environ.pop("COMPAT_SANDBOX", None)
    # Root's /proc is read-only; this descriptor is of one that is not, and shows only processes.
    processes = os.environ.pop("COMPAT_SANDBOX_PROCESSES", None)
    if text is None:
        return None
    if processes is not None:
        processes = int(processes)
        os.set_inheritable(processes, False)
    return {**json.loads(text), "processes": processes}


def fork(sandbox, job, writable, fork_process):
    """Forks a module's process into namespaces of its own. 0 in that process, once the runner says
    `go`; elsewhere 1. `job`: the descriptor of the module's socket to the runner. `writable`: the
    one folder of the run's that it may write to."""
    reading, writing = os.pipe()
    child = fork_process()
    if child != 0:
        os.close(writing)
        answer = os.read(reading, 1 << 10)
        os.close(reading)
        os.waitpid(child, 0)
        number = int(answer or errno.ECHILD)  # empty: a process between was killed
        if number != 0:
            raise OSError(number, os.strerror(number))
        return 1
    os.close(reading)
    try:
        _enter(sandbox)
        if fork_process() != 0:
            _exit(0)
        _mount(sandbox)
        _keep_writable(writable, sandbox["attempts"])
        leader = fork_process()
    except BaseException as error:  # never back into the zygote's code
        traceback.print_exc()
        os.write(writing, b"%d" % (getattr(error, "errno", None) or errno.EIO))
        _exit(1)
    if leader != 0:
        os.write(writing, b"0")
        _become_init(sandbox, job, leader)
    os.close(writing)
    os.setsid()
    _drop_capabilities()
    os.write(job, b"leader")
    if os.read(job, 64) != b"go":
        _exit(1)
    os.close(job)
    return 0


def _call(name, *arguments):
    if _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), name))(*arguments) != 0:
        number = _ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _enter(sandbox):
    user, group = os.getuid(), os.getgid()
    processes = sandbox["processes"]
    own = "/proc/self" if processes is None else "self"
    flags = _NEW_NAMESPACES | (0 if sandbox["network"] else _NEW_NETWORK)
    _call("unshare", _Int(flags))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        descriptor = _open(f"{own}/{name}", os.O_WRONLY, dir_fd=processes)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    if processes is not None:
        os.close(processes)  # it shows the processes of other modules
    if not sandbox["network"]:
        _start_loopback()


def _start_loopback():
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))
    any_socket.close()


def _mount_one(source, target, kind, flags, data=None):
    words = [_Text(os.fsencode(word) if word else None) for word in (source, target, kind)]
    _call("mount", *words, _Long(flags), _Text(data))


def _mount(sandbox):
    """In the new process namespace: its /proc, and empty temporary folders."""
    read_only = 0 if sandbox["processes"] is None else _MS_RDONLY
    _mount_one("proc", "/proc", "proc", read_only | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    kept = [(path, _open(path, os.O_PATH)) for path in sandbox["keep"]]
    for folder, mode in sandbox["fresh"]:
        options = f"mode={mode},size={sandbox['bytes']}".encode()
        _mount_one("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, options)
    for path, descriptor in kept:
        _mkdir(path, exist_ok=True)
        _mount_one(f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)
        os.close(descriptor)


def _keep_writable(folder, attempts):
    """Makes all of `attempts` read-only but this folder."""
    _mount_one(folder, folder, None, _MS_BIND)
    # A remount may take no flag away that this user namespace has inherited.
    flags = os.statvfs(attempts).f_flag & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount_one(None, attempts, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def _become_init(sandbox, job, leader):
    """Replaces process 1 by a small program: the zygote's memory is then the module's alone. It gets
    none of the suite's variables, of which some decide what a program loads."""
    for standard in (1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), standard)
    os.set_inheritable(job, True)
    program = sandbox["init"]
    try:
        held = {sandbox["held"] + "TMPDIR": os.environ.get("TMPDIR", "")}
        os.execve(program[0], [*program, "of", str(leader), str(job)], held)
    finally:
        _exit(1)


def _drop_capabilities():
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _call("capset", _Text(header), _Text(bytes(24)))
