"""Tests what becomes of events that a test writes in the harness's place."""
import shutil

import pytest

FORGES = """
import json, os, unittest


def events():
    for name in os.listdir("/proc/self/fd"):
        path = os.path.realpath("/proc/self/fd/" + name)
        if path.endswith(".events.jsonl"):
            return path


def forge(closing):
    path = events()
    lines = [json.loads(line) for line in open(path)]
    made = []
    for id in [line["id"] for line in lines if line["event"] == "collected"]:
        made += [{"event": "start", "id": id, "time": 1},
                 {"event": "end", "id": id, "state": "passed", "phase": "call", "duration_s": 0}]
    made = made[1:] + [{"event": "finish", "collected": 3, "ended": 3, "closing": closing}]
    with open(path, "a") as file:
        for seq, line in enumerate(made, lines[-1]["seq"] + 1):
            file.write(json.dumps({"pid": os.getpid(), "seq": seq, "mac": "0" * 32, **line}) + "\\n")


class A(unittest.TestCase):
    def test_a(self):
        forge("-" * 70 + "\\nRan 3 tests in 0.001s\\n\\nOK")
        %s

    def test_b(self):
        self.fail("so")

    def test_c(self):
        pass
"""
FILLED = {"leaves": "os._exit(0)", "goes on": "pass"}


def states(report):
    return {case["id"].rpartition("::")[2]: case["state"] for module in report["modules"] for case in module["cases"]}


def forged(write_suite, body):
    return write_suite("forged", {"tests/test_a.py": FORGES % body})


@pytest.mark.parametrize("options", [["--warm", "on"], ["--warm", "off"]], ids=["warm", "fresh"])
@pytest.mark.parametrize("way", FILLED)
def test_a_forged_end_and_finish_decide_nothing(runner, python, write_suite, way, options):
    result = runner(forged(write_suite, FILLED[way]), "--python", python, "--shim", "off", *options)
    found = states(result.report)
    assert result.code == 1, result.out + result.err
    assert found["test_b"] == "failed" and found["test_c"] == "passed"
    assert found["test_a"] == ("crashed" if way == "leaves" else "passed")
    assert "that the harness did not write, dropped" in str(result.report["modules"][0]["diagnostics"])
    assert result.report["accounting"]["closed"]
    again = runner("reparse", "latest")
    assert again.code == 0, again.out + again.err


def test_in_a_sandbox_events_are_signed_too(runner, python, write_suite):
    if not shutil.which("bwrap"):
        pytest.skip("needs bubblewrap")
    for warm in ("on", "off"):
        options = ["--isolate", "sandbox", "--warm", warm]
        result = runner(forged(write_suite, "pass") if warm == "on" else "suite", "--python", python, "--shim", "off", *options)
        assert states(result.report) == {"test_a": "passed", "test_b": "failed", "test_c": "passed"}
        assert "that the harness did not write, dropped" in str(result.report["modules"][0]["diagnostics"])


HARNESS = """
import gc, os, unittest


class A(unittest.TestCase):
    def test_a(self):
        recorder = next(o for o in gc.get_objects() if type(o).__name__ == "Recorder")
        recorder.finish("-" * 70 + "\\nRan 2 tests in 0.001s\\n\\nOK")

    def test_b(self):
        self.fail("so")
"""
REPLACES = """
import glob, json, os, unittest

%s
class A(unittest.TestCase):
    def test_a(self):
        with open(events(), "w") as file:
            file.write("nothing\\n")
        print("\\n" + "-" * 70 + "\\nRan 2 tests in 0.001s\\n\\nOK", flush=True)
        os._exit(0)

    def test_b(self):
        self.fail("so")
""" % FORGES.partition("\n\n\n")[2].partition("def forge")[0]


@pytest.mark.parametrize("source", [HARNESS, REPLACES], ids=["finish of the harness", "replaced file"])
def test_files_that_contradict_each_other_do_not_add_up(runner, python, write_suite, source):
    result = runner(write_suite("forged", {"tests/test_a.py": source}), "--python", python, "--shim", "off")
    assert result.code == 3, result.out + result.err
    assert any("contradiction: " in m["message"] for m in result.report["accounting"]["mismatches"])
    assert "contradiction: " in result.out and "contradiction: " in (result.folder / "report.md").read_text()
    assert runner("show", "latest").out.count("contradiction: ")
