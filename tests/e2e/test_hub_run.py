"""A run with a hub: what its tests reach in each kind of isolation, what is named as missing, and what the
run says of it. The suite is suites/hub_client. The hub itself: tests/hub."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

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
    assert not [note for note in found if note["test"] is None]
    assert [note for note in found if "absent" in json.dumps(note)] == [
        {"test": "tests/test_reads.py::test_what_is_missing", "repository": "models/org/absent", "generated": False, "missing": True}]


def test_reports_say_which_test_asked_for_what_is_missing(run, suite, runner):
    (suite / "tests/test_asks.py").write_text(
        "import urllib.request\ndef test_swallows():\n    try: urllib.request.urlopen('https://huggingface.co/org/other/resolve/main/x')\n"
        "    except OSError: raise KeyError('x') from None\n"
        "def test_asks(): urllib.request.urlopen('https://images.example.org/dog.jpg')\n")
    result = run("tests/test_asks.py", "tests/test_reads.py")
    case = {case["id"].partition("::")[2]: case for module in result.report["modules"] for case in module["cases"]}
    assert case["test_what_is_missing"]["missing"] == {"count": 1, "names": ["models/org/absent"]}, "it expects that, and passes"
    assert case["test_swallows"]["missing"] == {"count": 1, "names": ["models/org/other"]}
    assert (case["test_swallows"]["failure"]["cause"], case["test_swallows"]["failure"]["needs"]) == ("suite_error", None)
    words = "asked for https://images.example.org/dog.jpg, which the hub could not give"
    assert (case["test_asks"]["failure"]["cause"], case["test_asks"]["failure"]["needs"]) == ("hub", words)
    assert "missing" not in case["test_the_hub_itself"]
    assert words in (result.folder / "report.md").read_text()
    shown = runner("show", result.report["run"]["id"], "tests/test_asks.py::test_asks").out
    assert f"    cause: hub: {words}\n" in shown and f"    missing: {words}\n" in shown


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
    assert again.report["hub"]["requests"] >= 1


def test_resume_has_what_the_hub_did_before_the_runner_was_killed(run, runner, program, suite, tmp_path):
    for module in (suite / "tests").glob("test_*.py"):
        module.unlink()
    began, go = tmp_path / "began", tmp_path / "go"
    (suite / "tests/test_a.py").write_text(
        "import os, urllib.request\ndef test_a():\n    for _ in range(150): urllib.request.urlopen('https://images.example.org/cat.txt').read()\n"
        "    try: urllib.request.urlopen('https://huggingface.co/org/absent/resolve/main/x')\n    except OSError: pass\n")
    (suite / "tests/test_b.py").write_text(
        f"import os, time, urllib.request\ndef test_b():\n    open({str(began)!r}, 'w').close()\n"
        f"    while not os.path.exists({str(go)!r}): time.sleep(0.05)\n    urllib.request.urlopen('https://images.example.org/cat.txt').read()\n")
    environment = {**os.environ, "COMPAT_CACHE": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    process = subprocess.Popen([program, suite, "--python", sys.executable, "--shim", "off", "-j1"], cwd=tmp_path, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not began.exists():
        assert time.monotonic() < end and process.poll() is None, "test_b did not begin"
        time.sleep(0.05)
    process.kill()
    process.wait()
    go.touch()
    resumed = runner("resume", env={"COMPAT_CACHE": str(tmp_path / "cache")})
    assert resumed.code == 0, resumed.out + resumed.err
    use = resumed.report["hub"]
    assert resumed.report["run"]["hub"] == "replay" and use["requests"] >= 152, use
    assert [name["name"] for name in use["missing_names"]] == ["model org/absent: x"]
    assert "org/absent" in resumed.out


def test_each_seed_has_the_hub(run):
    result = run("tests/test_reads.py::test_the_hub_itself", "tests/test_reads.py::test_what_is_missing", "--seeds", "2")
    assert result.code in (0, 1), result.out + result.err
    use = result.report["hub"]
    assert result.report["run"]["hub"] == "replay" and use["requests"] >= 4
    assert [name["name"] for name in use["missing_names"]] == ["model org/absent: config.json"]
    files = list((result.folder / "modules").rglob("*.hub.jsonl"))
    used = [json.loads(line)["test"] for file in files for line in file.read_text().splitlines()]
    assert used.count("tests/test_reads.py::test_the_hub_itself") >= 2, "each seed is an attempt with notes of its own"


def test_a_nights_runs_have_hubs_of_their_own(runner, suite, tmp_path):
    columns = [{"name": name, "shim": "off", "isolation": "off", **keys} for name, keys in (("recorded", {}), ("without", {"hub": "off"}))]
    (tmp_path / "nightly.json").write_text(json.dumps({"format": 1, "suites": [{"suite": "suite", "python": sys.executable}], "columns": columns}))
    night = runner("nightly", "nightly.json", env={"COMPAT_CACHE": str(tmp_path / "cache")})
    reports = [json.loads(path.read_text()) for path in (tmp_path / "results/runs").glob("*/report.json")]
    hubs = {report["run"]["hub"]: report["hub"] for report in reports}
    assert set(hubs) == {"replay", "off"}, night.out + night.err
    assert hubs["off"] is None and hubs["replay"]["requests"] > 300
    assert [name["name"] for name in hubs["replay"]["missing_names"]] == ["model org/absent: config.json"]


def test_runs_with_other_hubs_are_not_compared(run):
    run()
    other = run("--hub", "off")
    assert other.report["changes"] is None
