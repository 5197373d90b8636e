"""Tests compare.py on reports with a few tests."""
import io
import json
import pathlib
import subprocess
import sys
import tarfile

import pytest

COMPARE = pathlib.Path(__file__).parent / "compare.py"


def case(name, state="passed", error=None, subtests=(), marks=("device",)):
    return {"id": name, "state": state, "reason": None, "marks": list(marks), "subtests": list(subtests),
            "failure": error and {"key_line": error}}


def report(cases, device="cuda", simulated=None):
    run = {"device": device, "simulated": simulated, "torch": "2.13.0", "duration_s": 1.0, "exit_code": 0}
    return {"run": run, "modules": [{"cases": cases}]}


@pytest.fixture
def compare(tmp_path):
    def run(reports, *options):
        archive = tmp_path / "results.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            for name, content in reports.items():
                data = json.dumps(content).encode()
                member = tarfile.TarInfo(f"runs/{name}/report.json")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        done = subprocess.run([sys.executable, COMPARE, archive, *options], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


def passes(count):
    return [case(f"t.py::T::test_{n}") for n in range(count)]


def test_equal_states_are_good(compare):
    code, text = compare({"a.real": report(passes(3)), "a.simulated": report(passes(3), "cpu", "cuda")})
    assert code == 0
    assert "| a | 3 | 0 | 0.00 % | 3 | 0 | 0 |" in text and "0 of 3 tests differ" in text
    assert "warning" not in text


@pytest.mark.parametrize("tests, expected", [(199, 1), (200, 0)])
def test_the_bound_is_half_a_percent(compare, tests, expected):
    broken = [case("t.py::T::test_0", "failed", "ValueError: no\nmore"), *passes(tests)[1:]]
    code, text = compare({"a.real": report(passes(tests)), "a.simulated": report(broken, "cpu", "cuda")})
    assert code == expected
    assert "- t.py::T::test_0: passed / failed\n    simulated: ValueError: no\n" in text
    assert compare({"a.real": report(passes(tests)), "a.simulated": report(broken)}, "--bound", "100")[0] == 0


def test_a_test_of_one_side_differs(compare):
    code, text = compare({"a.real": report(passes(2)), "a.simulated": report(passes(1))})
    assert code == 1 and "- t.py::T::test_1: passed / not collected" in text


def test_other_errors_are_listed_and_numbers_in_them_are_not(compare):
    def failing(value, error):
        return [case("x", "failed", f"got {value}"), case("y", "failed", error)]

    code, text = compare({"a.real": report(failing("-1.5e-10", "KeyError: a")),
                          "a.simulated": report(failing("[ 7", "KeyError: b"))})
    assert code == 0 and "- y: failed / failed\n    real: KeyError: a\n    simulated: KeyError: b" in text
    code, text = compare({"a.real": report([case("x", "failed", "got -1.5e-10")]),
                          "a.simulated": report([case("x", "failed", "got 7")])})
    assert code == 0 and "other errors" not in text


def test_the_error_of_a_subtest(compare):
    inner = case("x [1]", "failed", "AssertionError: 1 != 2")
    code, text = compare({"a.real": report([case("x")]),
                          "a.simulated": report([case("x", "failed", subtests=[inner])])})
    assert code == 1 and "simulated: AssertionError: 1 != 2" in text


def test_a_part_with_one_side_is_no_comparison(compare):
    both = {"a.real": report(passes(1)), "a.simulated": report(passes(1))}
    code, text = compare({**both, "b.real": report(passes(1))})
    assert code == 2 and "b: only the real side was run" in text
    assert compare({})[0] == 2


def test_a_real_side_without_a_gpu_is_named(compare):
    assert "warning" in compare({"a.real": report(passes(1), "cpu"), "a.simulated": report(passes(1))})[1]
