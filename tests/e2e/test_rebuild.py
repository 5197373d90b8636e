"""Tests `reparse --all`, which rebuilds a damaged or lost database from the run folders."""
import datetime
import fcntl
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from conftest import SUITES
from test_import import PYTEST, UNITTEST
from test_resume import SLOW, make_suite, start, wait_for_a_test


MIGRATIONS = pathlib.Path(__file__).resolve().parents[2] / "runner/store/migrations"


def dump(folder):
    """Every row of every table, with referenced rows in place of their ids; runs in order."""
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
    """A log with a wrong total, and JUnit XML with an operator that MPS lacks."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_u.py").write_text(UNITTEST)
    (tmp_path / "tests" / "test_p.py").write_text(PYTEST)
    log = subprocess.run([python, "-m", "unittest", "-v", "tests.test_u"], cwd=tmp_path, text=True, capture_output=True).stderr
    (tmp_path / "ci.log").write_text(log.replace("Ran 3 tests", "Ran 4 tests"))
    subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "p.xml", "tests/test_p.py"],
                   cwd=tmp_path, stdout=subprocess.DEVNULL)


@pytest.fixture
def results(runner, program, python, imports, states_copy, tmp_path):
    """A database with every kind of row: runs of both frameworks that crash and hang, resumed,
    killed and merged runs, imports, gaps from runs, scans and users, and re-parsed verdicts."""
    off = ("--python", python, "--shim", "off")
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
    """Deletes the database but not its WAL file: a new database must not read it."""
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


def test_a_rebuilt_database_has_the_same_rows(runner, results, tmp_path):
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
        assert "7 runs rebuilt" in made.out and "lost" not in made.out
        assert differences(before, dump(copy)) == {}, damage
        assert len(list(copy.glob("runner.db.old-*[0-9]"))) == (damage not in (remove, leave_the_wal))
        assert not (copy / "rebuilding").exists()
        assert runner("reparse", "nightly", "--results", copy).code == 0
        assert runner("report", "nightly", "--results", copy, "--out", copy / "out").code == 0
        reports[damage] = (copy / "out" / "report.json").read_text().replace(str(copy), "")
    assert len(set(reports.values())) == 1
    resumed = runner("resume", "--results", tmp_path / "remove", dump(results)["order"][3])
    assert resumed.code == 1 and "31 passed" not in resumed.out, resumed.err


def test_data_missing_in_run_folders_comes_from_the_old_database(runner, python, imports, tmp_path):
    for name in "older", "newer":
        runner(SUITES / "unittest_states", "test_crash.py", "test_states.py", "--python", python, "--shim", "off", "--name", name)
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
    assert "1 run rebuilt" in made.out and "3 runs taken from the old database" in made.out and "1 gap taken" in made.out
    assert differences(before, dump(results)) == {}

    garbage(results / "runner.db")
    made = runner("reparse", "--all")
    assert made.code == 4
    lost = [line for line in made.out.splitlines() if line.startswith("lost: ")]
    assert older in lost[0] and newer in lost[1] and "its files are gone" in lost[1] and len(lost) == 2
    assert dump(results)["order"] == before["order"][1:-1]


def test_a_rebuild_refuses_while_a_runner_works(runner, program, python, tmp_path):
    slow = make_suite(tmp_path / "slow", {"test_a.py": SLOW % (-1, -1)})
    process = start(program, python, slow, tmp_path)
    wait_for_a_test(tmp_path, 1)
    refused = runner("reparse", "--all")
    assert refused.code == 2 and "another command is using these results" in refused.err
    assert process.wait(timeout=60) == 0
    nowhere = runner("reparse", "--all", "--results", "nowhere")
    assert nowhere.code == 2 and "no run folders here" in nowhere.err
    assert runner("reparse", "latest", "--all").code == 2


def import_xml(runner, folder, name, tests=3):
    """A run of `tests` tests, imported from JUnit XML."""
    file = folder / (name + ".xml")
    case = '<testcase classname="%s.test_m.A" name="t%%d" time="0.1"/>' % name
    file.write_text('<testsuites><testsuite name="pytest" tests="%d" failures="0" errors="0" skipped="0">%s</testsuite></testsuites>' % (
        tests, "".join(case % n for n in range(tests))))
    made = runner("import", file, "--suite", name)
    assert made.code == 0, made.out + made.err
    return made.folder


def test_a_rebuild_on_a_full_disk_keeps_the_old_database(runner, program, tmp_path):
    """The disk has room for the WAL but not for the last pages: SQLite closes without an error."""
    for number in range(4):
        import_xml(runner, tmp_path, "s%d" % number, 8000)
    assert runner("reparse", "--all").code == 0
    results = tmp_path / "results"
    for old in results.glob("*.old-*"):
        old.unlink()
    before, size = dump(results), (results / "runner.db").stat().st_size
    limit = size - 16384
    full = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f %d; exec "$0" reparse --all' % (limit // 1024), program], cwd=tmp_path,
                          text=True, capture_output=True)
    assert full.returncode == 4, full.stdout + full.stderr
    assert "disk" in full.stderr
    assert not list(results.glob("*.old-*")) and not (results / "rebuilding").exists()
    assert dump(results) == before


def test_a_good_database_wins_over_a_damaged_record(runner, python, tmp_path):
    suite = make_suite(tmp_path / "s", {"test_%s.py" % name: SLOW % (-1, -1) for name in "ab"})
    run = runner(suite, "--python", python, "--shim", "off")
    before = dump(tmp_path / "results")
    record = run.folder / "record.jsonl"
    text = record.read_text()
    lines = text.splitlines(keepends=True)
    [first, second] = [number for number, line in enumerate(lines) if json.loads(line)["event"] == "attempt"]
    for damaged in [
        lines[:second] + [lines[second][:100] + "\n"] + lines[second + 1:],
        lines[:first] + lines[first + 1:],
        lines[:-1],
    ]:
        record.write_text("".join(damaged))
        made = runner("reparse", "--all")
        assert made.code == 0 and "1 run taken from the old database" in made.out, made.out + made.err
        assert differences(before, dump(tmp_path / "results")) == {}
    record.write_text("".join(lines[:second] + [lines[second][:100] + "\n"] + lines[second + 1:]))
    (tmp_path / "results" / "runner.db").unlink()
    made = runner("reparse", "--all")
    assert made.code == 4 and "1 line of its record.jsonl cannot be read" in made.out
    record.write_text(text)
    made = runner("reparse", "--all")
    assert made.code == 0 and "1 run rebuilt" in made.out
    assert differences(before, dump(tmp_path / "results")) == {}


def test_databases_kept_by_earlier_rebuilds_are_not_overwritten(runner, tmp_path):
    import_xml(runner, tmp_path, "s")
    now = datetime.datetime.now(datetime.timezone.utc)
    names = [(now + datetime.timedelta(seconds=s)).strftime("runner.db.old-%Y%m%d-%H%M%S") for s in range(60)]
    for name in names:
        (tmp_path / "results" / name).write_text("kept")
    for _ in range(2):
        made = runner("reparse", "--all")
        assert made.code == 0, made.err
        assert any("is kept as %s/results/%s-" % (tmp_path, name) in made.out for name in names), made.out
    assert {(tmp_path / "results" / name).read_text() for name in names} == {"kept"}
    kept = [path for path in tmp_path.glob("results/*.old-*") if path.name not in names and not path.name.endswith(("-wal", "-shm"))]
    assert len(kept) == 2


def test_a_rebuild_locks_the_results_folder(runner, program, tmp_path):
    import_xml(runner, tmp_path, "s")
    waits = subprocess.Popen([program, "import", "-", "--stdin-name", "p.xml"], cwd=tmp_path, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("results/runs/*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    refused = runner("reparse", "--all")
    assert refused.code == 2 and "another command is using these results" in refused.err, refused.err
    assert "import - --stdin-name p.xml (process %d)" % waits.pid in refused.err, refused.err
    _, error = waits.communicate((tmp_path / "s.xml").read_bytes(), timeout=60)
    assert waits.returncode == 0, error
    assert runner("reparse", "--all").code == 0
    assert len(dump(tmp_path / "results")["run"]) == 2
    with open(tmp_path / "results" / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in ["import", "s.xml"], ["reparse"], ["reparse", "--all"]:
            refused = runner(*words)
            assert refused.code == 2, (words, refused.err)
            assert ("being rebuilt" in refused.err) != ("--all" in words), refused.err
    assert len(dump(tmp_path / "results")["run"]) == 2


@pytest.mark.parametrize("fingerprint", ['{"imported":[1]}', '{"imported":[{"name":"x","dialect":"cobol","copy":"x"}]}', "no JSON"])
def test_a_bad_record_loses_only_its_own_run(runner, tmp_path, fingerprint):
    bad = import_xml(runner, tmp_path, "bad")
    import_xml(runner, tmp_path, "good")
    before = dump(tmp_path / "results")
    lines = (bad / "record.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["fingerprint"] = fingerprint
    (bad / "record.jsonl").write_text("\n".join([json.dumps(first)] + lines[1:]) + "\n")
    made = runner("reparse", "--all")
    assert made.code == 0 and "1 run taken from the old database" in made.out, made.out + made.err
    assert differences(before, dump(tmp_path / "results")) == {}
    (tmp_path / "results" / "runner.db").unlink()
    made = runner("reparse", "--all")
    assert made.code == 4 and made.err == "", made.err
    [lost] = [line for line in made.out.splitlines() if line.startswith("lost: ")]
    assert bad.name in lost
    assert dump(tmp_path / "results")["order"] == before["order"][1:]


def test_a_rebuild_reads_one_record_at_a_time(runner, program, tmp_path):
    """Each of six records has a command line of 600,000 words, about 20 MB in memory."""
    [line, *rest] = (import_xml(runner, tmp_path, "s") / "record.jsonl").read_text().splitlines()
    peaks = []
    for count in 1, 6:
        runs = tmp_path / str(count) / "runs"
        for number in range(count):
            record = json.loads(line)
            record["run"] += "-%d" % number
            record["argv"] = ["x"] * 600_000
            record["fingerprint"] = "{}"
            (runs / record["run"]).mkdir(parents=True)
            (runs / record["run"] / "record.jsonl").write_text("\n".join([json.dumps(record)] + rest) + "\n")
        made = subprocess.Popen([program, "reparse", "--all", "--results", runs.parent], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(made.pid, 0)
        made.returncode = os.waitstatus_to_exitcode(status)
        assert made.returncode == 0
        assert len(dump(runs.parent)["run"]) == count
        peaks.append(usage.ru_maxrss * 1024)
    assert peaks[1] - peaks[0] < 60_000_000, peaks


def write_as_version(file, version):
    """Replaces `file` by a database of an older `version` with the same rows."""
    new = file.rename(file.with_name("new.db"))
    with sqlite3.connect(file) as database:
        for number in range(18, version + 1):
            database.executescript((MIGRATIONS / ("%d.sql" % number)).read_text())
        database.execute("PRAGMA application_id = %d" % 0x726E7231)
        database.execute("PRAGMA user_version = %d" % version)
        database.execute("ATTACH ? AS new", (str(new),))
        columns = lambda schema, table: [row[1] for row in database.execute("PRAGMA %s.table_info(%s)" % (schema, table))]
        for (table,) in database.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall():
            shared = ", ".join('"%s"' % name for name in columns("main", table) if name in columns("new", table))
            database.execute("INSERT INTO main.%s (%s) SELECT %s FROM new.%s" % (table, shared, shared, table))
    database.close()
    new.unlink()


def test_a_database_of_an_older_version_is_kept_unchanged(runner, tmp_path):
    """A database of version 18 whose run folders are missing is read and kept."""
    import_xml(runner, tmp_path, "s")
    results = tmp_path / "results"
    write_as_version(results / "runner.db", 18)
    shutil.rmtree(next((results / "runs").glob("s_*")))
    before = (results / "runner.db").read_bytes()
    made = runner("reparse", "--all")
    assert made.code == 0 and "1 run taken from the old database" in made.out, made.out + made.err
    [kept] = [path for path in results.glob("runner.db.old-*") if not path.name.endswith(("-wal", "-shm"))]
    assert kept.read_bytes() == before
    assert len(dump(results)["run"]) == 1
