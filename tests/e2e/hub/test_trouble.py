"""A hub elsewhere that is slow, away or wrong, and downloads that break off."""
import concurrent.futures
import hashlib
import json
import time

import pytest
from standins.hub import Repository

from .helpers import FILES, WEIGHTS, until


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


def test_strange_information_is_left_out_of_the_lock(start, upstream):
    deep = json.loads("[" * 100 + "]" * 100)
    upstream.repositories.append(Repository("org/odd", {"x": b"1"}, info={
        "pipeline_tag": "\ud800", "cardData": deep, "config": 10 ** 400, "safetensors": "x" * 100_000, "tags": ["good"], "secret": "hf_x"}))
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/odd/resolve/main/x").content == b"1"
    hub.stop()
    assert hub.lock["repositories"][0]["info"] == {"pipeline_tag": "?", "tags": ["good"]}
    assert start("replay").get("/api/models/org/odd").status == 200
