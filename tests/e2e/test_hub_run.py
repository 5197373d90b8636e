"""A run with a hub: what its tests reach in each kind of isolation, what is named as missing, and what the
run says of it. The suite is suites/hub_client. The hub itself: tests/hub."""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import SUITES

COMMIT = "5" * 40
CONFIG = json.dumps({"model_type": "tiny"}).encode()
CAT = b"a cat"

needs_bwrap = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
WAYS = [pytest.param(("--isolate", "off"), id="off"), pytest.param(("--isolate", "tree"), id="tree"),
        pytest.param(("--isolate", "sandbox"), id="sandbox", marks=needs_bwrap),
        pytest.param(("--isolate", "sandbox", "--warm", "off"), id="sandbox-fresh", marks=needs_bwrap),
        pytest.param(("--isolate", "sandbox", "--network"), id="sandbox-network", marks=needs_bwrap)]


@pytest.fixture
def suite(tmp_path):
    """A copy of the suite with a lock that names one repository and one address."""
    folder = tmp_path / "suite"
    shutil.copytree(SUITES / "hub_client", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for content in (CONFIG, CAT):
        blob = tmp_path / "cache/hub/blobs" / hashlib.sha256(content).hexdigest()
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content)
    git_id = hashlib.sha1(b"blob %d\0" % len(CONFIG) + CONFIG).hexdigest()
    file = {"path": "config.json", "size": len(CONFIG), "oid": git_id, "sha256": hashlib.sha256(CONFIG).hexdigest()}
    lock = {"format": 1,
            "repositories": [{"kind": "model", "name": "org/tiny", "revisions": ["main"], "commit": COMMIT, "files": [file]}],
            "addresses": [{"url": "https://images.example.org/cat.txt", "status": 200, "type": "text/plain", "size": len(CAT),
                           "sha256": hashlib.sha256(CAT).hexdigest()}]}
    (folder / "hub.lock.json").write_text(json.dumps(lock))
    return folder


@pytest.fixture
def run(runner, suite, tmp_path):
    def call(*words, env=()):
        variables = {"COMPAT_CACHE": tmp_path / "cache", "HF_TOKEN": "hf_secret", **dict(env)}
        return runner(suite, *words, "--python", sys.executable, "--shim", "off", env={k: str(v) for k, v in variables.items()})

    return call


def states(result):
    return {case["id"].partition("::")[2]: case["state"] for module in result.report["modules"] for case in module["cases"]}


def notes(result, module):
    files = list((result.folder / "modules").rglob(f"{module}.py/1.written/1.hub.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_each_kind_of_isolation_reaches_the_hub(run, way):
    result = run(*way)
    assert result.code == 0, result.out + result.err
    assert not [test for test, state in states(result).items() if state not in ("passed", "skipped")]
    assert result.report["run"]["hub"] == "replay"
    use = result.report["hub"]
    assert use["generated"] == 0 and use["requests"] > 300
    assert [name["name"] for name in use["missing_names"]] == ["model org/absent: config.json"], use
    assert "org/absent" in result.out and "--hub record" in result.out
    assert ", hub replay" in result.out
    # Of the run alone.
    assert not (result.folder / "hub-home").exists() and not (result.folder / "hub-made").exists()
    assert "mine" not in json.dumps(result.report["writes"])
    assert (result.folder / "hub.jsonl").exists()
    texts = [path.read_text(errors="replace") for path in result.folder.rglob("*") if path.is_file() and path.suffix != ".html"]
    assert not [text for text in texts if "hf_secret" in text]


def test_notes_say_which_test_used_what(run):
    found = notes(run(), "test_reads")
    tiny = {note["test"].partition("::")[2] for note in found if note.get("repository") == "models/org/tiny"}
    assert {"test_the_hub_itself", "test_an_address_of_the_hub", "test_the_same_fixture", "test_in_another_process"} <= tiny
    assert {"test": "tests/test_reads.py::test_an_address_elsewhere", "address": "https://images.example.org/cat.txt",
            "generated": False} in found
    assert not [note for note in found if note["test"] is None or "absent" in json.dumps(note)]


def test_list_collects_with_the_hub(suite, runner, tmp_path):
    (suite / "tests/test_at_import.py").write_text(
        "import os, urllib.request\nurllib.request.urlopen(os.environ['HF_ENDPOINT'] + '/org/tiny/resolve/main/config.json')\n"
        "def test_it(): pass\n")
    listed = runner("list", "--cases", suite, "--python", sys.executable, "--shim", "off", env={"COMPAT_CACHE": str(tmp_path / "cache")})
    assert "test_at_import.py::test_it" in listed.out, listed.out + listed.err


@needs_bwrap
def test_recording_needs_a_network(run):
    refused = run("--isolate", "sandbox", "--hub", "record")
    assert refused.code == 2 and "--network" in refused.err


def test_a_lock_that_cannot_be_read_ends_before_any_test(run, suite):
    (suite / "hub.lock.json").write_text("{")
    refused = run()
    assert refused.code not in (0, 1) and "hub.lock.json:1" in refused.err
    assert not list(refused.results.glob("runs/*/modules/*/1.log"))


def test_without_a_lock_it_says_so(run, suite):
    (suite / "hub.lock.json").unlink()
    result = run()
    assert "nothing is recorded" in result.out
    assert states(result)["test_the_hub_itself"] == "failed"


def test_off_leaves_everything_as_it_was(run):
    result = run("--hub", "off")
    assert ", hub" not in result.out.splitlines()[0] and result.report["hub"] is None
    assert not (result.folder / "hub.jsonl").exists()
    assert states(result)["test_variables"] == "failed"


def test_resume_and_rerun_have_one_too(run, runner, tmp_path):
    first = run("--maxfail", "1", env={"HUB_CLIENT_EXITS": "1"})
    again = runner("rerun", "latest", "--failed", "--not-run", env={"COMPAT_CACHE": str(tmp_path / "cache")})
    assert again.code in (0, 1), again.out + again.err
    assert again.report["run"]["hub"] == "replay" == first.report["run"]["hub"]
    assert again.report["hub"]["requests"] >= 0


def test_runs_with_other_hubs_are_not_compared(run):
    run()
    other = run("--hub", "off")
    assert other.report["changes"] is None
