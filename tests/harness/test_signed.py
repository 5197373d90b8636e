"""Tests the MACs of the events: where the key comes from, who can see it, and what a test can
write."""

import hashlib
import json
import os
import re
import subprocess

import pytest
import support

KEY = "0123456789abcdef" * 2
LOOKS = """
import json, os, sys, unittest


class A(unittest.TestCase):
    def test_looks(self):
        numbers = [int(n) for n in os.listdir("/proc/self/fd")]
        places = [(n, os.path.realpath("/proc/self/fd/" + str(n))) for n in numbers]
        print("number", [n for n, path in places if path.endswith("events.jsonl")])
        print("stdin", repr(sys.stdin.read()), os.path.realpath("/proc/self/fd/0"))
        seen = [open("/proc/self/" + name, "rb").read() for name in ("cmdline", "environ")]
        seen += [repr(sys.argv).encode(), repr(getattr(sys, "orig_argv", "")).encode(), repr(os.environ).encode()]
        print("seen", any(b"%s" in text for text in seen))
""" % KEY


def start(python, framework, root, *arguments, stdin=KEY):
    events = root.parent / "events.jsonl"
    events.unlink(missing_ok=True)
    argv = [python, str(support.MAIN), "--framework", framework, "--module", "test_a.py"]
    argv += ["--root", str(root), "--events", str(events), *arguments]
    done = subprocess.run(argv, cwd=root, input=stdin, capture_output=True, text=True, env=support.ENVIRONMENT)
    return done.stdout + done.stderr, events.read_bytes().splitlines() if events.exists() else []


def is_signed(line, key=KEY):
    text, mac = re.fullmatch(rb'(.*), "mac": "([0-9a-f]{32})"\}', line).groups()
    json.loads(line)
    return hashlib.blake2b(text, key=key.encode(), digest_size=16).hexdigest() == mac.decode()


def test_each_line_has_a_mac_if_the_runner_gave_a_key(framework, interpreter, root):
    support.write(root, {"test_a.py": LOOKS})
    options = ["--option", "-s"] if framework == "pytest" else []
    log, lines = start(interpreter, framework, root, "--signed", *options)
    assert len(lines) == 6 and json.loads(lines[-1])["event"] == "finish"
    assert all(map(is_signed, lines)) and not is_signed(lines[0], KEY[::-1])
    assert "seen False" in log and "stdin '' /dev/null" in log


def test_a_key_that_does_not_arrive_is_an_error(python, root):
    """The runner would drop every event: a program between it and Python keeps the stdin for itself."""
    support.write(root, {"test_a.py": LOOKS})
    log, lines = start(python, "unittest", root, "--signed", stdin="")
    assert "the key of the events did not arrive on stdin" in log and lines == []


def test_stdin_is_left_alone_without_the_flag(python, root):
    support.write(root, {"test_a.py": LOOKS})
    log, lines = start(python, "unittest", root)
    assert b'"mac"' not in lines[0] and "stdin '%s'" % KEY in log


def test_the_events_have_another_number_in_each_process(python, root):
    support.write(root, {"test_a.py": LOOKS})
    numbers = {re.search(r"number \[(\d+)\]", start(python, "unittest", root)[0])[1] for _ in range(3)}
    assert len(numbers) > 1 and all(210 <= int(number) < 1024 for number in numbers)


QUIET = """
import contextlib, io, os, sys, unittest


class A(unittest.TestCase):
    def test_a(self):
        %s
"""
ELSEWHERE = {
    "unittest": "os.dup2(os.open(os.devnull, os.O_WRONLY), 2)",
    "pytest": "pass",
}


def test_the_harness_says_where_the_closing_lines_are_not_in_the_log(framework, interpreter, root):
    def finish(body, *options):
        support.write(root, {"test_a.py": QUIET % body})
        words = [word for option in options for word in ("--option", option)]
        return support.run(interpreter, framework, root, "test_a.py", *words).of("finish")[0]

    assert "closing_in_log" not in finish("pass")
    options = ["-qqqq"] if framework == "pytest" else []
    elsewhere = finish(ELSEWHERE[framework], *options)
    assert elsewhere["closing_in_log"] is False and elsewhere["closing"]
