"""What a hub records from one elsewhere, and replays."""
import concurrent.futures
import hashlib
import json
import random

from standins.hub import Repository

from .helpers import FILES, WEIGHTS


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


def test_children_that_want_one_file_share_a_download(start, upstream):
    hub = start("record", upstream=upstream.url)
    commit = Repository("", {}).commit
    upstream.trouble[f"/org/tiny/resolve/{commit}/model.safetensors"] = [("slow", 1)]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        contents = list(pool.map(lambda _: hub.get("/org/tiny/resolve/main/model.safetensors").content, range(10)))
    assert contents == [WEIGHTS] * 10
    assert len(upstream.asked("/blobs/")) == 1
    assert len(upstream.asked("/revision/")) == 1


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


def test_the_limit_of_bytes_is_named(start, upstream):
    hub = start("record", upstream=upstream.url, max_bytes=1_000_000)
    assert hub.get("/org/tiny/resolve/main/config.json").status == 200
    answer = hub.get("/org/tiny/resolve/main/model.safetensors")
    assert answer.status == 507 and "--hub-max" in answer.headers["X-Error-Message"]
    assert upstream.asked("/blobs/") == []
    assert "--hub-max" in hub.stop()["problems"]["model org/tiny: model.safetensors"]


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
