"""Tests that docs/reference/torch-cuda.md says of each name of torch.cuda what the tables that decide it
say: those of the conformance suite, of its differences, and of the shim. COMPAT_UPDATE_GOLDEN=1 rewrites
the page's table."""

import json
import os
import re

import pytest

from conftest import ROOT, run_child

PAGE = ROOT / "docs" / "reference" / "torch-cuda.md"
BEGIN, END = "<!-- made by tests/shim/test_reference.py -->\n", "<!-- end -->"
CHECKED = "2.13"
REFUSED = {
    "redirected": ("is not available on this device", "refused"),
    "simulated": ("is not simulated", "not simulated"),
}
MODES = {"redirected": {}, "simulated": {"TORCHDEVICE_SIMULATE": "cuda"}}

# Calls what is refused, for its text; what is answered is called by the conformance suite.
SCRIPT = f"""
import json, sys, warnings
sys.path[:0] = [{str(ROOT / "suites" / "conformance")!r}]
warnings.simplefilter("ignore")
import torch
from compat_shim.cuda import tables
import cuda_answers, other_answers
def said(call):
    try: call()
    except Exception as error: return str(error)
def is_there(name):
    found = torch
    for part in name.partition("(")[0].split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None
refused = {{**cuda_answers.REFUSED, **other_answers.REFUSED}}
redirected = {{name: call for name, (call, _) in other_answers.REFUSED_WHERE_REDIRECTED.items()}}
answered = {{}}
(answered if torch.ones(1, device="cuda").is_cuda else refused).update(redirected)
print(json.dumps({{
    "answered": [*cuda_answers.ANSWERS, *cuda_answers.WHERE_THE_HOST_SAYS, *other_answers.ANSWERS, *answered],
    "redirected": [*redirected],
    "refused": {{name: said(call) for name, call in refused.items() if is_there(name)}},
    "stubs": [*tables.STUBS.values(), *(each.stub for each in tables.SETTINGS if each.stub)],
}}))
"""


@pytest.fixture(scope="module")
def answers(library, tmp_path_factory):
    if not pytest.importorskip("torch").__version__.startswith(CHECKED):
        pytest.skip(f"the page is about torch {CHECKED}")
    return {
        mode: run_child(library, tmp_path_factory.mktemp(mode), SCRIPT, env=env, warm=True).answer
        for mode, env in MODES.items()
    }


def differences():
    scope = {}
    exec((ROOT / "suites" / "conformance" / "differences.py").read_text(), scope)
    return scope["DIFFERS"]


def status(name, mode, said, differ):
    if name in said["refused"]:
        text = said["refused"][name]
        what, word = REFUSED[mode]
        assert text and text.startswith(f"{name} {what}: "), (name, text)
        return f"{word}: " + re.sub(r" \[symbol: .*\]$", "", text.removeprefix(f"{name} {what}: "))
    if name in differ:
        how = differ[name][list(MODES).index(mode)]
        return f"differs: {how}" if how else "same"
    return "differs: no effect" if name in said["stubs"] else "same"


def rows(answers, differ):
    both = answers["redirected"]
    names = {*both["answered"], *both["refused"]}
    yield "| name | redirected | simulated |\n|---|---|---|\n"
    for name in sorted(each for each in names if each.startswith("torch.cuda.")):
        first, second = (status(name, mode, said, differ) for mode, said in answers.items())
        yield f"| `{name.removeprefix('torch.cuda.')}` | {first} | {'as redirected' if first == second else second} |\n"


def test_the_page_says_what_the_tables_say(answers):
    table = "".join(rows(answers, differences()))
    before, rest = PAGE.read_text().split(BEGIN)
    written, after = rest.split(END)
    if written != table and os.environ.get("COMPAT_UPDATE_GOLDEN"):
        PAGE.write_text(before + BEGIN + table + END + after)
        return
    assert written == table, "COMPAT_UPDATE_GOLDEN=1 rewrites it"


def test_each_difference_is_about_an_answer(answers):
    for mode, said in answers.items():
        assert differences().keys() - set(said["answered"]) == set()
    refused = {mode: said["refused"].keys() for mode, said in answers.items()}
    assert refused["redirected"] - refused["simulated"] == set(answers["simulated"]["redirected"])
    assert refused["simulated"] <= refused["redirected"]
