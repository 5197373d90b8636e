"""Tests `runner serve` with real runs: pages, parts and files; runs that go on; and clients that mean harm."""
import asyncio
import gzip
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

import pytest

from playwright.sync_api import sync_playwright

from conftest import make_runner

PASSING = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
FAILING = "    def test_b(self): self.assertEqual(1, 2)\n"
CLIENTS = 1000


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Server:
    def __init__(self, program, folder, *words):
        env = {name: value for name, value in os.environ.items() if not name.startswith("COMPAT_")}
        self.process = subprocess.Popen([program, "serve", *words], cwd=folder, env=env, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.host, self.port = "127.0.0.1", urllib.parse.urlsplit(self.url).port

    def ask(self, target, method="GET", headers=(), host=None):
        """Status, headers and body, uncompressed; nothing in the target is normalised."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", host or f"localhost:{self.port}")
        for name, value in dict(headers).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return answer.status, answer.headers, body

    def part(self, page, name="summary"):
        status, _, body = self.ask(f"{page}parts/{name}", headers={"Accept-Encoding": "gzip"})
        assert status == 200, body
        return json.loads(body)

    def raw(self, data):
        """The server's answer to these bytes; checks that it then closes the connection."""
        with socket.create_connection((self.host, self.port), timeout=10) as connection:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    @property
    def memory(self):
        """The largest resident size so far, in bytes."""
        return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) << 10

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture(scope="module")
def stored(program, tmp_path_factory):
    """A folder with two runs of one suite: between them a test begins to fail, and another is new."""
    folder = tmp_path_factory.mktemp("serve")
    tests = folder / "suite/tests"
    tests.mkdir(parents=True)
    (folder / "suite/suite.json").write_text(json.dumps({"format": 1, "name": "s", "framework": "unittest", "layout": {"pythonpath": ["."]}}))
    (tests / "__init__.py").touch()
    run = make_runner(program, folder)
    (tests / "test_a.py").write_text(PASSING + "    def test_b(self): pass\n")
    assert run("suite", "--shim", "off", "--python", sys.executable).code == 0
    (tests / "test_a.py").write_text(PASSING + FAILING)
    (tests / "test_<b> & c.py").write_text(PASSING)
    assert run("suite", "--shim", "off", "--python", sys.executable).code == 1
    return folder


@pytest.fixture(scope="module")
def server(program, stored):
    server = Server(program, stored, "--port", "0")
    yield server
    server.end()


@pytest.fixture(scope="module")
def report(stored):
    return json.loads((stored / "results/latest/report.json").read_text())


def test_a_runs_page_has_the_numbers_of_its_report(server, report):
    page = f"/runs/{report['run']['id']}/"
    status, headers, body = server.ask(page)
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert f'data-parts="{page}parts"'.encode() in body
    summary = server.part(page)
    assert json.loads(re.search(rb'id="summary">(.*?)</script>', body, re.S)[1]) == summary
    run = summary["run"]
    assert {name: run["totals"][name] for name in report["totals"]} == report["totals"]
    assert run["clusters"] == report["clusters"] and run["run"]["id"] == report["run"]["id"]
    assert "live" not in summary
    index = server.part(page, "index")
    ids = [f"{index['modules'][m]['path']}::{name}" for m, name in zip(index["module"], index["name"])]
    assert ids == [case["id"] for module in report["modules"] for case in module["cases"]]
    for name in summary["parts"]:
        assert server.part(page, name) is not None
    assert server.ask(page + "parts/nothing")[0] == 404


def test_a_browser_may_run_the_pages_script_and_nothing_else(server, report):
    _, headers, body = server.ask(f"/runs/{report['run']['id']}/")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "unsafe" not in policy
    assert b"Content-Security-Policy" not in body, "one in the page would forbid to request parts"
    assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"], headers["Referrer-Policy"]) == ("nosniff", "DENY", "no-referrer")


def test_the_other_pages(server, stored, report):
    runs = server.part("/")["runs"]
    assert {run["id"] for run in runs} == {folder.name for folder in (stored / "results/runs").iterdir()}
    latest, before = runs
    assert latest["id"] == report["run"]["id"] and latest["states"]["failed"] == 1 and not latest["running"]
    assert server.ask(latest["url"])[0] == 200

    changes = server.part(latest["compare"], "changes")
    assert changes["baseline"]["id"] == before["id"]
    assert {t["id"].rpartition(".")[2]: t["class"] for t in changes["comparisons"][0]["tests"]} == \
        {"py::T::test_b": "regressed", "py::T::test_a": "new_passing"}
    assert server.part(latest["compare"])["kind"] == "compare" and before["compare"] is None

    test = server.part(f"/tests/{quoted('tests/test_a.py::T::test_b')}/")["test"]
    assert [(one["run"], one["state"]) for one in test["results"]] == [(latest["id"], "failed"), (before["id"], "passed")]
    assert test["results"][0]["url"].startswith(latest["url"])
    assert server.part("/gaps/") | {"generator": ""} == {"format": 1, "generator": "", "kind": "gaps", "title": "Gap log", "parts": ["gaps"]}
    assert server.part("/gaps/", "gaps") == []


def test_other_names_lead_to_the_page(server, report):
    run = report["run"]["id"]
    for name, place in {"/latest": "/runs/latest/", "/runs/latest/": f"/runs/{run}/", f"/runs/{run[:-1]}/": f"/runs/{run}/",
                        f"/runs/{run}": f"/runs/{run}/", "/gaps": "/gaps/"}.items():
        status, headers, _ = server.ask(name)
        assert (status, headers["Location"]) == (302, place), name


@pytest.mark.parametrize("target", ["/nothing", "/runs/nothing/", "/runs/", "/tests/nothing/", "/compare/latest/", "/compare/x/y/", "/gaps/x", "/x/parts/summary"])
def test_what_is_not_there_is_said_in_words(server, target):
    status, headers, body = server.ask(target)
    assert status == 404 and headers["Content-Type"].startswith("text/html")
    assert b'<a href="/">All runs</a>' in body and b"<script" not in body and headers["Content-Security-Policy"] == "default-src 'none'"


def test_a_name_that_is_not_there_is_shown_as_text(server):
    status, _, body = server.ask("/tests/" + quoted("<script>alert('\"')</script>") + "/")
    assert status == 404 and b"&lt;script&gt;" in body and b"<script" not in body


def test_the_files_of_a_run(server, stored, report):
    base = f"/runs/{report['run']['id']}/"
    folder = (stored / "results/latest").resolve()
    log = next(m["log"] for m in report["modules"] if "<" in m["path"])
    status, headers, body = server.ask(base + urllib.parse.quote(log))
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8") and body == (folder / log).read_bytes()
    status, headers, part = server.ask(base + urllib.parse.quote(log), headers={"Range": "bytes=2-5"})
    assert status == 206 and part == body[2:6] and headers["Content-Range"] == f"bytes 2-5/{len(body)}"
    assert server.ask(base + urllib.parse.quote(log), headers={"Range": f"bytes={len(body)}-"})[0] == 416
    status, headers, _ = server.ask(base + "report.html")
    assert status == 200 and headers["Content-Security-Policy"].startswith("sandbox allow-scripts ")
    # A link of the page leads to the file.
    url = next(m for m in server.part(base, "index")["modules"] if "<" in m["path"])["log_url"]
    assert server.ask(base + url)[2] == body


def test_a_large_log_is_streamed(server, stored, report):
    huge = (stored / "results/latest").resolve() / "huge.log"
    before = server.memory
    with open(huge, "wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 30)
        file.write(b"the end")
    target = f"/runs/{report['run']['id']}/huge.log"
    try:
        _, headers, _ = server.ask(target, "HEAD")
        assert int(headers["Content-Length"]) == (1 << 30) + 7
        assert server.ask(target, headers={"Range": "bytes=-7"})[2] == b"the end"
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            received = 0
            while received < 64 << 20:
                received += len(connection.recv(1 << 20))
        assert server.memory - before < 32 << 20
    finally:
        huge.unlink()


def test_finished_pages_are_validated_and_lists_are_not_kept(server, report):
    page = f"/runs/{report['run']['id']}/"
    for target in (page, page + "parts/index", page + "report.json"):
        _, headers, _ = server.ask(target)
        assert headers["Cache-Control"] == "no-cache"
        status, again, body = server.ask(target, headers={"If-None-Match": headers["ETag"]})
        assert (status, body) == (304, b"") and again["ETag"] == headers["ETag"]
    _, headers, _ = server.ask("/parts/summary")
    assert headers["Cache-Control"] == "no-store" and "ETag" not in headers


def test_compressed_and_plain_are_the_same(server, report):
    target = f"/runs/{report['run']['id']}/parts/index"
    status, headers, plain = server.ask(target)
    assert "Content-Encoding" not in headers and int(headers["Content-Length"]) == len(plain)
    _, headers, zipped = server.ask(target, headers={"Accept-Encoding": "gzip, br"})
    assert headers["Content-Encoding"] == "gzip" and int(headers["Content-Length"]) < len(plain) and zipped == plain


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_nothing_but_reading_is_allowed(server, method):
    status, headers, _ = server.ask("/", method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_a_body_is_refused_before_it_is_read(server):
    answer = server.raw(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100_000)
    assert answer.startswith(b"HTTP/1.1 405 ")
    answer = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n0123456789")
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_head_has_the_headers_of_get_and_no_body(server, report):
    for target in ("/", f"/runs/{report['run']['id']}/parts/index", "/nothing"):
        status, headers, body = server.ask(target, "HEAD")
        same_status, same, whole = server.ask(target)
        assert (status, headers.items(), body) == (same_status, same.items(), b"") and int(headers["Content-Length"]) == len(whole)


@pytest.mark.parametrize("host, status", [
    ("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1:8737", 200), ("[::1]:9", 200), ("evil.example", 421), ("evil.example:8737", 421),
    ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("10.0.0.1", 421), ("localhost:x", 421), ("[::1", 421), ("localhost@evil.example", 421)])
def test_only_our_own_names_are_answered(server, host, status):
    assert server.ask("/", host=host)[0] == status


def test_a_request_needs_one_host(server):
    assert server.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert server.raw(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 400 ")
    assert server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("data, status", [
    (b"hello\r\n\r\n", 400), (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 400), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400), (b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431)])
def test_what_is_no_request_is_refused(server, data, status):
    assert int(server.raw(data).split()[1]) == status


def test_no_spelling_of_a_path_leaves_the_runs_folder(server, stored, report):
    secret = stored / "secret.txt"
    secret.write_text("secret")
    folder = (stored / "results/latest").resolve()
    links = {"link.log": secret, "folder": stored, "loop": folder / "loop", "passwd": pathlib.Path("/etc/passwd")}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.log")
    ups = ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..%2f", "..%5c", "..\\", "%c0%ae%c0%ae", "....//", "..;", "%2e%2e%2f"]
    base = f"/runs/{report['run']['id']}/"
    targets = [base + "/".join([up] * n + [name]) for up in ups for n in (1, 2, 3) for name in ("secret.txt", "runner.db", "")]
    targets += [base + rest for rest in ("/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd", str(secret), quoted(str(secret)), "report.md/../../../../secret.txt",
                                         "modules/../../../../secret.txt", "link.log", "folder/secret.txt", "loop", "passwd", "pipe.log", "modules", "modules/",
                                         ".", "..", "./report.md", "report.md/", "report.md%00.html", "report.md%", "report.md%zz", "%00")]
    targets += ["/../runner.db", "/%2e%2e/runner.db", "/runner.db", "/runs/../../secret.txt", "/runs/%2e%2e/runner.db", "/runs/..%2f..%2f/secret.txt",
                f"/runs/{quoted('../' + stored.name)}/secret.txt", "/runs/%00/report.md", "/runs/./report.md", "/runs//report.md", "//etc/passwd"]
    try:
        for target in targets:
            status, _, body = server.ask(target)
            assert status in (400, 404), (target, status, body[:100])
            assert body != b"secret" and b"SQLite" not in body and b"root:" not in body, target
        assert server.ask(base + "report.md")[0] == 200
    finally:
        for name in (*links, "pipe.log"):
            (folder / name).unlink()


def test_slow_clients_do_not_stop_others(server, report):
    target = f"/runs/{report['run']['id']}/parts/index"
    request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".encode()
    slow = [socket.create_connection((server.host, server.port)) for _ in range(50)]
    # A further one asks and never reads its answer.
    deaf = [socket.create_connection((server.host, server.port)) for _ in range(10)]
    try:
        for connection in deaf:
            connection.sendall(f"GET /runs/{report['run']['id']}/report.html HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 50)
        begun = time.monotonic()
        for at in range(3):
            for connection in slow:
                connection.sendall(request[at : at + 1])
            ask_begun = time.monotonic()
            assert server.ask(target)[0] == 200
            assert time.monotonic() - ask_begun < 1
            time.sleep(0.3)
        assert time.monotonic() - begun < 10
        # They are slow, not refused: what they began is answered when it is complete.
        slow[0].sendall(request[3:] + b"x\r\nConnection: close\r\n\r\n")
        assert slow[0].recv(15) == b"HTTP/1.1 200 OK"
    finally:
        for connection in slow + deaf:
            connection.close()


def test_a_thousand_requests_at_once(server, stored, report):
    needed = CLIENTS + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"this machine allows {hard} open files, {needed} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    base = f"/runs/{report['run']['id']}/"
    targets = [base, base + "parts/index", base + "report.json", "/", "/parts/summary", f"/tests/{quoted('tests/test_a.py::T::test_b')}/parts/summary",
               "/compare/" + "/".join(run["id"] for run in reversed(server.part("/")["runs"])) + "/parts/changes", "/nothing"]
    expected = {target: server.ask(target)[::2] for target in targets}
    assert [status for status, _ in expected.values()] == [200] * 7 + [404]

    async def ask(target, opened):
        reader, writer = await asyncio.open_connection(server.host, server.port)
        opened.append(writer)
        while len(opened) < CLIENTS:  # all are connected before the first asks
            await asyncio.sleep(0.01)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        writer.close()
        return target, int(head.split()[1]), body

    async def all_at_once():
        opened = []
        return await asyncio.wait_for(asyncio.gather(*(ask(targets[i % len(targets)], opened) for i in range(CLIENTS))), 20)

    answers = asyncio.run(all_at_once())
    assert len(answers) == CLIENTS
    assert [(t, s) for t, s, body in answers if (s, body) != expected[t]] == []
    assert server.memory < 256 << 20
    assert server.process.poll() is None


def test_a_run_that_goes_on_is_shown_live(program, tmp_path, python):
    tests = tmp_path / "suite/tests"
    tests.mkdir(parents=True)
    (tests.parent / "suite.json").write_text(json.dumps({"format": 1, "name": "slow", "framework": "unittest", "layout": {"pythonpath": ["."]}}))
    (tests / "__init__.py").touch()
    gates = [tmp_path / f"gate{i}" for i in range(3)]
    for i, gate in enumerate(gates):
        (tests / f"test_{i}.py").write_text(
            f"import pathlib, time, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            f"        while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.02)\n    def test_b(self): self.assertEqual({i}, 1)\n")
    run = subprocess.Popen([program, "suite", "--shim", "off", "--python", python, "-j", "1", "--order", "as-listed"], cwd=tmp_path,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    server = None
    try:
        wait_until(lambda: list((tmp_path / "results/runs").glob("*/plan.json")) and (tmp_path / "results/runner.db").exists())
        server = Server(program, tmp_path, "--port", "0")
        page = f"/runs/{next((tmp_path / 'results/runs').iterdir()).name}/"
        wait_until(lambda: server.ask(page)[0] == 200)
        for finished, gate in enumerate(gates[:2], 1):
            assert server.part(page)["live"] is True
            gate.touch()
            wait_until(lambda: server.part(page)["run"]["totals"]["passed"] + server.part(page)["run"]["totals"]["failed"] == 2 * finished)
            assert sum(server.part(page, "index")["state"].count(state) for state in (0, 1)) == 2 * finished
        assert server.ask(page)[1]["Cache-Control"] == "no-store"
        assert server.part("/")["live"] is True and server.part("/")["runs"][0]["running"] is True
        gates[2].touch()
        assert run.wait(timeout=20) == 1, "the readers disturbed the run"
        summary = server.part(page)
        report = json.loads((tmp_path / "results/latest/report.json").read_text())
        assert "live" not in summary
        assert {name: summary["run"]["totals"][name] for name in report["totals"]} == report["totals"]
        assert report["totals"]["passed"] == 4 and report["totals"]["failed"] == 2
        assert server.ask(page)[1]["Cache-Control"] == "no-cache"
    finally:
        run.kill()
        run.wait()
        if server:
            server.end()


def test_the_list_compares_a_run_with_what_its_own_page_does(program, stored, tmp_path):
    shutil.copytree(stored / "suite", tmp_path / "suite")
    run = make_runner(program, tmp_path)
    plain = ("suite", "--shim", "off", "--python", sys.executable)
    for words in ((), ("--framework", "pytest"), ("--repeat", "2"), ("--seeds", "2"), ("--name", "other"), ()):
        assert run(*plain, *words).code in (0, 1), words
    server = Server(program, tmp_path, "--port", "0")
    try:
        runs = server.part("/")["runs"]
        assert len(runs) == 7
        for listed in runs:
            page = json.loads((tmp_path / "results/runs" / listed["id"] / "report.json").read_text())["changes"]
            baseline = page and page["baseline"]["id"]
            assert listed["compare"] == (f"/compare/{baseline}/{listed['id']}/" if baseline else None)
        assert sum(listed["compare"] is not None for listed in runs) == 3
    finally:
        server.end()


def test_pages_write_nothing(program, server, stored, tmp_path):
    shutil.copytree(stored / "results", tmp_path / "results", symlinks=True)
    run = (tmp_path / "results/latest").resolve()
    assert (run / "source").is_dir()
    shutil.rmtree(run / "source")
    before = sorted((tmp_path / "results").rglob("*"))
    without = Server(program, tmp_path, "--port", "0")
    try:
        page = f"/runs/{run.name}/"
        details = json.dumps(without.part(page, "details-0"))
        assert "tests/test_a.py" in details and "source/" not in details, "a link would lead nowhere"
        assert without.part("/gaps/", "gaps") == []
    finally:
        without.end()
    assert "source/tests/test_a.py" in json.dumps(server.part(page, "details-0"))
    assert [path for path in sorted((tmp_path / "results").rglob("*")) if "runner.db" not in path.name] == [
        path for path in before if "runner.db" not in path.name]


def wait_until(done, seconds=20):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_it_ends_when_asked(program, stored):
    for number in (signal.SIGTERM, signal.SIGINT):
        server = Server(program, stored, "--port", "0")
        idle = socket.create_connection((server.host, server.port))
        assert server.ask("/")[0] == 200
        server.process.send_signal(number)
        begun = time.monotonic()
        assert server.process.wait(timeout=10) == 130
        assert time.monotonic() - begun < 2
        idle.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port))


def test_a_browser_shows_the_pages_and_asks_nobody_else(server, report):
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("request", lambda request: request.url.startswith(server.url) or faults.append(f"request: {request.url}"))

        def ready():
            page.wait_for_selector("html[data-ready=yes]")
            page.wait_for_selector("main .note[role=status]", state="detached")

        page.goto(server.url)
        ready()
        page.click(f"main a:has-text('{report['run']['id']}') >> nth=0")
        page.wait_for_url(f"**/runs/{report['run']['id']}/**")
        ready()
        page.click("nav a:has-text('Tests')")
        assert page.inner_text(".found") == f"{report['totals']['collected']} tests"
        page.goto(f"{server.url}runs/{report['run']['id']}/#/test/{quoted('tests/test_a.py::T::test_b')}")
        ready()
        assert "AssertionError: 1 != 2" in page.inner_text("main")
        page.click("main a[href$='1.log'] >> nth=0")
        page.wait_for_url("**/1.log")
        assert "test_b" in page.inner_text("body")
        page.go_back()
        ready()
        page.click("text=all its results")
        ready()
        assert page.locator("main li").count() == 2 and "2 results" in page.inner_text("main")
        page.click("nav a:has-text('All runs')")
        ready()
        page.click("main a:has-text('changes') >> nth=0")
        ready()
        assert "regressed" in page.inner_text("main").lower()
        page.goto(f"{server.url}gaps/")
        ready()
        assert "No run met a gap." in page.inner_text("main")
        page.goto(f"{server.url}runs/{report['run']['id']}/report.html")
        ready()
        browser.close()
    assert faults == []


def test_errors_of_the_command_line(program, stored, tmp_path):
    run = make_runner(program, tmp_path)
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    results = ("--results", stored / "results")
    answer = run("serve", "--port", port, *results)
    assert answer.code == 2 and f"port {port} of 127.0.0.1 is in use: choose another with --port" in answer.err
    answer = run("serve", "--host", "192.0.2.1", "--port", "0", *results)
    assert answer.code == 2 and "--host" in answer.err
    answer = run("serve", "--host", "no.such.name.invalid", *results)
    assert answer.code == 2 and "no address is known" in answer.err
    answer = run("serve", "--port", "0")
    assert answer.code == 2 and "no run is stored here" in answer.err
    taken.close()


def test_another_address_is_warned_of_and_answers_its_own_name(program, stored):
    server = Server(program, stored, "--port", "0", "--host", "0.0.0.0")
    try:
        assert "everybody who reaches this address" in server.process.stderr.readline()
        for host, status in {"localhost": 200, "127.0.0.1": 200, "192.0.2.7": 200, socket.gethostname(): 200, "evil.example": 421}.items():
            assert server.ask("/", host=host)[0] == status, host
    finally:
        server.end()


def test_a_name_is_an_address(program, stored):
    server = Server(program, stored, "--port", "0", "--host", "localhost")
    try:
        server.host = urllib.parse.urlsplit(server.url).hostname
        assert server.ask("/", host="localhost")[0] == 200
        assert "everybody" not in server.process.stderr.readline()
    finally:
        server.end()
