"""Tests failures with much text: the runner's memory and files stay small, and no test is lost."""
import json
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "soak"))
from failure_text_soak import measure  # noqa: E402

TALKATIVE = """
import unittest


class A(unittest.TestCase):
    def fail_at_length(self):
        self.fail("the key line\\n" + "x" * 100_000)


for i in range(20):
    setattr(A, "test_%d" % i, A.fail_at_length)
"""


def test_memory_and_files_stay_small_when_failures_print_much(program, python, tmp_path):
    small = measure(program, 400, 100, python, tmp_path / "small")
    large = measure(program, 400, 300_000, python, tmp_path / "large")
    assert small["failed"] == large["failed"] == 400
    # The limit is 16 MiB of text, copied a few times while it is stored. Uncut it is 240 MB.
    assert large["peak_mib"] < small["peak_mib"] + 140
    for file in ("events_mib", "database_mib", "report_json_mib"):
        assert large[file] < 20, file
    assert large["terminal_kib"] < small["terminal_kib"] + 2


def test_a_suite_can_set_limits_events_bytes(runner, write_suite, python):
    suite = write_suite("talkative", {"tests/test_a.py": TALKATIVE})
    definition = json.loads((suite / "suite.json").read_text())
    definition["limits"] = {"events_bytes": "64KiB"}
    (suite / "suite.json").write_text(json.dumps(definition))
    result = runner("run", suite, "--root", suite, "--python", python, "--shim", "off")
    assert result.code == 1, result.out + result.err
    report = result.report
    assert report["totals"]["failed"] == report["totals"]["collected"] == 20
    (module,) = report["modules"]
    (diagnostic,) = module["diagnostics"]
    assert "the text of 20 failure(s) was left out" in diagnostic
    assert "limits.events_bytes is reached" in diagnostic
    for case in module["cases"]:
        assert case["failure"]["message"] == "the key line"
        assert len(case["failure"]["frames"]) == 1
        assert "limits.events_bytes is reached" in case["failure"]["traceback"]
