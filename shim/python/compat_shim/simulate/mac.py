"""A simulated Mac's answers outside torch: how processes start, and with --mac-like which system
this is. It needs no torch, because programs ask before they import it."""

import functools
import os
import sys

from .. import importing, record, settings

ARM = "arm64"
# Packages that make or load binaries for this machine, so that they need the host's own answers; so do
# Python's modules.
TOLD_THE_TRUTH = frozenset(
    "torch functorch torchgen triton packaging pip setuptools pkg_resources distutils "
    "_distutils_hack wheel build mesonbuild skbuild scikit_build_core cmake ninja pybind11 Cython "
    "cffi pycparser numpy scipy numba llvmlite psutil auditwheel".split()
)
# From 3.10 on Python lists its own; before, they are told apart by their folder.
_OWN_NAMES = getattr(sys, "stdlib_module_names", frozenset())
_OWN_FOLDER = os.path.dirname(os.__file__) + os.sep
_BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")  # has sw_vers


def install(environ=os.environ):
    """In each process of a program that sees a simulated Mac, before it runs."""
    if environ.get("TORCHDEVICE_SIMULATE") != "mps":
        return
    try:
        mac = settings.mac(environ)
    except ImportError:
        return  # the import of torch will say it
    # The second is a copy of the first, with another pickle.
    for package in ("multiprocessing", "multiprocess"):
        importing.after(f"{package}.context", functools.partial(_start_by, mac.start_method))
    system = _System(mac.macos)
    importing.after("platform", lambda module: _answer(module, system, mac.alike))
    _replace(os, "uname", "os.uname", system.uname_of_os if mac.alike else None)
    if mac.alike and _BIN not in environ.get("PATH", "").split(os.pathsep):
        environ["PATH"] = os.pathsep.join(filter(None, (_BIN, environ.get("PATH"))))


def _start_by(method, context):
    """Python's default: fork on Linux, forkserver from 3.14 on, spawn on a Mac."""
    default = context._default_context
    default._default_context = context._concrete_contexts[method]

    def default_first(list_all):
        @functools.wraps(list_all)
        def get_all_start_methods(self):
            return sorted(list_all(self), key=lambda name: name != method)

        return get_all_start_methods

    context.DefaultContext.get_all_start_methods = default_first(
        context.DefaultContext.get_all_start_methods
    )


class _System:
    """A Mac's answers. `macos`: major, minor."""

    def __init__(self, macos):
        major, minor = macos
        self._release = f"{major}.{minor}"
        # Darwin 23 is macOS 14, 24 is 15, 25 is 26.
        darwin = f"{major - 1 if major > 25 else major + 9}.{min(minor, 6)}.0"
        self._kernel = (darwin, f"Darwin Kernel Version {darwin}: simulated; root:xnu/RELEASE_ARM64")

    def uname_of_os(self, real):
        _, node, *_ = real()
        return os.uname_result(("Darwin", node, *self._kernel, ARM))

    def answers(self, platform):
        """By function of the module `platform`; each is called with the real one and its arguments."""

        def uname(real):
            result = platform.uname_result("Darwin", real().node, *self._kernel, ARM)
            vars(result)["processor"] = "arm"
            return result

        def whole(real, aliased=0, terse=0):
            linkage = "-Mach-O" if sys.version_info >= (3, 13) else ""
            return f"macOS-{self._release}" + ("" if terse else f"-{ARM}-arm-64bit{linkage}")

        return {
            "system": lambda real: "Darwin",
            "machine": lambda real: ARM,
            "processor": lambda real: "arm",
            "release": lambda real: self._kernel[0],
            "version": lambda real: self._kernel[1],
            "mac_ver": lambda real, *args, **kwargs: (self._release, ("", "", ""), ARM),
            "libc_ver": lambda real, executable=None, lib="", version="", chunksize=0: (lib, version),
            "uname": uname,
            "platform": whole,
        }


def _answer(platform, system, alike):
    for name, answer in system.answers(platform).items():
        _replace(platform, name, f"platform.{name}", answer if alike else None)


def _replace(module, name, symbol, answer):
    """Have each question of the program written down, and answered by `answer` if there is one."""
    real = getattr(module, name)

    @functools.wraps(real)
    def question(*args, **kwargs):
        caller = sys._getframe(1)
        if _is_told_the_truth(caller):
            return real(*args, **kwargs)
        record.note(record.PLATFORM, symbol, caller)
        return answer(real, *args, **kwargs) if answer else real(*args, **kwargs)

    setattr(module, name, question)


def _is_told_the_truth(frame):
    names = frame.f_globals
    # With `python -m package` the name is __main__.
    package = str(names.get("__package__") or names.get("__name__") or "").partition(".")[0]
    if package in TOLD_THE_TRUTH or package in _OWN_NAMES or package.startswith("compat_"):
        return True
    file = frame.f_code.co_filename
    return file.startswith(_OWN_FOLDER) and "site-packages" not in file
