"""Runs a test program (a GoogleTest binary, ctest), copies its output to the log byte for byte, and
passes each line to a driver.

Not here: what the lines mean (gtest_driver.py, ctest_driver.py).
"""

import faulthandler
import os
import resource
import select
import signal
import subprocess
import threading

_CHUNK = 1 << 16
# A longer line is passed on in pieces: a framework's own lines are short, or end the long line.
_LONGEST_LINE = 1 << 20
_KEPT_OF_LINE = 1 << 12
# Bytes read from the pipe after the program ended: a process it left behind may write for ever.
_READ_AFTER_EXIT = 1 << 20
_TERM_GRACE_S = 2.0


class Program:
    """`follow` is called with each line as bytes, without its line end. The program runs in
    `folder`, or in the current folder if None."""

    def __init__(self, argv, env, follow, folder=None):
        self._argv, self._env, self._follow, self._folder = argv, env, follow, folder
        self._process = None
        self._partial = b""

    def run(self):
        """Returns when the program has ended, even if another process still has its streams open:
        the exit code, or minus the signal that ended it."""
        # Python's stacks would not show where the program hangs.
        faulthandler.unregister(signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, lambda number, frame: None)
        output, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=self._env,
                cwd=self._folder,
            )
        finally:
            os.close(theirs)
        os.set_blocking(output, False)
        self._pass_on(output, self._exit_descriptor(self._process))
        os.close(output)
        if self._partial:
            self._follow(self._partial)
        return self._process.wait()

    def stop(self):
        """Ends the program. Called from `follow`."""
        self._process.terminate()
        killer = threading.Timer(_TERM_GRACE_S, self._process.kill)
        killer.daemon = True
        killer.start()

    @staticmethod
    def _exit_descriptor(process):
        """A descriptor that becomes readable when `process` has ended."""
        gone, closed_then = os.pipe()

        def wait():
            process.wait()
            os.close(closed_then)

        threading.Thread(target=wait, daemon=True).start()
        return gone

    def _pass_on(self, output, gone):
        poll = select.poll()
        for fd in (output, gone):
            poll.register(fd, select.POLLIN)
        ended = False
        while not ended:
            ready = [fd for fd, _ in poll.poll()]
            ended = gone in ready
            count = 0
            while output in ready or ended:
                data = _read(output)
                if data == b"":  # closed, though the program may still run
                    poll.unregister(output)
                    output = -1
                    break
                if data is None:
                    break
                self._handle(data)
                count += len(data)
                if not ended or count > _READ_AFTER_EXIT:
                    break
        os.close(gone)

    def _handle(self, data):
        _write(1, data)
        lines = (self._partial + data).split(b"\n")
        self._partial = lines.pop()
        for line in lines:
            self._follow(line)
        if len(self._partial) > _LONGEST_LINE:
            self._follow(self._partial[:-_KEPT_OF_LINE])
            self._partial = self._partial[-_KEPT_OF_LINE:]


def _read(fd):
    """The available bytes; None if there are none yet, b"" at the end."""
    if fd < 0:
        return None
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None


def _write(fd, data):
    while data:
        data = data[os.write(fd, data) :]


def end_like(code):
    """Ends this process with the program's exit code or signal, for whoever waits for it."""
    if code >= 0:
        raise SystemExit(code)
    number = -code
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's core dump is the useful one
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def environment_without(names):
    """The environment without the variables `names`."""
    return {name: value for name, value in os.environ.items() if name not in names}
