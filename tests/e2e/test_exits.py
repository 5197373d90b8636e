"""Tests modules whose process ends in an unusual way: each such end has exactly one row."""
import json

import pytest

from test_states import assert_sums, model

PASSES = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n"
# {module: (source, outcome, reason, rows)}
UNITTEST = {
    "tests/test_at_exit.py": (
        "import atexit\nimport os\n" + PASSES + "\n\natexit.register(os._exit, 7)\n",
        "crashed", "exit code 7 after its tests, which alone would give 0",
        {"A::test_a": ("passed", ""),
         "<module>": ("crashed", "exit code 7 after its tests, which alone would give 0")}),
    "tests/test_leaves.py": (
        "import sys\n" + PASSES + "\n\ndef setUpModule():\n    sys.exit(0)\n",
        "crashed", "exit code 0 by SystemExit in tests/test_leaves.py::<setUpModule>",
        {"A::test_a": ("errored", "SystemExit: 0")}),
    "tests/test_interrupts.py": (
        "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        raise KeyboardInterrupt\n\n"
        "    def test_b(self):\n        pass\n",
        "completed", None,  # by a second process
        {"A::test_a": ("errored", "KeyboardInterrupt"), "A::test_b": ("passed", "")}),
    "tests/test_passes.py": (PASSES, "completed", None, {"A::test_a": ("passed", "")}),
}
THRESHOLD = """
def pytest_sessionfinish(session):
    if any(item.name == "test_too_few" for item in session.items):
        session.exitstatus = 1
"""
PYTEST = {
    "tests/test_enough.py": (
        "import pytest\n\n\ndef test_a():\n    pytest.exit('enough', 0)\n\n\ndef test_b():\n    pass\n",
        "completed", None,
        {"test_a": ("errored", "Exit: enough"), "test_b": ("passed", "")}),
    "tests/test_passes.py": ("def test_a():\n    pass\n", "completed", None, {"test_a": ("passed", "")}),
    "tests/test_threshold.py": (
        "def test_too_few():\n    pass\n",
        "crashed", "exit code 1 after its tests, which alone would give 0",
        {"test_too_few": ("passed", ""),
         "<module>": ("crashed", "exit code 1 after its tests, which alone would give 0")}),
}


@pytest.mark.parametrize("framework, modules", [("unittest", UNITTEST), ("pytest", PYTEST)])
def test_each_way_to_exit_has_exactly_one_row(runner, python, tmp_path, framework, modules):
    suite = tmp_path / "suite"
    (suite / "tests").mkdir(parents=True)
    (suite / "tests/__init__.py").touch()
    if framework == "pytest":
        (suite / "conftest.py").write_text(THRESHOLD)
    settings = {"format": 1, "name": "exits", "source": {"path": "."}, "framework": framework,
                "layout": {"tests": "tests", "modules": ["test_*.py"]}}
    (suite / "suite.json").write_text(json.dumps(settings))
    for path, (source, *_) in modules.items():
        (suite / path).write_text(source)
    result = runner(suite, "--python", python, "--shim", "off")
    assert result.code == 1, result.err
    found = {path: (outcome, {tail: (state, why) for tail, (state, why, _) in cases.items()})
             for path, (outcome, cases) in model(result.report).items()}
    assert found == {path: (outcome, cases) for path, (_, outcome, _, cases) in modules.items()}
    reasons = {m["path"]: m.get("reason") for m in result.report["modules"]}
    assert reasons == {path: reason for path, (_, _, reason, _) in modules.items()}
    assert_sums(result.report)
