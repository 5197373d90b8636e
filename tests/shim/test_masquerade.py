"""What torch.cuda answers, whichever comes first: the shim or torch."""

import pytest

from conftest import ROOT, SHIM

SUITE = ROOT / "suites" / "conformance"
RUN = """
import io, json, unittest
outcome = unittest.TextTestRunner(stream=io.StringIO()).run(
    unittest.TestLoader().discover("tests", top_level_dir=".")
)
print(json.dumps({
    "run": outcome.testsRun,
    "skipped": len(outcome.skipped),
    "bad": [f"{test}: {text}" for test, text in outcome.failures + outcome.errors],
}))
"""


def test_the_conformance_suite_where_torch_was_imported_first(child):
    script = "import torch\nassert not torch.cuda.is_available()\nimport TorchDevice\n" + RUN
    path = f"{SHIM / 'python'}:{SUITE}"
    answer = child(script, cwd=SUITE, env={"PYTHONPATH": path}).answer
    assert answer["bad"] == [] and answer["skipped"] == 0
    assert answer["run"] > 300


@pytest.mark.parametrize(
    "visible, count",
    [("0", 1), ("3", 1), ("1,2", 1), ("GPU-8932f937", 1), ("", 0), ("-1", 0), ("0,0", 0), ("x", 0)],
)
def test_cuda_visible_devices_is_read_as_torch_reads_it(child, visible, count):
    script = """
import json, torch
before = torch.cuda._parse_visible_devices()
print(json.dumps([torch.cuda.is_available(), torch.cuda.device_count(), torch.version.cuda]))
"""
    answer = child(script, env={"CUDA_VISIBLE_DEVICES": visible}).answer
    assert answer == [count == 1, count, "12.6"]
