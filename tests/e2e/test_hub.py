"""The hub of a run against a hub elsewhere (standins/hub.py), over real sockets: recorded, replayed, in trouble, generated."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
from standins.hub import Repository, StandIn

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner")).with_name("hub_server")
UPSTREAM = ROOT / "runner/hub/upstream.py"
WEIGHTS = random.Random(1).randbytes(3_000_000)
FILES = {"data.json": b"x" * 1000, "config.json": b'{"model_type": "bert"}\n', "data/ü x.txt": b"text\n", "model.safetensors": WEIGHTS, "empty": b""}

pytestmark = pytest.mark.skipif(not SERVER.exists(), reason="hub_server is not built")


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.content = response.status, response.headers, response.read()

    @property
    def code(self):
        return self.status, self.headers.get("X-Error-Code")


class Hub:
    def __init__(self, process, folder):
        self.process, self.folder = process, folder
        self.endpoint = process.stdout.readline().strip()
        self.summary = None

    def get(self, path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection(self.endpoint.split("//")[1], timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            return Answer(connection.getresponse())

    def stop(self):
        out, _ = self.process.communicate(timeout=60)
        self.summary = json.loads(out)
        return self.summary

    @property
    def lock(self):
        return json.loads((self.folder / "hub.lock.json").read_text())

    def memory(self):
        """The largest so far, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


@pytest.fixture
def start(tmp_path):
    """start(mode, **settings): a hub; what it has in `tmp_path` stays for the next."""
    started = []

    def call(mode, **settings):
        given = {"mode": mode, "store": str(tmp_path / "store"), "lock": str(tmp_path / "hub.lock.json"),
                 "log": str(tmp_path / "hub.jsonl"), "python": sys.executable, "fetcher": str(UPSTREAM), **settings}
        process = subprocess.Popen([SERVER, json.dumps(given)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "no_proxy": "*"})
        started.append(process)
        return Hub(process, tmp_path)

    yield call
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def upstream():
    hub = StandIn(Repository("org/tiny", FILES), Repository("org/data", {"train.csv": b"a,b\n1,2\n"}, "datasets"),
                  Repository("org/gated", {"w.bin": b"secret weights"}, gated="auto"), addresses={"/pictures/a.jpg": b"\xff\xd8picture"})
    yield hub
    hub.close()


def everything(folder):
    """The names and the content of all files below a folder."""
    for path in folder.rglob("*"):
        yield path.name.encode()
        if path.is_file():
            yield path.read_bytes()


def test_what_was_recorded_is_replayed_to_the_byte(start, upstream):
    hub = start("record", upstream=upstream.url)
    for path, content in FILES.items():
        answer = hub.get("/org/tiny/resolve/main/" + path.replace("ü x", "%C3%BC%20x"))
        assert (answer.status, answer.content) == (200, content), path
    assert hub.get("/datasets/org/data/resolve/main/train.csv").content == b"a,b\n1,2\n"
    picture = f"/_url/http/{upstream.url.split('//')[1]}/pictures/a.jpg?sig=s1gnature&w=3"
    assert hub.get(picture).content == b"\xff\xd8picture"
    info = hub.get("/api/models/org/tiny?blobs=true").content
    summary = hub.stop()
    assert summary["problems"] == {} and summary["missing"] == {}
    assert summary["bytes_fetched"] == sum(map(len, FILES.values())) + 8 + 9
    upstream.close()

    replay = start("replay")
    assert replay.get("/api/models/org/tiny?blobs=true").content == info
    for path, content in FILES.items():
        answer = replay.get("/org/tiny/resolve/main/" + path.replace("ü x", "%C3%BC%20x"))
        assert (answer.status, answer.content) == (200, content), path
    answer = replay.get("/org/tiny/resolve/main/model.safetensors", Range="bytes=1000-1999")
    assert (answer.status, answer.content) == (206, WEIGHTS[1000:2000])
    etag = answer.headers["ETag"]
    assert etag == f'"{hashlib.sha256(WEIGHTS).hexdigest()}"'
    assert replay.get("/org/tiny/resolve/main/model.safetensors", If_None_Match=etag).status == 304
    answer = replay.get(picture.replace("s1gnature", "another"))
    assert (answer.content, answer.headers["Content-Type"]) == (b"\xff\xd8picture", "image/jpeg")
    assert not any(name.startswith("X-Xet") for name in answer.headers)
    assert replay.get("/api/models/org/none").code == (404, "RepoNotFound")
    assert replay.stop()["missing"] == {"model org/none": "model org/none is not in the lock"}


def test_the_lock_says_what_the_hub_did_not_have(start, upstream):
    hub = start("record", upstream=upstream.url)
    assert hub.get("/api/models/org/none").code == (401, "RepoNotFound")
    assert hub.get("/org/tiny/resolve/main/none.txt").code == (404, "EntryNotFound")
    assert hub.get("/api/models/org/tiny/revision/v9").code == (404, "RevisionNotFound")
    hub.stop()
    replay = start("replay")
    assert replay.get("/api/models/org/none").code == (401, "RepoNotFound")
    assert replay.get("/api/models/org/tiny/revision/v9").code == (404, "RevisionNotFound")


def test_a_renamed_repository_is_found_by_both_names(start, upstream):
    hub = start("record", upstream=upstream.url)
    answer = hub.get("/old-name/resolve/main/config.json")
    assert (answer.status, answer.headers["Location"]) == (307, "/org/tiny/resolve/main/config.json")
    hub.stop()
    assert start("replay").get("/api/models/old-name").status == 200


def test_a_token_goes_to_the_hub_alone_and_to_no_file(start, upstream):
    hub = start("record", upstream=upstream.url)
    path = "/org/gated/resolve/main/w.bin"
    assert hub.get(path).code == (401, "GatedRepo")
    upstream.trouble["/org/gated/resolve/" + Repository("", {}).commit + "/w.bin"] = [("says", f"your token {upstream.token} may not")]
    refused = hub.get(path, Authorization="Bearer " + upstream.token)
    assert refused.code == (403, "GatedRepo") and upstream.token not in str(refused.headers) + refused.content.decode()
    assert hub.get(path, Authorization="Bearer " + upstream.token).content == b"secret weights"
    assert hub.get("/_url/http/" + upstream.cdn.split("//")[1] + "/blobs/" + hashlib.sha256(b"").hexdigest(),
                   Authorization="Bearer " + upstream.token).status == 200
    assert [one["authorization"] for one in upstream.requests if one["role"] == "cdn"] == [None] * 2
    summary = hub.stop()
    written = b"\n".join([*everything(hub.folder), json.dumps(summary).encode()])
    for secret in (upstream.token.encode(), b"s1gnature", b"Bearer", b"X-Xet", b"x-xet"):
        assert secret not in written
    replay = start("replay")
    assert replay.get(path).content == b"secret weights"


def test_a_client_with_a_token_does_not_get_the_answer_of_one_without(start, upstream):
    hub = start("record", upstream=upstream.url)
    path = "/org/gated/resolve/main/w.bin"
    assert hub.get("/api/models/org/gated").status == 200
    upstream.trouble["/org/gated/resolve/" + Repository("", {}).commit + "/w.bin"] = [("slow", 2)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        without = pool.submit(hub.get, path)
        until(lambda: upstream.asked("/org/gated/resolve/"))
        assert hub.get(path, Authorization="Bearer " + upstream.token).content == b"secret weights"
        assert without.result().code == (401, "GatedRepo")


def test_children_that_want_one_file_share_a_download(start, upstream):
    hub = start("record", upstream=upstream.url)
    commit = Repository("", {}).commit
    upstream.trouble[f"/org/tiny/resolve/{commit}/model.safetensors"] = [("slow", 1)]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        contents = list(pool.map(lambda _: hub.get("/org/tiny/resolve/main/model.safetensors").content, range(10)))
    assert contents == [WEIGHTS] * 10
    assert len(upstream.asked("/blobs/")) == 1
    assert len(upstream.asked("/revision/")) == 1


def test_a_download_goes_on_where_it_broke_off(start, upstream):
    blob = "/blobs/" + hashlib.sha256(WEIGHTS).hexdigest()
    upstream.trouble[blob] = [("breaks", 1_000_000), ("breaks", 500_000)]
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/tiny/resolve/main/model.safetensors").content == WEIGHTS
    ranges = [one["range"] for one in upstream.asked("/blobs/")]
    assert ranges[0] is None and ranges[1].startswith("bytes=") and len(ranges) == 3
    assert hub.stop()["bytes_fetched"] == len(WEIGHTS)


def test_a_run_goes_on_with_the_download_of_a_killed_one(start, upstream):
    blob = "/blobs/" + hashlib.sha256(WEIGHTS).hexdigest()
    upstream.trouble[blob] = [("breaks", 1_000_000), ("slow", 30)]
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/tiny/resolve/main/config.json").status == 200
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asking = pool.submit(hub.get, "/org/tiny/resolve/main/model.safetensors")
        until(lambda: len(upstream.asked("/blobs/")) == 2)
        time.sleep(3)  # the lock is written two seconds after it changed
        hub.process.kill()
        with pytest.raises(Exception):
            asking.result(timeout=30)
    assert [one["name"] for one in hub.lock["repositories"]] == ["org/tiny"]
    again = start("record", upstream=upstream.url)
    assert again.get("/org/tiny/resolve/main/model.safetensors").content == WEIGHTS
    assert upstream.asked("/blobs/")[-1]["range"].startswith("bytes=")


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


@pytest.mark.parametrize("trouble, words", [
    (("other",), "digest"), (("longer",), "more than"), (("breaks", 10), "broke off"),
], ids=lambda value: value[0] if isinstance(value, tuple) else "")
@pytest.mark.parametrize("path", ["model.safetensors", "data.json"])
def test_nothing_wrong_is_kept(start, upstream, trouble, words, path):
    content = FILES[path]
    blob = "/blobs/" + hashlib.sha256(content).hexdigest()
    commit = Repository("", {}).commit
    upstream.trouble[blob if path == "model.safetensors" else f"/org/tiny/resolve/{commit}/{path}"] = [trouble] * 10
    hub = start("record", upstream=upstream.url)
    answer = hub.get("/org/tiny/resolve/main/" + path)
    assert answer.status in (502, 504) and words in answer.headers["X-Error-Message"]
    assert list((hub.folder / "store/blobs").iterdir()) == []
    upstream.trouble.clear()
    assert hub.get("/org/tiny/resolve/main/" + path).content == content
    assert words in hub.stop()["problems"][f"model org/tiny: {path}"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_hub_that_is_busy_is_asked_again(start, upstream, status):
    upstream.trouble["/api/models/org/tiny/revision/main"] = [("status", status)] * 2
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/tiny/resolve/main/config.json").content == FILES["config.json"]
    upstream.trouble["/api/datasets/org/data/revision/main"] = [("status", status)] * 99
    answer = hub.get("/datasets/org/data/resolve/main/train.csv")
    assert answer.status == 502 and f"answered {status}" in answer.headers["X-Error-Message"]


def test_a_hub_that_is_away_is_named(start):
    hub = start("record", upstream="http://127.0.0.1:9")
    answer = hub.get("/org/tiny/resolve/main/config.json")
    assert answer.status == 502 and "127.0.0.1" in answer.headers["X-Error-Message"]
    assert "tried 5 times" in hub.stop()["problems"]["model org/tiny: config.json"]


LISTINGS = {
    "no JSON": b"<html>", "not UTF-8": b'{"id": "org/tiny\xff"}', "deep": b"[" * 1000 + b"]" * 1000, "a list": b"[]", "empty": b"",
    "no files": b'{"id": "org/tiny", "sha": "%s"}' % (b"a" * 40), "another commit": b'{"id": "org/tiny", "sha": "main", "siblings": []}',
    "no text": b'{"id": "org/tiny", "sha": "\\ud800", "siblings": []}', "a number": b'{"id": "org/tiny", "sha": NaN, "siblings": []}',
    "long": b'{"id": "org/tiny", "sha": 1%s, "siblings": []}' % (b"0" * 400),
    "leads out": b'{"id": "../../x", "sha": "%s", "siblings": []}' % (b"a" * 40),
    "sizes": b'{"id": "org/tiny", "sha": "%s", "siblings": [{"rfilename": "x", "size": -1, "blobId": "1"}]}' % (b"a" * 40),
    "huge": b'{"id": "org/tiny", "sha": "%s", "siblings": [{"rfilename": "x", "size": 1e999, "blobId": "%s"}]}' % (b"a" * 40, b"1" * 40),
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_no_answer_of_a_hub_harms_the_lock(start, upstream, listing):
    upstream.trouble["/api/models/org/tiny/revision/main"] = [("bytes", listing)]
    hub = start("record", upstream=upstream.url)
    assert hub.get("/api/models/org/tiny").status == 502
    assert hub.get("/datasets/org/data/resolve/main/train.csv").status == 200
    hub.stop()
    assert [one["name"] for one in hub.lock["repositories"]] == ["org/data"]
    assert start("replay").get("/datasets/org/data/resolve/main/train.csv").status == 200


def test_a_useless_answer_costs_no_other_one(start, upstream):
    upstream.trouble["/api/models/org/tiny/revision/main"] = [("bytes", LISTINGS["no text"])] * 20
    upstream.trouble["/api/datasets/org/data/revision/main"] = [("slow", 2)]
    hub = start("record", upstream=upstream.url)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(hub.get, "/datasets/org/data/resolve/main/train.csv")
        until(lambda: upstream.asked("/org/data/"))
        for _ in range(10):
            assert "cannot be used" in hub.get("/api/models/org/tiny").headers["X-Error-Message"]
        assert other.result().content == b"a,b\n1,2\n"


def test_a_token_that_a_hub_sends_back_is_not_kept(start, upstream):
    upstream.repositories.append(Repository("org/echo", {"x": b"1"}, info={"tags": ["is " + upstream.token], "cardData": {upstream.token: 1}}))
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/echo/resolve/main/x", Authorization="Bearer " + upstream.token).status == 200
    hub.stop()
    assert hub.lock["repositories"][0]["info"] == {"tags": ["is <set>"], "cardData": {"<set>": 1}}


def test_strange_information_is_left_out_of_the_lock(start, upstream):
    deep = json.loads("[" * 100 + "]" * 100)
    upstream.repositories.append(Repository("org/odd", {"x": b"1"}, info={
        "pipeline_tag": "\ud800", "cardData": deep, "config": 10 ** 400, "safetensors": "x" * 100_000, "tags": ["good"], "secret": "hf_x"}))
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/odd/resolve/main/x").content == b"1"
    hub.stop()
    assert hub.lock["repositories"][0]["info"] == {"pipeline_tag": "?", "tags": ["good"]}
    assert start("replay").get("/api/models/org/odd").status == 200


def test_the_limit_of_bytes_is_named(start, upstream):
    hub = start("record", upstream=upstream.url, max_bytes=1_000_000)
    assert hub.get("/org/tiny/resolve/main/config.json").status == 200
    answer = hub.get("/org/tiny/resolve/main/model.safetensors")
    assert answer.status == 507 and "--hub-max" in answer.headers["X-Error-Message"]
    assert upstream.asked("/blobs/") == []
    assert "--hub-max" in hub.stop()["problems"]["model org/tiny: model.safetensors"]


def test_two_runs_that_record_one_lock_keep_both(start, upstream):
    one, two = (start("record", upstream=upstream.url) for _ in range(2))
    assert one.get("/org/tiny/resolve/main/config.json").status == 200
    assert two.get("/datasets/org/data/resolve/main/train.csv").status == 200
    one.stop()
    two.stop()
    assert {r["name"] for r in two.lock["repositories"]} == {"org/tiny", "org/data"}


def test_two_runs_that_end_at_once_keep_both(start, upstream):
    upstream.repositories += [Repository(f"org/r{n}", {"x": b"1"}) for n in range(20)]
    for n in range(0, 20, 2):
        hubs = [start("record", upstream=upstream.url) for _ in range(2)]
        for one, hub in enumerate(hubs):
            assert hub.get(f"/api/models/org/r{n + one}").status == 200
        for hub in hubs:
            hub.process.stdin.close()
        for hub in hubs:
            hub.process.wait(timeout=60)
        assert {f"org/r{n}", f"org/r{n + 1}"} <= {r["name"] for r in hub.lock["repositories"]}


def test_the_server_stays_small(start, upstream):
    big = random.Random(2).randbytes(60_000_000)
    upstream.repositories.append(Repository("org/big", {"big.bin": big, **{f"f{n:05}.txt": b"%d" % n for n in range(5_000)}}))
    hub = start("record", upstream=upstream.url)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for content in pool.map(lambda _: hub.get("/org/big/resolve/main/big.bin").content, range(4)):
            assert content == big
    assert len(json.loads(hub.get("/api/models/org/big/tree/main?recursive=true").content)) == 5_001
    assert hub.memory() < 64
    hub.stop()


GENERATOR = '''
import json, os, sys, time
out = sys.argv[1]
print(json.dumps({"key": "stand-in 1"}), flush=True)
open(os.path.join(out, "starts"), "a").write("x")
for line in sys.stdin:
    ask = json.loads(line)
    open(os.path.join(out, "asked"), "a").write(line)
    name = ask["name"]
    def say(**answer): print(json.dumps({"id": ask["id"], **answer}), flush=True)
    def made(path, text):
        at = os.path.join(out, f"made-{ask['id']}")
        open(at, "w").write(text)
        return {"path": path, "at": at}
    if "none" in name: say(missing="a test's missing repository", status=404)
    elif "gated" in name: say(missing="a test's gated repository", status=403)
    elif "dies" in name: sys.exit("it fell over")
    elif "outside" in name: say(files=[{"path": "x", "at": "/etc/passwd"}])
    elif "link" in name:
        os.symlink("/etc/passwd", os.path.join(out, "link"))
        say(files=[{"path": "x", "at": os.path.join(out, "link")}])
    elif ask["kind"] == "url": say(files=[made("a", "picture")], info={}, why="drawn")
    elif ask["file"] == "late.txt": say(files=[made("late.txt", "late")], info={}, why="asked for")
    elif ask["file"] in (None, "config.json"): say(files=[made("config.json", "{}")], info={"pipeline_tag": "fill-mask"}, **{"class": "BertModel", "why": "by its name"})
    else: say(missing="no such file", status=404)
'''


@pytest.fixture
def generator(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "generator.py").write_text(GENERATOR)
    return {"argv": [sys.executable, str(tmp_path / "generator.py"), str(tmp_path / "made")], "folder": str(tmp_path / "made")}


def test_what_is_absent_is_generated_once(start, generator, tmp_path):
    hub = start("generate", generator=generator)
    answer = hub.get("/org/made/resolve/main/config.json")
    commit = answer.headers["X-Repo-Commit"]
    assert (answer.content, answer.headers["X-Compat-Generated"]) == (b"{}", "1")
    assert commit.startswith("67656e657261746564") and len(commit) == 40
    assert hub.get(f"/org/made/resolve/{commit}/late.txt").content == b"late"
    missing = hub.get("/org/made/resolve/main/none.txt")
    assert missing.code == (404, "EntryNotFound") and missing.headers["X-Repo-Commit"] == commit
    assert json.loads(hub.get("/api/models/org/made").content)["pipeline_tag"] == "fill-mask"
    assert hub.get("/_url/https/images.example.org/a.jpg").content == b"picture"
    assert hub.get("/api/models/org/none").code == (404, "RepoNotFound")
    assert hub.get("/org/gated/resolve/main/x").code == (403, "GatedRepo")
    summary = hub.stop()
    assert summary["generated"] == ["model org/made", "https://images.example.org/a.jpg"]
    assert summary["missing"] == {"model org/none": "a test's missing repository", "model org/gated": "a test's gated repository"}
    log = [json.loads(line) for line in (tmp_path / "hub.jsonl").read_text().splitlines()]
    assert [(one["how"], one["class"], one["why"]) for one in log if one.get("file") == "config.json"] == [("generated", "BertModel", "by its name")]
    assert not (tmp_path / "hub.lock.json").exists()

    asked = (tmp_path / "made/asked").read_text()
    again = start("generate", generator=generator)
    assert again.get("/org/made/resolve/main/config.json").headers["X-Repo-Commit"] == commit
    assert again.get("/org/made/resolve/main/late.txt").content == b"late"
    assert again.get("/api/models/org/none").code == (404, "RepoNotFound")
    again.stop()
    assert (tmp_path / "made/asked").read_text() == asked


def test_recorded_content_goes_before_generated(start, upstream, generator):
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/tiny/resolve/main/config.json").status == 200
    hub.stop()
    mixed = start("generate", generator=generator)
    answer = mixed.get("/org/tiny/resolve/main/config.json")
    assert answer.content == FILES["config.json"] and "X-Compat-Generated" not in answer.headers
    # Nothing generated is mixed into a real repository.
    assert mixed.get("/org/tiny/resolve/main/model.safetensors").status == 404
    assert mixed.get("/org/tiny/resolve/main/late.txt").code == (404, "EntryNotFound")


def test_a_generator_that_fails_costs_its_own_answer_alone(start, generator):
    hub = start("generate", generator=generator)
    for name, words in (("org/dies", "it fell over"), ("org/outside", "outside of its folder"), ("org/link", "a link")):
        answer = hub.get(f"/{name}/resolve/main/config.json")
        assert answer.status == 503 and words in answer.headers["X-Error-Message"]
        assert hub.get(f"/{name}/resolve/main/config.json").status == 503  # not tried again
        assert hub.get("/org/made/resolve/main/config.json").content == b"{}"
    assert len(hub.stop()["problems"]) == 3
    assert (hub.folder / "made/starts").read_text() == "xx"
    assert (hub.folder / "made/asked").read_text().count("org/dies") == 1


def test_a_generator_that_cannot_start_is_named(start, tmp_path):
    hub = start("generate", generator={"argv": ["/no/such/python"], "folder": str(tmp_path)})
    answer = hub.get("/org/made/resolve/main/config.json")
    assert answer.status == 503 and "/no/such/python" in answer.headers["X-Error-Message"]


# Commands.


@pytest.fixture
def recorded(start, upstream, tmp_path, runner):
    """command(*words): `runner hub`, in the folder of a lock, with the store of its hub as its cache."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/hub").symlink_to(tmp_path / "store")
    hub = start("record", upstream=upstream.url)
    for path in ("/org/tiny/resolve/main/config.json", "/datasets/org/data/resolve/main/train.csv"):
        assert hub.get(path).status == 200
    hub.stop()
    return lambda *words, **env: runner("hub", *words, env={"COMPAT_CACHE": str(tmp_path / "cache"), "HF_ENDPOINT": upstream.url, "no_proxy": "*", **env})


def blob(folder, content):
    return folder / "store/blobs" / hashlib.sha256(content).hexdigest()


def test_the_commands_list_and_verify(recorded, tmp_path):
    listed = recorded("list")
    assert listed.code == 0, listed.err
    assert "model org/tiny" in listed.out and "1 of 5 files, 23 B" in listed.out and "dataset org/data" in listed.out
    assert recorded("verify").out == "0 files lacking or damaged\n"
    blob(tmp_path, FILES["config.json"]).write_bytes(b"x" * 23)
    blob(tmp_path, b"a,b\n1,2\n").unlink()
    assert "the store lacks 1" in recorded("list").out
    verified = recorded("verify")
    assert verified.code == 4
    assert "model org/tiny: config.json" in verified.out and "damaged" in verified.out and "dataset org/data: train.csv" in verified.out


def test_the_command_fetches_without_a_run(recorded, upstream, start):
    assert recorded("fetch", "org/tiny", "none").code == 4
    fetched = recorded("fetch", "org/tiny@main")
    assert fetched.code == 0, fetched.err
    assert fetched.out.startswith("5 files in the store")
    refused = recorded("fetch", "org/gated")
    assert refused.code == 4 and "restricted" in refused.err
    token = recorded("fetch", "org/gated", HF_TOKEN=upstream.token)
    assert token.code == 0, token.err
    missing = recorded("fetch", "org/none")
    assert missing.code == 2 and "org/none" in missing.err
    upstream.close()
    replay = start("replay")
    assert replay.get("/org/tiny/resolve/main/model.safetensors").content == WEIGHTS
    assert upstream.token.encode() not in b"".join(everything(replay.folder / "store")) + (replay.folder / "hub.lock.json").read_bytes()


def test_pruning_keeps_what_a_lock_names_and_follows_no_link(recorded, tmp_path):
    blobs, outside = tmp_path / "store/blobs", tmp_path / "outside"
    outside.write_text("mine")
    old = {blobs / ("a" * 64): "old", tmp_path / "store/partial/old": "old", tmp_path / "store/generated/old.json": "{}"}
    for path, text in old.items():
        path.write_text(text)
    (blobs / ("b" * 64)).write_text("new")
    (blobs / ("c" * 64)).symlink_to(outside)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_text("mine")
    (blobs / "folder").symlink_to(tmp_path / "elsewhere")
    for path in [*old, blobs / ("c" * 64), blobs / "folder", *(blob(tmp_path, c) for c in (FILES["config.json"], b"a,b\n1,2\n"))]:
        os.utime(path, (1, 1), follow_symlinks=False)
    os.utime(outside, (1, 1))
    assert recorded("prune").code == 2
    planned = recorded("prune", "--dry-run", "hub.lock.json")
    assert planned.code == 0 and "would delete 5 files" in planned.out, planned.err
    assert all(path.exists() for path in old)
    assert recorded("prune", "hub.lock.json").out.startswith("deleted 5 files")
    assert not any(path.exists() for path in old) and outside.read_text() == "mine" and (tmp_path / "elsewhere/file").exists()
    assert (blobs / ("b" * 64)).exists()
    assert recorded("verify").code == 0


def test_the_command_explains_who_asked_for_a_name(recorded, tmp_path):
    run = tmp_path / "results/runs/one_20260101-000000-abcd"
    (run / "logs").mkdir(parents=True)
    (run / "hub.jsonl").write_text((tmp_path / "hub.jsonl").read_text() + "garbage\n" + json.dumps(
        {"kind": "model", "name": "org/made", "how": "generated", "class": "BertModel", "why": "by its name", "revision": "main"}) + "\n")
    (run / "logs/a.1.hub.jsonl").write_text(json.dumps({"test": "a.py::T::t\x1b[31m", "repository": "models/org/made", "generated": True}) + "\n")
    explained = recorded("explain", "org/made")
    assert explained.code == 0, explained.err
    assert "generated" in explained.out and "from BertModel" in explained.out and "a.py::T::t" in explained.out and "\x1b" not in explained.out
    assert "fetched" in recorded("explain", "org/tiny").out
    assert recorded("explain", "org/nobody").code == 2
