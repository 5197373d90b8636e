"""`reparse --all`: a damaged or lost database is made anew from the folders of real runs, whole."""
import json
import shutil
import signal
import sqlite3
import subprocess

import pytest

from conftest import SUITES
from test_import import PYTEST, UNITTEST
from test_resume import SLOW, make_suite, start, wait_for_a_test


def dump(folder):
    """Every row of every table, with the rows that it refers to in the place of their numbers; runs in their order."""
    database = sqlite3.connect("file:%s?mode=ro" % (folder / "runner.db"), uri=True)
    database.row_factory = sqlite3.Row
    names = [n for (n,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    rows = {n: {row["id"]: dict(row) for row in database.execute("SELECT * FROM %s ORDER BY id" % n)} for n in names}
    refers = {n: {key["from"]: key["table"] for key in database.execute("PRAGMA foreign_key_list(%s)" % n)} for n in names}
    known = {}

    def whole(table, number):
        if (table, number) not in known:
            known[table, number] = json.dumps({
                column: whole(refers[table][column], value) if column in refers[table] and value is not None else value
                for column, value in rows[table][number].items() if column != "id"}, sort_keys=True)
        return known[table, number]

    tables = {n: sorted(whole(n, number) for number in rows[n]) for n in names}
    tables["order"] = [row["name"] for row in rows["run"].values()]
    database.close()
    return tables


def differences(before, after):
    return {name: (sorted(set(before[name]) - set(after[name]))[:3], sorted(set(after[name]) - set(before[name]))[:3])
            for name in before if before[name] != after[name]}


@pytest.fixture
def imports(tmp_path, python):
    """A log of which a total is wrong, and JUnit XML with an operator that MPS lacks."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_u.py").write_text(UNITTEST)
    (tmp_path / "tests" / "test_p.py").write_text(PYTEST)
    log = subprocess.run([python, "-m", "unittest", "-v", "tests.test_u"], cwd=tmp_path, text=True, capture_output=True).stderr
    (tmp_path / "ci.log").write_text(log.replace("Ran 3 tests", "Ran 4 tests"))
    subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "p.xml", "tests/test_p.py"],
                   cwd=tmp_path, stdout=subprocess.DEVNULL)


@pytest.fixture
def results(runner, program, python, imports, tmp_path):
    """A store with all that a store can hold: runs of both frameworks that crash and hang, one that was interrupted and gone on
    with, one that was killed, a merged one, imports, gaps that were met, scanned and set by hand, verdicts that were stored anew."""
    off = ("--python", python, "--shim", "off")
    assert runner(SUITES / "unittest_states", *off).code == 1
    assert runner(SUITES / "pytest_states", *off, "--retries", "1", "--name", "nightly").code == 1
    slow = make_suite(tmp_path / "slow", {"test_a.py": SLOW % (3, -1), "test_b.py": SLOW % (-1, 4), "test_c.py": SLOW % (-1, -1)})
    for how in signal.SIGINT, signal.SIGKILL:
        ended = sum(f.read_text().count('"event": "end"') for f in (tmp_path / "results").rglob("*.events.jsonl"))
        process = start(program, python, slow, tmp_path)
        wait_for_a_test(tmp_path, ended + 4)
        process.send_signal(how)
        process.communicate(timeout=60)
        if how == signal.SIGINT:
            assert runner("resume").code == 1
    for shard in "12":
        runner(slow, *off, "--shard", shard + "/2", "--results", "r" + shard)
    assert runner("merge", "r1", "r2").code == 1
    assert runner("import", "p.xml", "ci.log", "--device", "mps").code == 3
    assert runner("gaps", "set", "aten::foo", "status=upstream", "issue=https://example.org/1").code == 0
    assert runner("gaps", "scan", "--python", python).code == 0
    assert runner("import", "p.xml", "--device", "mps", "--suite", "theirs").code == 1
    runner("reparse", "--apply", "nightly")
    return tmp_path / "results"


def truncate(file):
    with open(file, "r+b") as database:
        database.truncate(file.stat().st_size // 2)


def zero_pages(file):
    with open(file, "r+b") as database:
        for page in range(2, file.stat().st_size // 4096, 3):
            database.seek(page * 4096)
            database.write(bytes(4096))


def garbage(file):
    with open(file, "r+b") as database:
        database.write(b"\xa5" * 4096)


def empty(file):
    file.write_bytes(b"")


def remove(file):
    file.unlink()


def leave_the_wal(file):
    """What was written last is beside the database, which is gone: a new one must not take it for its own."""
    database = sqlite3.connect(file)
    database.execute("DELETE FROM run")
    database.execute("CREATE TABLE noise (id INTEGER PRIMARY KEY, text)")
    database.executemany("INSERT INTO noise (text) VALUES (?)", [("x" * 1000,)] * 500)
    database.commit()
    wal = file.with_name("runner.db-wal")
    kept = wal.read_bytes()
    database.close()
    file.unlink()
    assert len(kept) > 500_000
    wal.write_bytes(kept)


def intact(file):
    pass


def test_a_database_is_made_anew_as_it_was(runner, results, tmp_path):
    before = dump(results)
    assert len(before["run"]) == 7 and len(before["gap"]) > 100
    assert any('"by_hand": "[\\"issue\\",\\"status\\"]"' in gap for gap in before["gap"])
    reports = {}
    for damage in intact, truncate, zero_pages, garbage, empty, remove, leave_the_wal:
        copy = tmp_path / damage.__name__
        shutil.copytree(results, copy, symlinks=True)
        damage(copy / "runner.db")
        if damage is not intact:
            told = runner("report", "--results", copy) if damage is zero_pages else runner("runs", "--results", copy)
            assert told.code == 4 and "`runner reparse --all --results %s`" % copy in told.err, (damage, told.out, told.err)
        made = runner("reparse", "--all", "--results", copy)
        assert made.code == 0, made.out + made.err
        assert "7 runs made anew" in made.out and "lost" not in made.out
        assert differences(before, dump(copy)) == {}, damage
        assert len(list(copy.glob("runner.db.old-*[0-9]"))) == (damage not in (remove, leave_the_wal))
        assert not (copy / "rebuilding").exists()
        assert runner("reparse", "nightly", "--results", copy).code == 0
        assert runner("report", "nightly", "--results", copy, "--out", copy / "out").code == 0
        reports[damage] = (copy / "out" / "report.json").read_text().replace(str(copy), "")
    assert len(set(reports.values())) == 1
    resumed = runner("resume", "--results", tmp_path / "remove", dump(results)["order"][3])
    assert resumed.code == 1 and "31 passed" not in resumed.out, resumed.err


def test_what_no_folder_tells_is_taken_from_the_old_database(runner, python, imports, tmp_path):
    for name in "older", "newer":
        runner(SUITES / "unittest_states", "--python", python, "--shim", "off", "--name", name)
    runner("import", "p.xml", "ci.log", "--device", "mps")
    runner("gaps", "set", "aten::foo", "status=upstream")
    runner("import", "p.xml", "--device", "mps", "--suite", "theirs")
    results = tmp_path / "results"
    before = dump(results)
    older, newer, _, theirs = before["order"]
    (results / "runs" / older / "record.jsonl").unlink()  # as an older runner left it
    next((results / "runs" / newer).glob("modules/**/1.log")).unlink()
    shutil.rmtree(results / "runs" / theirs)
    (results / "gaps.jsonl").unlink()
    made = runner("reparse", "--all")
    assert made.code == 0, made.out
    assert "1 run made anew" in made.out and "3 runs taken from the old database" in made.out and "1 gap taken" in made.out
    assert differences(before, dump(results)) == {}

    garbage(results / "runner.db")
    made = runner("reparse", "--all")
    assert made.code == 4
    lost = [line for line in made.out.splitlines() if line.startswith("lost: ")]
    assert older in lost[0] and newer in lost[1] and "its files are gone" in lost[1] and len(lost) == 2
    assert dump(results)["order"] == before["order"][1:-1]


def test_it_does_not_begin_while_a_runner_is_at_work(runner, program, python, tmp_path):
    slow = make_suite(tmp_path / "slow", {"test_a.py": SLOW % (-1, -1)})
    process = start(program, python, slow, tmp_path)
    wait_for_a_test(tmp_path, 1)
    refused = runner("reparse", "--all")
    assert refused.code == 2 and "still at work" in refused.err
    assert process.wait(timeout=60) == 0
    nowhere = runner("reparse", "--all", "--results", "nowhere")
    assert nowhere.code == 2 and "no folders of runs" in nowhere.err
    assert runner("reparse", "latest", "--all").code == 2
