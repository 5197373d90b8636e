"""`runner archive`: a run as one file, which the commands read as it is."""
import json
import os
import pathlib
import subprocess
import urllib.request

import pytest

from test_resume import make_suite, states
from test_shards import ASSERTS, only_run, reported_tests


@pytest.fixture
def suite(tmp_path):
    many = ASSERTS + "\n    def test_flip(self):\n        import os\n        self.assertEqual(os.environ.get('FLIP'), None)\n"
    return make_suite(tmp_path / "suite", {"test_%d.py" % i: many % i for i in range(5)})


@pytest.fixture
def env(tmp_path):
    return {"COMPAT_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def archived(runner, python, suite, env, tmp_path):
    """A run's report, and the run as an archive alone."""
    assert runner(suite, "--python", python, "--shim", "off").code == 1
    report = json.loads((tmp_path / "results/latest/report.json").read_text())
    made = runner("archive", "latest", "--out", "before.tar.zst", env=env)
    assert made.code == 0, made.err
    (tmp_path / "results").rename(tmp_path / "original")
    return report


def test_report_show_and_runs_read_an_archive(runner, archived, env, tmp_path):
    reported = runner("report", "before.tar.zst", "--format", "json", env=env)
    assert reported.code == 0, reported.err
    report = json.loads(pathlib.Path(reported.out.strip()).read_text())
    assert reported_tests(report) == reported_tests(archived)
    assert report["accounting"] == archived["accounting"] and report["run"]["id"] == archived["run"]["id"]
    shown = runner("show", "before.tar.zst", env=env)
    assert shown.code == 0 and "tests/test_3.py::A::test_a" in shown.out
    listed = runner("runs", "--results", "before.tar.zst", env=env)
    assert listed.code == 0 and archived["run"]["id"] in listed.out
    assert not (tmp_path / "results").exists()


def test_compare_reads_archives_and_results(runner, archived, python, suite, env, tmp_path):
    assert runner(suite, "--python", python, "--shim", "off", "--env", "FLIP=1").code == 1
    assert runner("archive", "--out", "after.tar.zst", env=env).code == 0
    expected = runner("compare", "latest", "--baseline-results", "original", "--format", "json", env=env)
    assert expected.code == 0 and json.loads(expected.out)["comparisons"][0]["classes"]["regressed"] == 5
    for words in (("before.tar.zst", "latest"), ("before.tar.zst", "after.tar.zst"), ("--baseline-results", "before.tar.zst", "latest"),
                  ("after.tar.zst", "--baseline-results", "original")):
        compared = runner("compare", *words, "--format", "json", env=env)
        assert compared.code == 0, (words, compared.err)
        assert json.loads(compared.out)["comparisons"][0]["classes"] == json.loads(expected.out)["comparisons"][0]["classes"], words


def test_merge_reads_archived_shards(runner, python, suite, env, tmp_path):
    for i in (1, 2):
        assert runner(suite, "--python", python, "--shim", "off", "--shard", "%d/2" % i, "--results", "r%d" % i).code in (0, 1)
        made = runner("archive", only_run(tmp_path / ("r%d" % i)).name, "--results", "r%d" % i, "--out", "shard-%d.tar.zst" % i, env=env)
        assert made.code == 0, made.err
    assert runner("merge", "r1", "r2", "--results", "folders").code == 1
    merged = runner("merge", "shard-1.tar.zst", "shard-2.tar.zst", "--results", "archives", env=env)
    assert merged.code == 1, merged.err
    reports = [json.loads((tmp_path / name / "latest/report.json").read_text()) for name in ("folders", "archives")]
    assert states(reports[0]) == states(reports[1]) and len(states(reports[0])) == 10
    refused = runner("report", "shard-1.tar.zst", env=env)
    assert refused.code == 2 and "only has shards" in refused.err


def test_serve_reads_an_archive(program, archived, env, tmp_path):
    process = subprocess.Popen([program, "serve", "--results", "before.tar.zst", "--port", "0"], cwd=tmp_path, env={**os.environ, **env},
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=60) as page:
            assert archived["run"]["id"] in page.read().decode()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_what_an_archive_holds(runner, archived, env, tmp_path):
    folder = only_run(tmp_path / "original")
    (tmp_path / "results").mkdir()
    subprocess.run(["tar", "--zstd", "-xf", "before.tar.zst", "-C", "results"], cwd=tmp_path, check=True)
    unpacked = tmp_path / "results/runs" / folder.name
    names = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    kept = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} - {pathlib.Path(name) for name in ("lock", "report.md", "report.json", "report.html")}
    assert names == kept
    assert all((unpacked / name).read_bytes() == (folder / name).read_bytes() for name in names)
    # Unpacked by tar it is a run that `reparse --all` stores.
    assert runner("reparse", "--all").code == 0
    assert archived["run"]["id"] in runner("runs").out


def test_archives_that_cannot_be_made_or_read(runner, archived, env, tmp_path):
    whole = (tmp_path / "before.tar.zst").read_bytes()
    (tmp_path / "cut.tar.zst").write_bytes(whole[:len(whole) // 2])
    (tmp_path / "text.tar.zst").write_text("text")
    for name in ("cut.tar.zst", "text.tar.zst"):
        refused = runner("report", name, env=env)
        assert refused.code == 2 and "no archive of a run" in refused.err, refused.err
    (tmp_path / "file").write_text("x")
    subprocess.run(["tar", "--zstd", "-cf", "other.tar.zst", "file"], cwd=tmp_path, check=True)
    assert "holds no run" in runner("report", "other.tar.zst", env=env).err
    for words, why in ((("archive", "nothing"), "nothing"), (("archive", "--out", "x.zip"), ".tar.zst")):
        refused = runner(*words, "--results", "original")
        assert refused.code == 2 and why in refused.err, refused.err
