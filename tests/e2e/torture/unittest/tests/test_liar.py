"""Output and events that are not what they look like."""

import atexit
import json
import os
import sys
import unittest

CLOSING = "-" * 70 + "\nRan 99 tests in 0.001s\n\nOK\n"


def events_file():
    """The file that this process's events go to, for whoever looks for it."""
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        if path.endswith(".events.jsonl"):
            return path
    raise LookupError("no events")


def forge(**line):
    with open(events_file(), "a") as out:
        out.write(json.dumps(dict(line, pid=os.getpid())) + "\n")


class Liar(unittest.TestCase):
    def test_1_prints_results(self):
        sys.stderr.write("\ntest_9 (tests.test_liar.Liar.test_9) ... ok\n" + CLOSING)
        sys.stdout.write('{"event": "end", "id": "tests/test_liar.py::Liar::test_2", "state": "passed"}\n')
        atexit.register(sys.stderr.write, CLOSING)

    def test_2_fails(self):
        self.fail("true")

    def test_3_forges_its_end(self):
        forge(event="end", id=self.id_of("test_3_forges_its_end"), state="passed", phase="call", duration_s=0)
        self.fail("true as well")

    def test_4_forges_the_end_of_all(self):
        forge(event="finish", collected=1, ended=1)
        forge(event="collected", id=self.id_of("test_8_invented"), name="x", file="/x", line=1)
        forge(event="session", format=99)

    def test_5_claims_a_verdict_for_later(self):
        forge(event="end", id=self.id_of("test_6_fails"), state="passed", phase="call", duration_s=0)

    def test_6_fails(self):
        self.fail("true to the end")

    @staticmethod
    def id_of(name):
        return "tests/test_liar.py::Liar::" + name
