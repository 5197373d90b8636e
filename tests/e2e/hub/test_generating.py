"""What a hub has made that it lacks. The generator is a stand-in; the real one: tests/e2e/test_hub_generate.py."""
import json

import pytest

from .helpers import FILES


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


@pytest.mark.parametrize("damage", ["", "{", "{}", "[]", "null", '{"format": 1}', '{"format": 1, "kind": "model", "name": "org/made", "files": []}',
                                    '{"format": 1, "kind": "model", "name": "org/made", "files": {"a": 1}}',
                                    '{"format": 1, "kind": "model", "name": "org/none", "missing": "of another name"}',
                                    '{"format": 1, "kind": "model", "name": "org/made", "missing": ""}', '{"format": 1, "kind": "model", "name": "org/made", "info": 3}'])
def test_a_damaged_entry_of_the_cache_is_made_again(start, generator, tmp_path, damage):
    hub = start("generate", generator=generator)
    commit = hub.get("/org/made/resolve/main/config.json").headers["X-Repo-Commit"]
    hub.stop()
    (entry,) = (tmp_path / "store/generated").iterdir()
    whole = entry.read_text()
    entry.write_text(damage)
    again = start("generate", generator=generator)
    answer = again.get("/org/made/resolve/main/config.json")
    assert (answer.status, answer.content, answer.headers["X-Repo-Commit"]) == (200, b"{}", commit)
    assert entry.read_text() == whole and again.stop()["problems"] == {}
