"""`runner nightly`: nights of real runs, with a planted regression, a flaky test and a changed package."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sysconfig
import tempfile
import time

import jsonschema
import pytest

from test_resume import SLOW, make_suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "reports/schemas/night.schema.json").read_text())

TESTS = """
import importlib.metadata, pathlib
def test_good():
    pass
def test_planted():
    assert 1 + 1 == 2
def test_flaky():
    assert not pathlib.Path("/NIGHT/flip").exists(), "it flipped"
def test_version():
    assert importlib.metadata.version("planted") == "1.0"
"""


@pytest.fixture
def environment(tmp_path, python):
    """A virtual environment of its own over the tests' one, with the package `planted` 1.0."""
    folder = tmp_path / "env"
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "tests.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    set_version(folder, "1.0")
    return folder


def set_version(environment, version):
    site = next((environment / "lib").glob("python*/site-packages"))
    for old in site.glob("planted-*.dist-info"):
        (old / "METADATA").unlink()
        old.rmdir()
    (site / f"planted-{version}.dist-info").mkdir()
    (site / f"planted-{version}.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: planted\nVersion: {version}\n")


@pytest.fixture
def matrix(tmp_path, environment):
    """nightly.json over one suite, in a column that runs and in one whose device is not here."""
    (tmp_path / "planets/tests").mkdir(parents=True)
    (tmp_path / "planets/tests/test_planets.py").write_text(TESTS.replace("/NIGHT", str(tmp_path)))
    notify = tmp_path / "notify.sh"
    notify.write_text('#!/bin/sh\ncat >"$1"\n')
    notify.chmod(0o755)
    write(tmp_path, {"format": 1,
                     "suites": [{"suite": "planets", "python": "env"}],
                     "columns": [{"name": "cpu", "shim": "off", "isolation": "off"}, {"name": "gpu", "shim": "off", "device": "cuda"}],
                     "notify": ["./notify.sh", "told.json"]})
    return tmp_path


def write(folder, nightly):
    (folder / "nightly.json").write_text(json.dumps(nightly))


def change(folder, **keys):
    write(folder, {**json.loads((folder / "nightly.json").read_text()), **keys})


def summary(folder):
    text = (max((folder / "results/nights").glob("2*")) / "summary.json").read_text()
    night = json.loads(text)
    jsonschema.validate(night, SCHEMA)
    return night


def night(runner, folder, *words):
    before = len(list((folder / "results/nights").glob("2*")))
    result = runner("nightly", "nightly.json", *words)
    assert len(list((folder / "results/nights").glob("2*"))) == before + 1, result.err
    return result, summary(folder)


@pytest.mark.parametrize("chosen, said", [({"isolation": "off"}, False), ({}, True)])
def test_the_isolation_that_is_said_is_that_of_a_cell(runner, matrix, tmp_path, chosen, said):
    """Where no sandbox can be made; a file that chooses its isolation needs none."""
    (tmp_path / "bin").mkdir()
    for name in ("git", "python3"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    change(matrix, columns=[{"name": "cpu", "shim": "off"}], **chosen)
    result = runner("nightly", "nightly.json", env={"PATH": tmp_path / "bin"})
    assert (summary(matrix)["cells"][0]["states"]["passed"], "isolation: " in result.out + result.err) == (4, said), result.out
    [report] = matrix.glob("results/runs/*/report.json")
    assert json.loads(report.read_text())["run"]["isolation"] == chosen.get("isolation", "tree")


def test_each_night_says_what_broke_since_when_and_what_changed(runner, matrix):
    first, one = night(runner, matrix)
    cpu, gpu = one["cells"]
    assert (first.code, one["exit_code"], cpu["exit_code"], cpu["states"]["passed"]) == (2, 2, 0, 4)
    assert cpu["verdict"] == "as expected" and cpu["baseline"] is None and cpu["tests"] == []
    assert gpu["run"] is None and gpu["verdict"].startswith("did not run: ") and "cuda" in gpu["verdict"]
    assert gpu["verdict"] in first.out
    assert json.loads((matrix / "told.json").read_text())["cells"] == one["cells"]
    assert (matrix / "site/index.html").exists()

    change(matrix, columns=[{"name": "cpu", "shim": "off", "isolation": "off"}])
    module = matrix / "planets/tests/test_planets.py"
    module.write_text(module.read_text().replace("1 + 1 == 2", "1 + 1 == 3"))
    (matrix / "flip").touch()
    second, two = night(runner, matrix)
    (cpu,) = two["cells"]
    assert (second.code, cpu["exit_code"], cpu["changes"]["regressed"], cpu["broken"]) == (1, 1, 2, 2)
    assert cpu["baseline"] == one["cells"][0]["run"]
    for test in cpu["tests"]:
        assert test["new"] and test["first_bad"]["run"] == cpu["run"] and test["last_good"]["run"] == cpu["baseline"]
    assert "broken since this night:" in second.out and "first bad " + cpu["run"] in second.out

    # A test that is known to be flaky does not fail the night. The rest was broken before.
    (matrix / "flip").unlink()
    night(runner, matrix)
    (matrix / "flip").touch()
    night(runner, matrix)
    (matrix / "flip").unlink()
    night(runner, matrix)
    (matrix / "flip").touch()
    set_version(matrix / "env", "2.0")
    fourth, four = night(runner, matrix)
    tests = {test["test"].rpartition("::")[2]: test for test in four["cells"][0]["tests"]}
    assert set(tests) == {"test_planted", "test_flaky", "test_version"}
    assert [name for name, test in tests.items() if test["new"] and not test["flaky"]] == ["test_version"]
    assert tests["test_version"]["changed"] == [{"name": "packages.planted", "before": "1.0", "now": "2.0"}]
    assert tests["test_planted"]["first_bad"]["run"] == cpu["run"]
    assert tests["test_flaky"]["flaky"] and fourth.code == 1
    assert "changed: packages.planted 1.0 -> 2.0" in fourth.out and "flaky, so that they do not fail the night:" in fourth.out

    set_version(matrix / "env", "1.0")
    module.write_text(module.read_text().replace("1 + 1 == 3", "1 + 1 == 2"))
    fifth, five = night(runner, matrix)
    assert (fifth.code, five["cells"][0]["exit_code"], five["cells"][0]["verdict"]) == (0, 0, "1 test is flaky")
    site = "".join(page.read_text() for page in (matrix / "site").rglob("*.html"))
    assert "planets" in site


def test_a_killed_night_goes_on_with_what_is_left(runner, program, python, tmp_path):
    slow = SLOW.replace("sleep(0.1)", "sleep(0.12)")
    for name in ("first", "second"):
        make_suite(tmp_path / name, {"test_a.py": slow % (3, -1), "test_b.py": slow % (-1, -1)})
    write(tmp_path, {"format": 1, "suites": [{"suite": "first", "python": str(python)}, {"suite": "second", "python": str(python)}],
                     "columns": [{"name": "cpu", "shim": "off", "isolation": "off", "jobs": 1, "warm": "off"}]})
    process = subprocess.Popen([program, "nightly", "nightly.json"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    runs = tmp_path / "results/runs"
    while not any('"event": "end"' in file.read_text() for file in runs.glob("second-*/**/*.events.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    refused = runner("nightly", "nightly.json")
    assert refused.code == 2 and "another night is running" in refused.err
    process.send_signal(signal.SIGKILL)
    process.wait()

    first = summary(tmp_path)
    assert first["finished"] is None and [cell["verdict"] for cell in first["cells"]][1] == "not begun"
    done = runner("nightly", "nightly.json", "--resume")
    night = summary(tmp_path)
    assert done.code == 1 and night["finished"] and len(list(runs.iterdir())) == 2
    assert night["cells"][0]["run"] == first["cells"][0]["run"]
    assert f"complete already: {first['cells'][0]['run']}\n" in done.out
    for cell in night["cells"]:
        assert sum(cell["states"].values()) == 16 and cell["states"]["failed"] == cell["broken"] == 1
        assert cell["states"]["not_run"] == 0
    again = runner("nightly", "nightly.json", "--resume")
    assert again.code == 2 and "the latest night has ended" in again.err


def test_a_clock_that_was_ahead_hides_no_night(runner, matrix):
    """The first night's run and folder are dated two days later, as if its clock had been wrong."""
    change(matrix, columns=[{"name": "cpu", "shim": "off", "isolation": "off"}])
    _, first = night(runner, matrix)
    later = time.time() + 2 * 86400
    with contextlib.closing(sqlite3.connect(matrix / "results/runner.db")) as database:
        database.execute("UPDATE run SET started_ms = ?", [int(later * 1000)])
        database.commit()
    nights = matrix / "results/nights"
    (nights / "latest").resolve().rename(nights / time.strftime("%Y%m%d-%H%M%S", time.gmtime(later)))

    module = matrix / "planets/tests/test_planets.py"
    module.write_text(module.read_text().replace("1 + 1 == 2", "1 + 1 == 3"))
    result = runner("nightly", "nightly.json")
    second = json.loads((nights / "latest/summary.json").read_text())
    (old,), (cell,) = first["cells"], second["cells"]
    assert (result.code, cell["exit_code"], cell["verdict"]) == (1, 1, "1 test broke unexpectedly"), result.out
    assert cell["run"] != old["run"] and cell["states"]["failed"] == 1
    assert f"was a clock wrong? {old['run']} is dated {time.strftime('%Y-%m-%d', time.gmtime(later))}" in result.out
    # docs/guide/results.md, "When a clock was wrong"
    assert cell["baseline"] is None, "sorted by time: there is nothing before it"
    assert old["run"] in runner("show", "latest").out
    test = "tests/test_planets.py::test_planted"
    assert "cpu: passing again\n    F.\n" in runner("blame", test).out
    kept = runner("prune", "--keep", "1", "--dry-run").out
    assert cell["run"] in kept and old["run"] not in kept
    done = runner("nightly", "nightly.json", "--resume")
    assert done.code == 2 and "the latest night has ended" in done.err
    # The night that began last is resumed, not the one that is dated last.
    summary_file = nights / "latest/summary.json"
    summary_file.write_text(json.dumps({**second, "finished": None}))
    done = runner("nightly", "nightly.json", "--resume")
    assert done.code == 1 and f"complete already: {cell['run']}\n" in done.out, done.out + done.err


def test_a_dry_run_writes_nothing_and_old_runs_go(runner, matrix):
    planned = runner("nightly", "nightly.json", "--dry-run")
    assert "planets, cpu: 1 module, no earlier durations" in planned.out
    assert not (matrix / "results").exists() and not (matrix / "site").exists()

    change(matrix, columns=[{"name": "cpu", "shim": "off", "isolation": "off"}], keep={"runs": 1}, notify=["false"])
    first = night(runner, matrix)[1]
    result, last = night(runner, matrix)
    assert result.code == 4 and last["exit_code"] == 4 and "notify: false failed with exit code 1" in last["problems"][0]
    assert [run.name for run in (matrix / "results/runs").iterdir()] == [last["cells"][0]["run"]]
    known = runner("nightly", "nightly.json", "--dry-run")
    [planned] = re.findall(r"^planets, cpu: 1 module, about ([\d.]+)s$", known.out, re.M)
    assert float(planned) <= max(night["cells"][0]["seconds"] for night in (first, last)) + 0.05


def test_secrets_of_what_failed_are_masked_in_the_summary(runner, matrix):
    token = "ghp_" + "a1b2" * 9
    change(matrix, columns=[{"name": "cpu", "shim": "off", "isolation": "off"}],
           notify=["sh", "-c", f'echo "error: $MY_TOKEN {token}"; exit 3', "-H", f"Authorization: Bearer {token}"])
    result = runner("nightly", "nightly.json", env={"MY_TOKEN": "planted-value"})
    text = (matrix / "results/nights/latest/summary.json").read_text()
    assert result.code == 4 and "failed with exit code 3: error: <set> <set>" in text, text
    for said in (text, result.out, result.err):
        assert token not in said and "planted-value" not in said


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_notify_that_hangs_and_resume_tells_again(runner, program, matrix, running, unique_sleep_seconds, asked):
    """Sent to the runner alone, as `timeout` and a job's cancellation do."""
    change(matrix, columns=[{"name": "cpu", "shim": "off", "isolation": "off"}],
           notify=["sh", "-c", f"[ -e told.json ] || {{ touch told.json; trap '' TERM; sleep {unique_sleep_seconds}; true; }}; cat >told.json"])
    process = subprocess.Popen([program, "nightly", "nightly.json"], cwd=matrix, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not running(unique_sleep_seconds):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(asked)
    out = process.communicate(timeout=20)[0]
    assert process.returncode == 130 and "--resume` goes on" in out, out
    assert not running(unique_sleep_seconds)
    first = summary(matrix)
    assert first["finished"] is None and first["problems"] == []
    done = runner("nightly", "nightly.json", "--resume")
    assert done.code == 0 and f"complete already: {first['cells'][0]['run']}\n" in done.out, done.out + done.err
    assert json.loads((matrix / "told.json").read_text()) == summary(matrix)


def test_notify_is_told_that_the_summary_could_not_be_written(runner, matrix):
    """As on a full disk: its place is taken."""
    change(matrix, columns=[{"name": "cpu", "shim": "off", "isolation": "off"}])
    (matrix / "planets/tests/test_planets.py").write_text(
        f"import os\ndef test_takes_its_place():\n    place = {str(matrix / 'results/nights/latest/summary.json')!r}\n"
        "    os.unlink(place)\n    os.mkdir(place)\n")
    result = runner("nightly", "nightly.json")
    told = json.loads((matrix / "told.json").read_text())
    jsonschema.validate(told, SCHEMA)
    assert result.code == 4 and told["exit_code"] == 4 and told["cells"][0]["states"]["passed"] == 1, result.out
    [problem] = told["problems"]
    assert problem.startswith("the summary could not be written: ") and problem in result.out
    assert not list(pathlib.Path(tempfile.gettempdir()).glob("runner-night-*"))


def test_a_name_that_is_no_path_beside_the_file_is_a_shipped_suite(runner, tmp_path):
    write(tmp_path, {"format": 1, "suites": [{"suite": "conformance"}, {"suite": "none"}], "columns": [{"name": "cpu", "shim": "off"}]})
    # Two folders that are there only for the working folder.
    for name in ("conformance", "none"):
        (tmp_path / "elsewhere" / name).mkdir(parents=True)
    planned = runner("nightly", "../nightly.json", "--dry-run", cwd=tmp_path / "elsewhere")
    assert "conformance, cpu: 17 modules" in planned.out, planned.out
    assert f"none, cpu: cannot run: {tmp_path}/none: no such suite folder" in planned.out


def test_errors_name_the_place_in_the_file(runner, tmp_path):
    (tmp_path / "nightly.json").write_text('{"format": 1,\n "suites": [{"suite": "x"}],\n "columns": [{"name": "cpu", "simulat": "mps"}]}')
    refused = runner("nightly", "nightly.json")
    assert refused.code == 2
    assert 'nightly.json:3:30: unknown key "simulat"; did you mean "simulate"?' in refused.err
    assert os.listdir(tmp_path) == ["nightly.json"]
