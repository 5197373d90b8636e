"""Runs a program whose tests are its own (a GoogleTest binary, ctest) and passes on what it prints,
byte for byte, while somebody follows it line by line.

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
# A longer line is followed in pieces: what a framework says stands in short ones, or at the end.
_LONGEST_LINE = 1 << 20
_KEPT_OF_LINE = 1 << 12
# What a pipe may hold when the program is gone. A process that it left behind may go on writing.
_LAST_WORDS = 1 << 20
_TERM_GRACE_S = 2.0


class Program:
    """`follow` gets each line, without its end, as bytes. `folder` is where the program runs; None:
    where we do."""

    def __init__(self, argv, env, follow, folder=None):
        self._argv, self._env, self._follow, self._folder = argv, env, follow, folder
        self._process = None
        self._partial = b""

    def run(self):
        """Returns when the program has ended, whoever still holds its streams: its exit code, or
        minus the signal that ended it."""
        # Our stacks say nothing of a program that hangs.
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
        self._pass_on(output, self._end_of(self._process))
        os.close(output)
        if self._partial:
            self._follow(self._partial)
        return self._process.wait()

    def stop(self):
        """Ends the program. To be called from `follow`."""
        self._process.terminate()
        killer = threading.Timer(_TERM_GRACE_S, self._process.kill)
        killer.daemon = True
        killer.start()

    @staticmethod
    def _end_of(process):
        """A descriptor that can be read once `process` has ended."""
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
            taken = 0
            while output in ready or ended:
                data = _read(output)
                if data == b"":  # closed; its end is still to come
                    poll.unregister(output)
                    output = -1
                    break
                if data is None:
                    break
                self._take(data)
                taken += len(data)
                if not ended or taken > _LAST_WORDS:
                    break
        os.close(gone)

    def _take(self, data):
        _write(1, data)
        lines = (self._partial + data).split(b"\n")
        self._partial = lines.pop()
        for line in lines:
            self._follow(line)
        if len(self._partial) > _LONGEST_LINE:
            self._follow(self._partial[:-_KEPT_OF_LINE])
            self._partial = self._partial[-_KEPT_OF_LINE:]


def _read(fd):
    """What there is; None where there is nothing yet, b"" at the end."""
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
    """Ends this process as the program ended: whoever watches it sees the program's own end."""
    if code >= 0:
        raise SystemExit(code)
    number = -code
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own is the one of use
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def without(names):
    """Our environment, but for the variables `names`."""
    return {name: value for name, value in os.environ.items() if name not in names}
