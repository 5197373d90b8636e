"""Tests which tests a change is said to affect (affected.py), with the build that runs these tests."""
import os
import pathlib

import pytest

import affected

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner")).parents[1]


@pytest.mark.parametrize("path, programs, others", [
    ("runner/store/reader.cc", {"store_test", "run_test"}, {"base_test", "plan_test"}),
    ("runner/base/text.h", {"base_test", "store_test", "parsers_test_1"}, {"test_shim_policy"}),
    ("runner/store/migrations/18.sql", {"store_test"}, {"base_test"}),
    ("parsers/diagnosis/rules.json", {"parsers_test_1"}, {"plan_test"}),
    ("tests/plan/cut_test.cc", {"plan_test"}, {"base_test", "store_test"}),
    ("shim/redirect/kernel.h", {"docs_test"}, {"base_test", "plan_test"}),
    ("docs/reference/settings.md", {"docs_test"}, {"base_test", "plan_test"}),
    ("shim/python/compat_shim/record.py", set(), {"base_test", "store_test"}),
    ("cmake/Compat.cmake", {"base_test", "plan_test"}, set()),
    ("cmake/precompiled/library.h", {"base_test", "store_test"}, set()),
])
def test_programs_of_what_they_are_compiled_from(path, programs, others):
    found = set(affected.programs(BUILD, {path}))
    assert programs <= found and not others & found, found


@pytest.mark.parametrize("path, files, others", [
    ("shim/python/compat_shim/record.py", {"tests/shim/test_recording.py", "tests/e2e/test_exec.py"}, {"tests/harness/test_events.py"}),
    ("runner/store/reader.cc", {"tests/e2e/test_results.py"}, {"tests/shim/test_recording.py", "tests/harness/test_events.py"}),
    ("runner/harness/_compat_harness/events.py", {"tests/harness/test_events.py", "tests/e2e/test_states.py"}, {"tests/shim/test_lines.py"}),
    ("tests/shim/ranks.py", {"tests/shim/test_nccl.py"}, {"tests/e2e/test_exec.py"}),
    ("tests/shim/test_lines.py", {"tests/shim/test_lines.py"}, {"tests/shim/test_recording.py"}),
    ("tests/e2e/suites/misbehaving/suite.json", {"tests/e2e/test_isolation.py"}, {"tests/shim/test_lines.py"}),
    ("tests/sweep/sweep.py", {"tests/shim/test_sweep.py"}, {"tests/harness/test_events.py"}),
    ("docs/examples/devices.py", {"tests/shim/test_device_library.py"}, {"tests/shim/test_lines.py"}),
])
def test_test_files_of_what_they_import_and_run(path, files, others):
    found = set(affected.test_files({path}))
    assert files <= found and not others & found, found
    assert "tests/test_house.py" in found


def test_each_folder_of_test_files_is_known():
    folders = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders - {"tests/config"} == set(affected.RUN), "tests/config is ctest's"
