"""Tests a part of the sweeps over PyTorch's samples (tests/sweep), and that the first can fail."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

SWEEP = pathlib.Path(__file__).resolve().parents[1] / "sweep"
sys.path.insert(0, str(SWEEP))

import refusal_texts  # noqa: E402
import sweep  # noqa: E402


def test_every_twentieth_entry_equals_plain_cpu(library):
    pytest.importorskip("expecttest")
    done = subprocess.run(
        [sys.executable, str(SWEEP / "sweep.py"), "--every", "20"],
        env={**os.environ, "COMPAT_SHIM_LIBRARY": library},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = {what: int(n) for n, what in re.findall(r"^(\d+) (.+)$", done.stdout, re.M)}
    assert told["entries"] >= 40 and told["requests redirected"] > told["samples"]
    assert told["samples with gradients"] > 500


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_every_tenth_op_runs_in_torchscript_on_a_simulated_device(library, device):
    pytest.importorskip("expecttest")
    done = subprocess.run(
        [sys.executable, str(SWEEP / "scripted.py"), device, "--every", "10", "--samples", "1"],
        env={**os.environ, "COMPAT_SHIM_LIBRARY": library},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = {what: int(n) for n, what in re.findall(r"^(\d+) (.+)$", done.stdout, re.M)}
    assert told["traced"] >= 40 and told["scripted"] >= 40


def sample(**parts):
    return {"inputs": ["in"], "outputs": ["1"], "gradients": ["2"], **parts}


def judged(plain, shim, exceptions=None, redirected=1):
    one = {"entry": "ops/x", "samples": [plain]}, {"entry": "ops/x", "samples": [shim]}
    one[1]["redirected"] = redirected
    return sweep.judge(["ops/x"], {"ops/x": one[0]}, {"ops/x": one[1]}, exceptions or {})[0]


def test_equal_halves_are_in_order():
    assert judged(sample(), sample()) == []


@pytest.mark.parametrize("part", ["inputs", "outputs", "gradients"])
def test_a_difference_fails_unless_it_is_an_exception(part):
    other = sample(**{part: ["other"]})
    (line,) = judged(sample(), other)
    assert line.startswith("differs: ops/x") and part in line
    assert judged(sample(), other, {"ops/x": {"differs": [part]}}) == []


def test_an_error_of_one_half_fails():
    raised = {"inputs": ["in"], "error": "RuntimeError: no"}
    assert judged(sample(), raised) and judged(raised, sample())
    assert judged(raised, dict(raised)) == []


def test_a_stale_exception_fails():
    assert judged(sample(), sample(), {"ops/x": {"differs": ["outputs"]}}) == [
        "no longer differs in outputs: ops/x"
    ]


def test_nothing_redirected_fails():
    assert judged(sample(), sample(), redirected=0)


def test_a_half_that_broke_off_fails():
    told = {"ops/x": {"entry": "ops/x", "samples": [], "error": "died: -11", "redirected": 1}}
    assert "broke off: ops/x: died: -11" in sweep.judge(["ops/x"], told, told, {})[0]


def test_every_exception_has_a_reason():
    for name, exception in sweep.EXCEPTIONS.items():
        assert set(exception) == {"differs", "reason"}, name
        assert set(exception["differs"]) <= set(sweep.PARTS) and len(exception["reason"]) > 20


def test_a_rule_is_covered_by_one_that_refuses_every_call(monkeypatch):
    rule = {"ops": ["mul"], "argument": "self", "dtypes": ["int8"], "kernel": "mul_{metal}"}

    def covered(**other):
        monkeypatch.setattr(refusal_texts, "all_rules", lambda: [rule, {**rule, **other}])
        return refusal_texts.refused_by_others(rule, "2.15")

    assert covered(text="no")
    assert not covered(argument="other")
    assert not covered(condition="a_scalar")
    assert not covered(requires="self.dim() > 0")
