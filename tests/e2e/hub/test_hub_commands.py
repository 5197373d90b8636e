"""`runner hub list | fetch | verify | prune | explain`."""
import json
import os

import pytest

from .helpers import FILES, WEIGHTS, blob, everything


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
