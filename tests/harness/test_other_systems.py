"""The harness where Linux's own calls do not exist, as on macOS. A start-up file takes them away; the
interpreter and the kernel stay Linux's, so that this says nothing about macOS itself."""

import sys

import support

TAKEN_AWAY = """
import builtins, fcntl, io, os, select, signal, socket, sys
sys.platform = "darwin"
for module, names in {
    fcntl: "F_GETPIPE_SZ F_SETPIPE_SZ F_ADD_SEALS",
    os: "pipe2 memfd_create pidfd_open eventfd sched_getaffinity sched_setaffinity splice copy_file_range"
        " posix_fallocate posix_fadvise getrandom O_TMPFILE O_PATH waitid sendfile",
    select: "epoll EPOLLIN",
    signal: "sigwaitinfo sigtimedwait pidfd_send_signal",
    socket: "SOCK_SEQPACKET SOCK_CLOEXEC SOCK_NONBLOCK MSG_CMSG_CLOEXEC",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
# Imported nowhere: warm start alone calls the C library.
sys.modules["_ctypes"] = None
def without_proc(opened):
    def checked(file, *arguments, **keywords):
        assert not str(file).startswith(("/proc", "/sys")), file
        return opened(file, *arguments, **keywords)
    return checked
builtins.open = io.open = without_proc(io.open)
os.open = without_proc(os.open)
"""

MODULE = """
import os, unittest
class T(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.assertEqual(1, 2)
    @unittest.skip("no")
    def test_skipped(self): pass
"""


def test_the_harness_needs_no_call_of_linux(framework, interpreter, root, tmp_path):
    support.write(tmp_path / "start", {"sitecustomize.py": TAKEN_AWAY})
    support.write(root, {"test_m.py": MODULE})
    run = support.run(interpreter, framework, root, "test_m.py", env={"PYTHONPATH": str(tmp_path / "start")})
    assert run.finished, run.log
    assert run.states() == {"T::test_passes": "passed", "T::test_fails": "failed", "T::test_skipped": "skipped"}


def test_a_test_program_needs_no_call_of_linux(root, tmp_path):
    program = root / "program_test"
    program.write_text(
        "#!/bin/bash\n"
        'case "$*" in *--gtest_list_tests*) printf "S.\\n  passes\\n"; exit 0;; esac\n'
        'printf "[==========] Running 1 test from 1 test suite.\\n[----------] 1 test from S\\n'
        "[ RUN      ] S.passes\\n[       OK ] S.passes (0 ms)\\n[----------] 1 test from S (0 ms total)\\n\\n"
        '[==========] 1 test from 1 test suite ran. (0 ms total)\\n[  PASSED  ] 1 test.\\n"\n'
    )
    program.chmod(0o755)
    support.write(tmp_path / "start", {"sitecustomize.py": TAKEN_AWAY})
    run = support.run(sys.executable, "gtest", root, "program_test", env={"PYTHONPATH": str(tmp_path / "start")})
    assert run.finished, run.log
    assert list(run.states().values()) == ["passed"]
