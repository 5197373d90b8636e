"""The hub's hook in a process: which addresses lead to the hub, for each client that is installed, and
which test has used what. Against a server of ours; the hub itself: tests/e2e/hub."""
import http.server
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import textwrap
import threading
import urllib.parse

import pytest

CHILD = pathlib.Path(__file__).resolve().parents[2] / "runner/hub/child"
sys.path.insert(0, str(CHILD))
from compat_hub import addresses  # noqa: E402

GENERATED = "67656e657261746564" + "a" * 22
HUB = "http://127.0.0.1:1"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.path.encode()
        self.server.asked.append((self.command, self.path))
        moved = re.search("/moved-to/(.*)", self.path)
        self.send_response(404 if "missing" in self.path else 307 if moved else 200)
        if moved:
            self.send_header("Location", urllib.parse.unquote(moved[1]))
        self.send_header("Content-Length", str(len(body)))
        if "made" in self.path and not moved:
            self.send_header("X-Compat-Generated", "1")
        if "missing" in self.path:
            self.send_header("X-Compat-Missing", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *words):
        pass


@pytest.fixture
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def child(hub, tmp_path):
    """Runs a program with the hook: its output, and the notes that it left."""

    def call(program, *arguments, **more):
        variables = {"COMPAT_HUB_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "COMPAT_HUB_RECORD": str(tmp_path / "notes"),
                     "COMPAT_HUB_TEST": "a.py::test", "PYTHONPATH": str(CHILD / "activate"), "PATH": "/usr/bin:/bin", **more}
        words = ["-c", textwrap.dedent(program)] if program else []
        done = subprocess.run([sys.executable, *words, *arguments], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        notes = (tmp_path / "notes").read_text().splitlines() if (tmp_path / "notes").exists() else []
        return done.stdout, [json.loads(line) for line in notes]

    return call


@pytest.mark.parametrize("url, moved", [
    ("https://huggingface.co/org/n/resolve/main/c.json", "/org/n/resolve/main/c.json"),
    ("https://hf.co/gpt2", "/gpt2"),
    ("http://huggingface.co", "/"),
    ("https://images.example.org/a%20b.jpg?x=1#top", "/_url/https/images.example.org/a%20b.jpg?x=1"),
    ("https://cdn-media.huggingface.co/a.flac", "/_url/https/cdn-media.huggingface.co/a.flac"),
    ("https://datasets-server.huggingface.co/info?dataset=a", "/_url/https/datasets-server.huggingface.co/info?dataset=a"),
    ("http://datasets-server.127.0.0.1:1/info?dataset=a", "/_url/https/datasets-server.huggingface.co/info?dataset=a"),
    ("http://datasets-server.127.0.0.1:2/info", None),
    ("HTTP://Images.Example.org:80/a", "/_url/http/images.example.org/a"),
    *[(url, None) for url in ("http://127.0.0.1:8000/x", "http://localhost/x", "http://[::1]/x", "http://10.0.0.1/x", "https://x.local/y",
                              "https://user:secret@images.example.org/a", "https://images.example.org:8443/a", "http://printer/x",
                              "ftp://images.example.org/a", "/relative", "https://a.invalid/")]])
def test_which_addresses_lead_to_the_hub(url, moved):
    assert addresses.moved(url, "GET", HUB) == (moved and HUB + moved)
    assert addresses.moved(url, "POST", HUB) is None


@pytest.mark.parametrize("url, moved", [
    ("https://huggingface.co/api/models/org/n/paths-info/main", "/api/models/org/n/paths-info/main"),
    ("https://hf.co/api/datasets/squad/paths-info/main?x=1", "/api/datasets/squad/paths-info/main?x=1"),
    *[(url, None) for url in ("https://huggingface.co/api/models/org/n/commit/main", "https://huggingface.co/org/n/paths-info/main",
                              "https://huggingface.co/api/repos/create", "https://example.org/api/models/org/n/paths-info/main",
                              "https://huggingface.co/api/models/org/paths-info")]])
def test_which_questions_are_posted_to_the_hub(url, moved):
    assert addresses.moved(url, "POST", HUB) == (moved and HUB + moved)
    assert addresses.moved(url, "PUT", HUB) is None


@pytest.mark.parametrize("path, subject", [
    ("/org/n/resolve/main/a/b.json", ("repository", "models/org/n")),
    ("/gpt2/resolve/main/c.json", ("repository", "models/gpt2")),
    ("/datasets/org/n/resolve/main/a", ("repository", "datasets/org/n")),
    ("/api/models/org/n", ("repository", "models/org/n")),
    ("/api/models/gpt2/revision/main?x=1", ("repository", "models/gpt2")),
    ("/api/datasets/org/n/tree/main", ("repository", "datasets/org/n")),
    ("/_url/https/a.org/b?signature=secret", ("address", "https://a.org/b")),
    ("/api/whoami-v2", None), ("/", None), ("/_url/https", None)])
def test_what_an_answer_is_about(path, subject):
    assert addresses.subject(path) == subject


CLIENTS = {
    "urllib": "import urllib.request as u\ndef get(url): return u.urlopen(u.Request(url)).read().decode()",
    "requests": "import requests\ndef get(url): return requests.get(url).text",
    "urllib3": "import urllib3\ndef get(url): return urllib3.PoolManager().request('GET', url).data.decode()",
    "httpx": "import httpx\ndef get(url): return httpx.get(url).text",
    "httpx2": "import httpx2\ndef get(url): return httpx2.get(url).text",
    "aiohttp": """import aiohttp, asyncio
async def read(url):
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()
def get(url): return asyncio.run(read(url))""",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_asks_the_hub(child, hub, client):
    if not importlib.util.find_spec(client):
        pytest.skip(f"{client} is not installed")
    out, notes = child(CLIENTS[client] + "\nfor url in ('https://huggingface.co/org/made/resolve/main/c.json', "
                       "'https://images.example.org/cat.jpg?size=1'): print(get(url))")
    assert out.split() == ["/org/made/resolve/main/c.json", "/_url/https/images.example.org/cat.jpg?size=1"]
    assert notes == [{"test": "a.py::test", "repository": "models/org/made", "generated": True},
                     {"test": "a.py::test", "address": "https://images.example.org/cat.jpg", "generated": False}]


@pytest.mark.parametrize("client", CLIENTS)
def test_redirects_are_followed_to_the_hub(child, hub, client):
    """Also from a server that the test has started."""
    if not importlib.util.find_spec(client):
        pytest.skip(f"{client} is not installed")
    own = f"http://127.0.0.1:{hub.server_port}/own/moved-to/"
    follows = CLIENTS[client].replace("httpx.get(url)", "httpx.get(url, follow_redirects=True)").replace("httpx2.get(url)", "httpx2.get(url, follow_redirects=True)")
    out, notes = child(f"{follows}\nfor to in ('https%3A//images.example.org/cat.jpg', '/org/made/resolve/main/a'): print(get({own!r} + to))\n"
                       "print(get('https://huggingface.co/old/resolve/main/moved-to//org/made/resolve/main/b'))")
    assert out.split() == ["/_url/https/images.example.org/cat.jpg", "/org/made/resolve/main/a", "/org/made/resolve/main/b"]
    # urllib knows the last answer alone, and says that it is the old name's.
    assert {note.get("repository", note.get("address")) for note in notes if note["generated"]} - {"models/old"} == {"models/org/made"}
    assert "https://images.example.org/cat.jpg" in [note.get("address") for note in notes]


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_hub_lacks_is_noted_for_the_test(child, client):
    if not importlib.util.find_spec(client):
        pytest.skip(f"{client} is not installed")
    _, notes = child(CLIENTS[client] + "\nfor url in ('https://huggingface.co/org/missing/resolve/main/c.json', 'https://images.example.org/missing.jpg'):\n"
                     "    try: get(url)\n    except Exception: pass")
    assert notes == [{"test": "a.py::test", "repository": "models/org/missing", "generated": False, "missing": True},
                     {"test": "a.py::test", "address": "https://images.example.org/missing.jpg", "generated": False, "missing": True}]


def test_fsspec_reads_from_the_hub(child, hub):
    """Over aiohttp: sizes by HEAD, a block by its range, and what a session completes."""
    if not (importlib.util.find_spec("aiohttp") and importlib.util.find_spec("fsspec")):
        pytest.skip("aiohttp or fsspec is not installed")
    out, notes = child("""
        import aiohttp, asyncio, fsspec
        url = "https://images.example.org/cats%20and/made.jpg"
        print(fsspec.open(url).open().read().decode())
        fs = fsspec.filesystem("https")
        print(fs.cat(url).decode(), fs.size(url), fs.exists(url), fs.exists("https://images.example.org/missing.jpg"))
        async def based():
            async with aiohttp.ClientSession(base_url="https://huggingface.co", raise_for_status=True) as session:
                async with session.get("/org/made/resolve/main/c") as answer: print(await answer.text())
                try: await session.get("/org/missing/resolve/main/c")
                except aiohttp.ClientResponseError as error: print(error.status)
        asyncio.run(based())
        """)
    path = "/_url/https/images.example.org/cats%20and/made.jpg"
    assert out.split() == [path, path, str(len(path)), "True", "False", "/org/made/resolve/main/c", "404"]
    assert {"test": "a.py::test", "repository": "models/org/made", "generated": True} in notes
    assert [note.get("address", note.get("repository")).rpartition("/")[2] for note in notes if "missing" in note] == ["missing.jpg", "missing"]


def test_questions_with_a_body_reach_the_hub(child, hub):
    out, _ = child("""
        import urllib.request as u
        print(u.urlopen("https://huggingface.co/api/datasets/org/n/paths-info/main", b"paths=a").read().decode())
        """)
    assert out.split() == ["/api/datasets/org/n/paths-info/main"]
    assert hub.asked == [("POST", "/api/datasets/org/n/paths-info/main")]


def test_an_answer_says_the_address_that_was_asked_for(child):
    if not importlib.util.find_spec("requests"):
        pytest.skip("requests is not installed")
    out, _ = child("import requests; a = requests.get('https://images.example.org/a'); print(a.url, a.request.url)")
    assert out.split() == ["https://images.example.org/a"] * 2


def test_writing_and_servers_of_its_own_are_left_alone(child, hub):
    own = f"http://127.0.0.1:{hub.server_port}/own"
    out, notes = child(f"import urllib.request as u; print(u.urlopen('{own}').read().decode())\n"
                       "try: u.urlopen('https://a.invalid/', b'data', timeout=1)\nexcept OSError: print('refused')")
    assert out.split() == ["/own", "refused"] and not notes and hub.asked == [("GET", "/own")]


STAND_INS = {
    "urllib": [  # a handler of the suite's, and a connection's method
        """class Handler(u.HTTPSHandler):
    def https_open(self, request): print(request.full_url); raise OSError
try: u.build_opener(Handler()).open(url)
except OSError: pass""",
        """import http.client
def request(connection, method, path, *more, **named): print("https://" + connection.host + path); raise OSError
http.client.HTTPSConnection.request = request
try: get(url)
except OSError: pass"""],
    "requests": ["""from urllib3.connectionpool import HTTPConnectionPool as Pool
def urlopen(pool, method, url, *more, **named): print(pool.scheme + "://" + pool.host + url); raise OSError
Pool.urlopen = urlopen
try: get(url)
except OSError: pass"""],
    "httpx": ["""def handle(transport, request): print(request.url); return httpx.Response(200)
httpx.HTTPTransport.handle_request = handle
get(url)""",
              """import httpcore
def handle(pool, request): print("https://" + request.url.host.decode() + request.url.target.decode()); raise httpcore.ConnectError
httpcore.ConnectionPool.handle_request = handle
try: get(url)
except httpx.ConnectError: pass"""],
}


@pytest.mark.parametrize("client, program", [(client, program) for client in STAND_INS for program in STAND_INS[client]])
def test_what_a_suite_answers_itself_stays_its_own(child, hub, client, program):
    if not importlib.util.find_spec(client):
        pytest.skip(f"{client} is not installed")
    url = "https://images.example.org/cat.jpg"
    out, notes = child(f"{CLIENTS[client]}\nurl = {url!r}\nget(url + '?real')\n{program}")
    assert out.split() == [url] and hub.asked == [("GET", "/_url/https/images.example.org/cat.jpg?real")] and len(notes) == 1


def test_files_of_generated_repositories_are_noticed(child, tmp_path):
    files = [tmp_path / "hub/models--org--name/snapshots" / GENERATED / "c.json",
             tmp_path / "datasets/org___table/default/0.0.0" / GENERATED / "dataset_info.json",
             tmp_path / "modules/transformers_modules/org/code" / GENERATED / "model.py",
             tmp_path / "hub/models--org--real/snapshots" / ("b" * 40) / "c.json"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("{}")
    _, notes = child(f"import os\nfor path in {[str(file) for file in files]} * 2: open(path).close()\n"
                     f"os.fork() or (open({str(files[0])!r}).close(), os._exit(0))")
    assert [note["repository"] for note in notes] == ["models/org/name", "datasets/org/table", "models/org/code"]
    assert {note["generated"] for note in notes} == {True}


def test_tests_that_share_a_fixture_share_what_it_used(child, tmp_path):
    """Under the harness's recorder, as in a run: each test is noted, and an import has no test."""
    (tmp_path / "test_it.py").write_text(textwrap.dedent("""
        import pytest, urllib.request
        def read(name): return urllib.request.urlopen(f"https://huggingface.co/org/{name}/resolve/main/c").read()
        read("at-import")
        @pytest.fixture(scope="module")
        def inner(): return read("inner")
        @pytest.fixture(scope="module")
        def outer(inner): return read("outer")
        def test_a(outer): pass
        def test_b(outer): read("own")
        def test_c(): pass
        """))
    harness = CHILD.parents[1] / "harness/main.py"
    child(None, str(harness), "--framework", "pytest", "--module", "test_it.py", "--root", str(tmp_path), "--events",
          str(tmp_path / "events"), COMPAT_HUB_TEST="")
    found = [json.loads(line) for line in (tmp_path / "notes").read_text().splitlines()]
    used = {}
    for note in found:
        used.setdefault(note["test"], set()).add(note["repository"].rpartition("/")[2])
    assert used == {None: {"at-import"}, "test_it.py::test_a": {"inner", "outer"}, "test_it.py::test_b": {"inner", "outer", "own"}}


def test_tests_of_a_class_share_what_its_set_up_used(child, tmp_path):
    """Under unittest, also where it failed; tests of other classes do not."""
    (tmp_path / "test_it.py").write_text(textwrap.dedent("""
        import unittest, urllib.request
        def read(name): return urllib.request.urlopen(f"https://huggingface.co/org/{name}/resolve/main/c").read()
        def setUpModule(): read("module")
        class A(unittest.TestCase):
            @classmethod
            def setUpClass(cls): read("class")
            def test_a(self): read("own")
            def test_b(self): pass
        class B(unittest.TestCase):
            @classmethod
            def setUpClass(cls): read("broken"); raise ValueError
            def test_c(self): pass
        class C(unittest.TestCase):
            def test_d(self): pass
        """))
    harness = CHILD.parents[1] / "harness/main.py"
    with pytest.raises(AssertionError, match="ValueError"):  # the harness ends as unittest does
        child(None, str(harness), "--framework", "unittest", "--module", "test_it.py", "--root", str(tmp_path), "--events",
              str(tmp_path / "events"), COMPAT_HUB_TEST="")
    used = {}
    for line in (tmp_path / "notes").read_text().splitlines():
        note = json.loads(line)
        used.setdefault(note["test"], set()).add(note["repository"].rpartition("/")[2])
    assert used == {None: {"module"}, "test_it.py::A::test_a": {"class", "own"}, "test_it.py::A::test_b": {"class"},
                    "test_it.py::B::test_c": {"broken"}}


KEPT = """
    import functools, logging, unittest, urllib.request
    from tests import loading
    log = logging.getLogger("it")
    def read(name): return [urllib.request.urlopen(f"https://huggingface.co/org/{name}/resolve/main/c").read()]
    class Model:
        def __init__(self, name): self.data = read(name)
    class Loader:
        def __init__(self): self.model = None
        def get(self):
            if self.model is None: self.model = Model("made-in-an-object")
            return self.model
    loader, shared = Loader(), None
    @functools.lru_cache(None)
    def cached(): return Model("made-cached")
    def in_global():
        global shared
        if shared is None: shared = Model("made-in-a-global")
    class A(unittest.TestCase):
        counter = 0
        def model(self):
            if not hasattr(type(self), "_model"): type(self)._model = Model("made-in-a-class")
        def test_a1(self):
            words = locals()
            words.pop("self")
            Model("made-alone")
            assert "self" not in words, "nobody looks at a test's variables"
            A.counter += 1; log.debug("a package's cache")
        def test_a2(self): self.model()
        def test_a3(self): pass
    class B(unittest.TestCase):
        def test_b1(self): pass
        def test_b2(self): cached()
        def test_b3(self): in_global(); cached()
        def test_b4(self): loader.get()
        def test_b5(self): loading.in_table()
        def test_b6(self): pass
    """
IN_TABLE = """
    import urllib.request
    class Lazy:
        __class__ = property(lambda self: 1 / 0)
    lazy, table = Lazy(), {"x": None}
    def in_table():
        table["x"] = [urllib.request.urlopen(f"https://huggingface.co/org/made-in-a-table/resolve/main/c").read()]
    """


@pytest.mark.parametrize("framework", ["unittest", "pytest"])
def test_later_tests_use_what_outlives_the_one_that_loaded_it(child, tmp_path, framework):
    """A class's attribute: tests of the class. What a test has for itself: nobody else."""
    (tmp_path / "tests").mkdir()
    for name, text in {"test_it.py": KEPT, "loading.py": IN_TABLE, "__init__.py": ""}.items():
        (tmp_path / "tests" / name).write_text(textwrap.dedent(text))
    harness = CHILD.parents[1] / "harness/main.py"
    child(None, str(harness), "--framework", framework, "--module", "tests/test_it.py", "--root", str(tmp_path), "--events",
          str(tmp_path / "events"), COMPAT_HUB_TEST="")
    used = {}
    for line in (tmp_path / "notes").read_text().splitlines():
        note = json.loads(line)
        used.setdefault(note["test"].rpartition("::")[2], set()).add(note["repository"].partition("made-")[2])
    later = [{"cached"}, {"cached", "in-a-global"}, {"cached", "in-a-global", "in-an-object"},
             {"cached", "in-a-global", "in-an-object", "in-a-table"}]
    assert used == {"test_a1": {"alone"}, "test_a2": {"in-a-class"}, "test_a3": {"in-a-class"},
                    **{f"test_b{n}": things for n, things in enumerate([*later, later[-1]], 2)}}


@pytest.mark.skipif(not importlib.util.find_spec("xdist"), reason="pytest-xdist is not installed")
@pytest.mark.parametrize("options", [{"PYTEST_ADDOPTS": "-n 2"}, {"PYTEST_ADDOPTS": "-p xdist.plugin -n 2", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}],
                         ids=["one process", "workers"])
def test_tests_of_workers_are_noted(child, tmp_path, options):
    """The harness turns workers off where it knows the plugin by its usual name."""
    (tmp_path / "test_it.py").write_text(textwrap.dedent("""
        import os, pytest, urllib.request
        def read(name): return urllib.request.urlopen(f"https://huggingface.co/org/{name}/resolve/main/c").read()
        @pytest.mark.parametrize("n", range(4))
        def test_it(n): read(f"made-{n}")
        """))
    harness = CHILD.parents[1] / "harness/main.py"
    child(None, str(harness), "--framework", "pytest", "--module", "test_it.py", "--root", str(tmp_path), "--events",
          str(tmp_path / "events"), COMPAT_HUB_TEST="", **options)
    found = {(note["test"], note["repository"]) for note in map(json.loads, (tmp_path / "notes").read_text().splitlines())}
    assert found == {(f"test_it.py::test_it[{n}]", f"models/org/made-{n}") for n in range(4)}


def test_a_fork_server_serves_more_tests_than_the_one_that_started_it(child, tmp_path):
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
        import multiprocessing, os, urllib.request
        def read(name): return urllib.request.urlopen(f"https://huggingface.co/org/{name}/resolve/main/c").read()
        if __name__ == "__main__":
            for test in "ab":
                os.environ["COMPAT_HUB_TEST"] = test
                with multiprocessing.get_context("forkserver").Pool(1) as pool: pool.map(read, [test])
                with multiprocessing.get_context("spawn").Pool(1) as pool: pool.map(read, ["spawned-" + test])
        """))
    _, notes = child(None, str(tmp_path / "prog.py"))
    assert {(note["test"], note["repository"]) for note in notes} == {
        (None, "models/org/a"), (None, "models/org/b"), ("a", "models/org/spawned-a"), ("b", "models/org/spawned-b")}


def test_a_suites_own_sitecustomize_still_runs(child, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("import sys; sys.mine = 'mine'")
    out, _ = child("import sys; print(sys.mine, 'compat_hub' in sys.modules)", PYTHONPATH=f"{CHILD / 'activate'}:{tmp_path / 'own'}")
    assert out.split() == ["mine", "True"]


@pytest.mark.parametrize("order", [("shim", "hub", "own"), ("hub", "shim", "own"), ("hub", "own", "shim"), ("hub", "hub", "own")])
def test_each_sitecustomize_runs_once(child, tmp_path, order):
    """The shim's is first, unless the user's own PYTHONPATH has it."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("print('own')")
    folders = {"shim": CHILD.parents[2] / "shim/python/activate", "hub": CHILD / "activate", "own": tmp_path / "own"}
    out, _ = child("import sys; print('compat_hub' in sys.modules)", PYTHONPATH=":".join(str(folders[one]) for one in order))
    assert out.split() == ["own", "True"]


def test_it_imports_nothing_that_a_suite_could_notice(child):
    program = "import sys; print(*sorted(set(sys.modules) - {'__main__'}))"
    with_hook, _ = child(program)
    without, _ = child(program, COMPAT_HUB_ENDPOINT="")
    assert {name for name in with_hook.split() if not name.startswith("compat_hub")} - set(without.split()) <= {"copy", "functools", "_functools", "collections", "types",
                                                                                                        "operator", "_operator", "keyword", "reprlib", "itertools", "_collections", "copyreg", "weakref", "_weakrefset"}
