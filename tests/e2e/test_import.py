"""Tests `import` and `reparse` with files written by real frameworks."""
import contextlib
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree

import pytest

UNITTEST = '''import unittest

class A(unittest.TestCase):
    def test_good(self):
        pass
    def test_bad(self):
        self.assertEqual(1, 2)
    @unittest.skip("not here")
    def test_skipped(self):
        pass
'''
PYTEST = '''import pytest

def test_good(): pass
def test_bad(): raise NotImplementedError("The operator 'aten::foo' is not currently implemented for the MPS device.")
@pytest.mark.xfail
def test_known(): assert False
'''


@pytest.fixture
def ci_results(tmp_path, python):
    """A folder with a unittest log, JUnit XML of a pytest run, and an unknown file."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "test_u.py").write_text(UNITTEST)
    (tmp_path / "tests" / "test_p.py").write_text(PYTEST)
    out = tmp_path / "out"
    out.mkdir()
    log = subprocess.run([python, "-m", "unittest", "-v", "tests.test_u"], cwd=tmp_path, text=True, capture_output=True)
    assert log.returncode == 1
    (out / "ci.log").write_text(log.stdout + log.stderr)
    subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", out / "p.xml", "tests/test_p.py"],
                   cwd=tmp_path, stdout=subprocess.DEVNULL)
    (out / "notes.txt").write_text("nothing to see\n")
    return out


STATES = {
    "tests/test_u.py::A::test_good": "passed", "tests/test_u.py::A::test_bad": "failed",
    "tests/test_u.py::A::test_skipped": "skipped", "tests/test_p.py::test_good": "passed",
    "tests/test_p.py::test_bad": "failed", "tests/test_p.py::test_known": "xfailed",
}


def states(report):
    return {case["id"]: case["state"] for module in report["modules"] for case in module["cases"]}


def test_a_folder_of_results_becomes_a_run(runner, ci_results):
    made = runner("import", ci_results, "--suite", "theirs", "--device", "mps", "--torch", "2.1.0")
    assert made.code == 1, made.err
    assert "ci.log: unittest" in made.out and "p.xml: junit-xml" in made.out
    assert "passed over" in made.out and "notes.txt" in made.out
    assert states(made.report) == STATES
    assert made.report["accounting"] == {"closed": True, "mismatches": []}
    assert made.report["run"]["device"] == "mps" and made.report["run"]["suite"] == "theirs"
    causes = {f["id"]: f["failure"]["cause"] for m in made.report["modules"] for f in m["cases"] if f["failure"]}
    assert causes["tests/test_p.py::test_bad"] == "op_missing"
    gaps = json.loads(runner("gaps", "list", "--json").out)["gaps"]
    assert [(gap["symbol"], gap["device"]) for gap in gaps] == [("aten::foo", "mps")]
    kept = sorted(path.name for path in (made.folder / "imported").iterdir())
    assert kept == ["1-ci.log", "2-p.xml"]
    assert runner("runs").out.startswith("theirs_")
    assert "tests/test_u.py::A::test_bad" in runner("show", "latest").out
    assert runner("reparse").code == 0
    for words in ["resume"], ["rerun", "--failed"]:
        again = runner(*words)
        assert again.code == 2 and "imported" in again.err


def test_results_of_another_attempt_at_a_module(runner, ci_results):
    """The same tests again, now passing: they are flaky."""
    passed = ci_results / "ci-attempt-2.log"
    passed.write_text((ci_results / "ci.log").read_text().replace("test_bad (tests.test_u.A.test_bad) ... FAIL", "test_bad (tests.test_u.A.test_bad) ... ok")
                      .split("=====")[0] + "-" * 70 + "\nRan 3 tests in 0.000s\n\nOK (skipped=1)\n")
    made = runner("import", passed, ci_results / "ci.log")
    assert made.code == 0, made.out + made.err
    cases = {case["id"]: case for module in made.report["modules"] for case in module["cases"]}
    bad = cases["tests/test_u.py::A::test_bad"]
    assert bad["state"] == "passed" and bad["flaky"]


def quiet(passed, skipped=0):
    """A session of `pytest -q`."""
    counts = ["%d passed" % passed] + ["%d skipped" % skipped] * (skipped > 0)
    return "." * passed + "s" * skipped + "   [100%]\n" + ", ".join(counts) + " in 0.01s\n"


def test_an_attempt_that_a_file_tells_of_is_in_every_report(runner, tmp_path):
    flaky = """<testsuite name="demo.FlakyTest" time="0.02" tests="2" errors="0" skipped="0" failures="0" flakes="1">
<testcase name="once" classname="demo.FlakyTest" time="0.01"><flakyFailure message="was 3" type="java.lang.AssertionError">
<stackTrace><![CDATA[java.lang.AssertionError: was 3
\tat demo.FlakyTest.once(FlakyTest.java:11)]]></stackTrace><system-out>port 80</system-out></flakyFailure></testcase>
<testcase name="fine" classname="demo.FlakyTest" time="0.01"/></testsuite>"""
    (tmp_path / "TEST-demo.FlakyTest.xml").write_text(flaky)
    made = runner("import", tmp_path / "TEST-demo.FlakyTest.xml")
    assert made.code == 0 and made.report["accounting"]["closed"], made.out
    (once, fine) = made.report["modules"][0]["cases"]
    assert (once["state"], once["flaky"], fine["flaky"]) == ("passed", True, False)
    assert [attempt["state"] for attempt in once["attempts"]] == ["failed", "passed"]
    assert "FlakyTest.java:11" in once["attempts"][0]["traceback"] and "port 80" in once["attempts"][0]["traceback"]
    words = "java.lang.AssertionError: was 3"
    assert f"failed `{words}`, then passed" in (made.folder / "report.md").read_text()
    for shown in ["show", "latest"], ["show", "latest", once["id"]], ["show", once["id"]]:
        assert f"attempt 1: failed: {words}" in runner(*shown).out, shown
    # Our own file tells of it again.
    for form in "ctrf", "junit":
        runner("report", "latest", "--format", form)
    (ctrf,) = made.folder.glob("ctrf.json")
    retry = json.loads(ctrf.read_text())["results"]["tests"][0]["retryAttempts"][0]
    assert retry["message"] == words and "FlakyTest.java:11" in retry["trace"]
    again = runner("import", made.folder / "junit.xml")
    (once, _) = again.report["modules"][0]["cases"]
    assert once["flaky"] and "FlakyTest.java:11" in once["attempts"][0]["traceback"]
    assert runner("reparse", "latest").code == 0


def test_tests_without_a_name_are_one_row_for_each_state_of_a_run(runner, tmp_path):
    for folder, text in ("one", quiet(5)), ("two", quiet(3, 1)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ci.log").write_text(text)
    (tmp_path / "both.log").write_text(quiet(5) + quiet(3, 1))
    sessions = runner("import", "both.log")
    assert sessions.code == 0 and "note: both.log: 5 passed, unnamed; to have their names, import JUnit XML (--junit-xml) (the first of 2 runs)" in sessions.out, sessions.out
    assert states(sessions.report) == {"both.log::<unnamed passed>": "passed", "both.log::<unnamed passed 2>": "passed",
                                       "both.log::<unnamed skipped 2>": "skipped"}
    assert sessions.report["accounting"] == {"closed": True, "mismatches": []}
    reasons = [case["reason"] for module in sessions.report["modules"] for case in module["cases"]]
    assert reasons == ["5 passed, unnamed", "3 passed, unnamed", "1 skipped, unnamed"]
    totals = sessions.report["totals"]
    assert (totals["collected"], totals["passed"], totals["skipped"]) == (9, 8, 1)  # the closing lines'
    assert "imported: 9 tests in 1 module: 8 passed, 1 skipped" in sessions.out
    folders = runner("import", "one", "two/ci.log")
    assert folders.code == 0 and "\none/ci.log: pytest\ntwo/ci.log: pytest\n" in "\n" + folders.out, folders.out
    assert states(folders.report) == {"one/ci.log::<unnamed passed>": "passed", "two/ci.log::<unnamed passed>": "passed",
                                      "two/ci.log::<unnamed skipped>": "skipped"}
    assert runner("reparse").code == 0


def test_a_row_of_many_tests_counts_the_same_everywhere(runner, tmp_path):
    (tmp_path / "ci.log").write_text(quiet(500, 2))
    first = runner("import", "ci.log", "--name", "quiet")
    (tmp_path / "ci.log").write_text(quiet(31, 2))
    second = runner("import", "ci.log", "--name", "quiet")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    written = runner("report", "latest", "--junit", "junit.xml", "--ctrf", "ctrf.json")
    assert written.code == 0, written.err
    listed = runner("runs").out
    assert "500 passed, 2 skipped" in listed and "31 passed, 2 skipped" in listed
    compared = runner("compare", "latest~1", "latest")
    assert "1 modules, 502 tests" in compared.out.replace("1 module,", "1 modules,") and "33 tests" in compared.out, compared.out
    root = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert root.get("tests") == str(len(root.findall(".//testcase"))) == "2"
    results = json.loads((tmp_path / "ctrf.json").read_text())["results"]
    assert results["summary"]["tests"] == len(results["tests"]) == 2
    assert runner("reparse", "latest").out.endswith(": 0 differ\n")


def test_a_later_row_of_other_tests_replaces_the_earlier_one(runner, tmp_path):
    run = ("\nRepeating all tests (iteration {1}) . . .\n\n[==========] Running {0} tests from 1 test suite.\n[ RUN      ] A.a\n"
           "[       OK ] A.a (0 ms)\n[==========] {0} tests from 1 test suite ran. (1 ms total)\n[  PASSED  ] {0} tests.\n")
    (tmp_path / "brief.log").write_text(run.format(3, 1) + run.format(5, 2))
    made = runner("import", "brief.log", "--dialect", "googletest")
    assert made.code == 0 and made.report["totals"]["passed"] == 5, made.out + made.err
    assert runner("reparse", "latest").out.endswith(": 0 differ\n")


def test_a_count_beyond_reason_costs_no_pages(runner, tmp_path):
    (tmp_path / "ci.log").write_text("999999999999 passed in 1.00s\n")
    assert runner("import", "ci.log").code == 0
    site = runner("site", "--out", "site", timeout=60)
    assert site.code == 0 and len(list((tmp_path / "site").rglob("*.html"))) < 10, site.out + site.err


@pytest.mark.parametrize("command", [["pytest", "-q", "-p", "no:cacheprovider", "test_dies.py"], ["unittest", "test_dies"]])
def test_a_killed_quiet_run_beside_a_whole_one_makes_the_run_unclean(runner, tmp_path, python, command):
    (tmp_path / "test_dies.py").write_text("import os, unittest\nclass A(unittest.TestCase):\n    def test_1(self): pass\n"
                                           "    def test_2(self): pass\n    def test_3(self): 'A' in os.environ and os.kill(os.getpid(), 9)\n")
    log = subprocess.run(["bash", "-c", '"$0" -m "$@"; A=1 "$0" -m "$@"; echo done', python, *command], cwd=tmp_path,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    assert "3 passed" in log or "Ran 3 tests" in log
    (tmp_path / "ci.log").write_text(log)
    made = runner("import", "ci.log")
    assert made.code == 3, made.out
    assert sorted(states(made.report).values()) == ["crashed", "passed"]


def test_a_log_of_dots_alone_was_cut_off(runner, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "ci.log").write_text(".....F.\n")
    refused = runner("import", "logs/ci.log")
    assert refused.code == 2 and "a test run that was cut off" in refused.err and "--junit-xml" in refused.err
    for dialect in "pytest", "unittest":
        made = runner("import", "logs/ci.log", "--dialect", dialect)
        assert made.code == 2 and "no results in these files" in made.err, made.err
    (tmp_path / "logs" / "whole.log").write_text(quiet(2))
    folder = runner("import", "logs")
    assert folder.code == 3 and states(folder.report) == {"whole.log::<unnamed passed>": "passed"}
    assert "cut off" in folder.report["accounting"]["mismatches"][0]["message"]


def test_a_truncated_log_makes_the_run_unclean(runner, ci_results):
    log = ci_results / "ci.log"
    log.write_text(log.read_text().split("=====")[0])
    made = runner("import", log)
    assert made.code == 3
    assert made.report["accounting"]["closed"] is False


def test_a_log_of_two_frameworks_makes_the_run_unclean(runner, ci_results, python, tmp_path):
    session = subprocess.run([python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/test_p.py"], cwd=tmp_path,
                             text=True, capture_output=True).stdout
    both = ci_results / "both.log"
    both.write_text(session + (ci_results / "ci.log").read_text())
    made = runner("import", both)
    assert made.code == 3 and "import it again with --dialect unittest" in made.out
    assert "--dialect unittest" in (made.folder / "report.md").read_text()
    assert [m["module"] for m in made.report["accounting"]["mismatches"]] == ["both.log"]
    assert len(states(made.report)) == 3
    chosen = runner("import", both, "--dialect", "unittest")
    assert chosen.code == 1 and chosen.report["accounting"]["closed"]


def test_the_report_lists_totals_of_several_modules(runner, ci_results):
    log = ci_results / "ci.log"
    more = log.read_text().replace("test_u.A.test_good)", "test_v.A.test_good)").replace("Ran 3 tests", "Ran 4 tests")
    log.write_text(more)
    made = runner("import", log)
    assert made.code == 3
    totals, doubt = [m["message"] for m in made.report["accounting"]["mismatches"]]
    assert totals == "ran: 3 by its tests, 4 by the framework's closing line"
    assert "ambiguous: " in doubt and "run again with -v" in doubt
    assert "Accounting does not close" in (made.folder / "report.md").read_text()


@pytest.mark.parametrize("words, error", [
    (["nowhere.log"], "no such file"),
    (["notes.txt"], "in any known dialect"),
    (["empty"], "this file is empty"),
    (["ci.log", "--dialect", "cobol"], "unknown dialect 'cobol'"),
    (["ci.log", "--dialect", "junit-xml"], "no results in these files"),
])
def test_a_failed_import_stores_nothing(runner, ci_results, words, error):
    (ci_results / "empty").touch()
    made = runner("import", *words, cwd=ci_results)
    assert made.code == 2 and error in made.err, made.err
    assert not list((ci_results / "results").glob("runs/*"))


def of_stdin(program, words, bytes, cwd):
    return subprocess.run([program, "import", *words], input=bytes, cwd=cwd, capture_output=True)


def test_stdin_pipes_and_gzip_files_are_read(runner, program, ci_results, tmp_path):
    log = (ci_results / "ci.log").read_bytes()
    expected = {test: state for test, state in STATES.items() if "test_u" in test}
    forms = {"plain": log, "packed": gzip.compress(log), "powershell": log.decode().replace("\n", "\r\n").encode("utf-16"),
             "marked": b"\xef\xbb\xbf" + log, "packed-powershell": gzip.compress(log.decode().encode("utf-16"))}
    for name, bytes in forms.items():
        cwd = tmp_path / name
        cwd.mkdir()
        made = of_stdin(program, ["-", "--stdin-name", "build.log"], bytes, cwd)
        assert made.returncode == 1, made.stderr
        latest = cwd / "results" / "latest"
        assert states(json.loads((latest / "report.json").read_text())) == expected, name
        assert [p.name for p in (latest / "imported").iterdir()] == ["1-build.log"]
        assert not (latest / "incoming").exists()
        (cwd / "build.log.gz").write_bytes(bytes)
        made = runner("import", "build.log.gz", "--results", "of-file", cwd=cwd)
        assert made.code == 1, made.err
        assert states(json.loads((cwd / "of-file/latest/report.json").read_text())) == expected, name
        assert runner("reparse", "--results", "of-file", cwd=cwd).code == 0
    pipe = subprocess.run(["bash", "-c", '"$0" import <(cat ci.log) p.xml -', program], cwd=ci_results, input=b"", capture_output=True)
    assert pipe.returncode == 2 and b"this file is empty" in pipe.stderr
    pipe = subprocess.run(["bash", "-c", '"$0" import <(cat ci.log) <(gzip -c p.xml)', program], cwd=ci_results, capture_output=True)
    assert pipe.returncode == 1, pipe.stderr
    assert states(json.loads((ci_results / "results/latest/report.json").read_text())) == STATES


@pytest.mark.parametrize("bytes, words", [
    (b"PK\x03\x04 and more", "this is a zip archive: unpack it with `unzip my.log`"),
    (b"\xfd7zXZ\0 and more", "this is packed by xz: unpack it with `unxz -k my.log`"),
    (gzip.compress(bytes(range(256)) * 99)[:80], "this file of gzip's breaks off: `gzip -dc my.log"),
])
def test_unsupported_compression_is_named(runner, tmp_path, bytes, words):
    (tmp_path / "my.log").write_bytes(bytes)
    made = runner("import", "my.log")
    assert made.code == 2 and words in made.err, made.err
    assert not list(tmp_path.glob("results/runs/*"))


def test_the_runners_own_results_in_a_folder_are_not_imported(runner, ci_results):
    """A file that is named twice is read once."""
    assert runner("import", "ci.log", cwd=ci_results).code == 1
    for number in range(30):
        (ci_results / ("other-%d" % number)).write_text("nothing\n")
    made = runner("import", ".", "ci.log", cwd=ci_results)
    report = json.loads((ci_results / "results/latest/report.json").read_text())
    assert states(report) == STATES, made.out
    assert [module["attempts"] for module in report["modules"]] == [1, 1]
    assert made.out.count("passed over") == 20 and "note: 11 more like these" in made.out


def test_links_in_a_folder_lead_to_nothing_outside_it(runner, ci_results):
    """A folder that was unpacked may hold links to anything that its reader may read."""
    outside = ci_results.parent / "private.log"
    (ci_results / "ci.log").rename(outside)
    (ci_results / "link.log").symlink_to(outside)
    (ci_results / "copy.log").write_bytes(outside.read_bytes())
    (ci_results / "inside.log").symlink_to("copy.log")
    made = runner("import", ci_results)
    assert made.code == 1 and states(made.report) == STATES, made.out
    assert "link.log: a link out of the folder" in made.out


def test_a_corrupt_gzip_file_in_a_folder_makes_the_run_unclean(runner, ci_results):
    packed = gzip.compress((ci_results / "ci.log").read_bytes())
    (ci_results / "b.log.gz").write_bytes(packed[:len(packed) // 2])
    (ci_results / "empty.log").touch()
    made = runner("import", ci_results)
    assert made.code == 3, made.out
    assert made.out.count("passed over") == 2  # that and notes.txt
    assert states(made.report) == STATES
    [mismatch] = made.report["accounting"]["mismatches"]
    assert mismatch["module"] == str(ci_results / "b.log.gz") and "breaks off" in mismatch["message"]
    assert "b.log.gz" in (made.folder / "report.md").read_text()
    assert len(list((made.folder / "imported").iterdir())) == 2
    for words in [], ["--apply"], ["--all"]:
        again = runner("reparse", *words)
        assert again.code == 0, again.out + again.err
    assert runner("report").code == 0
    assert made.report["accounting"]["mismatches"] == [mismatch]
    (ci_results / "ci.log").unlink()
    (ci_results / "p.xml").unlink()
    alone = runner("import", ci_results, "--results", "alone")
    assert alone.code == 2 and "no results in these files" in alone.err and "breaks off" in alone.err


def test_an_import_to_a_full_disk_is_an_error(program, ci_results, tmp_path):
    """No room to unpack a file is an error; the file is not skipped."""
    with gzip.open(ci_results / "large.log.gz", "wb") as packed:
        packed.write((ci_results / "ci.log").read_bytes() * 5000)
    full = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 1024; exec "$0" import "$1"', program, ci_results], cwd=tmp_path,
                          text=True, capture_output=True)
    assert full.returncode == 4 and "passed over" not in full.stdout, full.stdout + full.stderr
    assert not list(tmp_path.glob("results/runs/*"))


def test_a_file_that_is_emptied_meanwhile_is_no_crash(program, tmp_path):
    """A job that begins anew, or a rotated log, does so. The content at the time of the copy
    counts."""
    text = "".join(f"test_{n} (t.A.test_{n}) ... ok\n" for n in range(1000)) * 1000
    for delay in (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1):
        (tmp_path / "ci.log").write_text(f"{text}\n{'-' * 70}\nRan 1000000 tests in 1s\n\nOK\n")
        process = subprocess.Popen([program, "import", "ci.log"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(delay)
        os.truncate(tmp_path / "ci.log", 0)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it was copied before
            process.wait(2)
            assert process.returncode in (2, 3), (delay, process.returncode, process.stdout.read())
        process.terminate()
        process.wait()
        for run in tmp_path.glob("results/runs/*"):  # stored whole, whatever ended the process after that
            assert '"event":"end"' in (run / "record.jsonl").read_text(), (delay, process.returncode)


def test_an_import_names_a_run_that_is_dated_later(runner, ci_results, tmp_path):
    first = runner("import", ci_results / "p.xml", "--suite", "theirs")
    earlier = first.report["run"]["id"]
    assert "was a clock wrong?" not in first.out
    with contextlib.closing(sqlite3.connect(tmp_path / "results/runner.db")) as database:
        database.execute("UPDATE run SET started_ms = ?", [int((time.time() + 86400) * 1000)])
        database.commit()
    again = runner("import", ci_results / "p.xml", "--suite", "theirs")
    assert f"note: was a clock wrong? {earlier} is dated " in again.out
    assert "was a clock wrong?" not in runner("import", ci_results / "p.xml", "--suite", "others").out


def test_a_damaged_database_is_reported_before_stdin_is_read(program, ci_results, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runner.db").write_bytes(b"\xa5" * 8192)
    reader, writer = os.pipe()
    os.write(writer, b"one line\n")
    made = subprocess.run([program, "import", "-"], cwd=tmp_path, stdin=reader, stderr=subprocess.PIPE, timeout=30)
    assert made.returncode == 4 and b"the database is damaged" in made.stderr
    os.close(writer)
    assert os.read(reader, 100) == b"one line\n"
    os.close(reader)


def test_wrong_totals_are_reported_despite_many_other_diagnostics(runner, tmp_path):
    """A file with wrong totals at its root, and more elements of no known kind than diagnostics are stored."""
    suite = '<testsuite name="%s" tests="1" failures="0" errors="0" skipped="0"><testcase classname="a.A" name="t%s"/></testsuite>'
    (tmp_path / "r.xml").write_text('<testsuites tests="5">' + suite % ("pytest", 1) + "<odd/>" * 300 + suite % ("pytest", 2) + "</testsuites>")
    made = runner("import", "r.xml")
    assert "note: 81 more like these" in made.out, made.out  # 100 are kept with the count of the others, 20 are printed
    assert made.code == 3, made.out
    assert ["totals differ: tests: 5" in m["message"] for m in made.report["accounting"]["mismatches"]] == [True]


@pytest.fixture
def large(tmp_path):
    file = tmp_path / "large.log"
    with open(file, "w") as log:
        for n in range(200_000):
            log.write("test_%d (tests.test_large.A.test_%d) ... ok\n" % (n, n))
        log.write("\n%s\nRan 200000 tests in 1.000s\n\nOK\n" % ("-" * 70))
    return file


@pytest.mark.parametrize("how, seconds", [(signal.SIGINT, 0), (signal.SIGTERM, 0.3), (signal.SIGHUP, 1)])
def test_an_interrupted_import_leaves_nothing(program, runner, large, tmp_path, how, seconds):
    process = subprocess.Popen([program, "import", large], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    runs = tmp_path / "results" / "runs"
    while not list(runs.glob("*/imported/*")):
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(seconds)
    process.send_signal(how)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "runner: interrupted: nothing was stored\n"), (out, err)
    assert not list(runs.iterdir())
    assert runner("runs").out == ""


@pytest.mark.parametrize("ignored, how", [("INT", signal.SIGINT), ("TERM", signal.SIGTERM), ("HUP", signal.SIGHUP)])
def test_an_ignored_signal_does_not_end_an_import(program, ci_results, tmp_path, ignored, how):
    process = subprocess.Popen(["bash", "-c", 'trap "" %s; exec "$0" import - --stdin-name ci.log' % ignored, program], cwd=tmp_path,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(tmp_path.glob("results/runs/*")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(how)
    time.sleep(0.1)
    out, err = process.communicate((ci_results / "ci.log").read_bytes(), timeout=30)
    assert process.returncode == 1, (out, err)
    assert list(tmp_path.glob("results/runs/*/report.json"))


def test_an_interrupted_wait_for_stdin_leaves_nothing(program, tmp_path):
    process = subprocess.Popen([program, "import", "-"], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"x" * 1_000_000)
    process.stdin.flush()
    while not list((tmp_path / "results").glob("runs/*")):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert not list((tmp_path / "results").glob("runs/*"))


def test_an_import_under_nohup_survives_a_closed_terminal(program, large, tmp_path):
    process = subprocess.Popen(["nohup", program, "import", large], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list((tmp_path / "results").glob("runs/*/imported/*")):
        time.sleep(0.005)
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err


def test_reparse_names_a_missing_copy(runner, ci_results):
    made = runner("import", ci_results)
    copy = made.folder / "imported" / "1-ci.log"
    copy.unlink()
    for words in [], ["--apply"]:
        told = runner("reparse", *words)
        assert told.code == 2 and str(copy) in told.err and "ci.log" in told.err and "stays as it is" in told.err
    assert states(made.report) == STATES


def test_reparse_prints_and_stores_changed_results(runner, states_copy, tmp_path):
    before = json.loads((states_copy / "report.json").read_text())
    assert runner("reparse").code == 0
    with sqlite3.connect(tmp_path / "results" / "runner.db") as database:
        [(test,)] = database.execute("""SELECT case_id FROM result JOIN test ON test.id = result.test
                                        WHERE state = 'passed' AND NOT pseudo ORDER BY case_id LIMIT 1""")
        database.execute("UPDATE result SET state = 'failed' WHERE test = (SELECT id FROM test WHERE case_id = ?)", [test])
    told = runner("reparse")
    assert told.code == 1
    assert "%s: failed stored, passed re-parsed" % test in told.out and "1 differ" in told.out
    assert runner("reparse").code == 1, "nothing was changed"
    applied = runner("reparse", "--apply")
    assert "stored" in applied.out
    assert runner("reparse").code == 0
    after = json.loads((states_copy / "report.json").read_text())
    assert states(after) == states(before)
    assert after["run"]["exit_code"] == before["run"]["exit_code"]
    assert after["accounting"] == before["accounting"]


def test_the_logs_of_a_run_say_as_text_what_its_events_do(runner, states_copy):
    """Text names each test that was begun; those under a broken fixture it does not name."""
    told = states(json.loads((states_copy / "report.json").read_text()))
    for log in states_copy.glob("modules/**/*.log"):
        made = runner("import", log)
        if made.code in (2, 5):
            continue  # of a module that ended without a word, or has no test
        if log.parent.name == "test_states.py":  # a test of it prints the line of a test
            assert made.code == 3 and "ambiguous" in json.dumps(made.report["accounting"]), made.out
            continue
        # The log does not say how a process ended in its last test.
        found = {test: state for test, state in states(made.report).items() if "::<" not in test and state != "not_run"}
        assert found.items() <= told.items(), log


def test_reparse_counts_missing_files(runner, states_copy):
    logs = sorted(states_copy.glob("modules/**/*.log"))
    logs[0].unlink()
    told = runner("reparse")
    assert told.code == 0 and "1 attempt not re-parsed" in told.out


def test_the_stored_command_line_has_no_secret(runner, ci_results):
    runner("import", "--torch", "API_TOKEN=s3cret", ci_results / "p.xml")
    with sqlite3.connect(ci_results.parent / "results/runner.db") as database:
        ((argv,),) = database.execute("SELECT argv FROM run")
    assert "API_TOKEN=<set>" in json.loads(argv) and "s3cret" not in argv
