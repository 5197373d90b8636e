"""The hub with the real clients, which a recording and its replay must serve alike. COMPAT_HUB_PYTHONS names Pythons with
huggingface_hub, with datasets and transformers or without, separated by ":"; default: this one."""
import json
import os
import subprocess
import sys

import pytest
from standins.hub import COMMIT, Repository, StandIn

from .helpers import SERVER

PYTHONS = os.environ.get("COMPAT_HUB_PYTHONS", sys.executable).split(":")


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def clients(module):
    return pytest.mark.parametrize("python", [pytest.param(p, marks=pytest.mark.skipif(
        not SERVER.exists() or not has(p, module), reason=f"no {module} in it")) for p in PYTHONS])


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "hub", "of", "tests", "##s"]
TINY = {
    "config.json": json.dumps({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                               "intermediate_size": 8, "vocab_size": 10}).encode(),
    "vocab.txt": "\n".join(WORDS).encode() + b"\n",
    "tokenizer_config.json": b'{"tokenizer_class": "BertTokenizer", "do_lower_case": true}',
    "sub/weights.bin": bytes(range(256)) * 4_000,
    "README.md": b"---\nlicense: mit\n---\n# tiny\n",
}
DATA = {"README.md": b"---\nlicense: mit\n---\n# data\n", "train.csv": b"a,b\n1,x\n2,y\n3,z\n", "test.csv": b"a,b\n4,w\n"}


@pytest.fixture
def upstream():
    hub = StandIn(Repository("org/tiny", TINY, info={"pipeline_tag": "feature-extraction", "library_name": "transformers"}),
                  Repository("org/data", DATA, "datasets"), Repository("org/gated", {"x.txt": b"x"}, gated="manual"))
    yield hub
    hub.close()


def run(python, hub, code, home):
    """What `code` prints, as JSON."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "COMPAT_", "PYTHON"))}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=240, env={
        **env, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1", "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


HUB_CODE = '''
import json, os
from huggingface_hub import HfApi, hf_hub_download, snapshot_download, file_exists, HfFileSystem, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub import errors
api, seen = HfApi(), {}
def name_of(call):
    try: call()
    except Exception as error: return type(error).__name__
info = api.model_info("org/tiny", files_metadata=True)
seen["info"] = [info.id, info.sha, info.pipeline_tag, info.library_name, info.tags, sorted((s.rfilename, s.size, s.lfs and s.lfs["sha256"]) for s in info.siblings)]
path = hf_hub_download("org/tiny", "sub/weights.bin")
seen["path"] = path.split("/hub/")[1]
seen["content"] = open(path, "rb").read()[:8].hex()
snapshot = snapshot_download("org/tiny", allow_patterns=["*.json", "vocab.txt"])
seen["snapshot"] = sorted(os.listdir(snapshot))
snapshot = snapshot_download("org/data", repo_type="dataset", revision=info.sha)
seen["data"] = sorted(os.listdir(snapshot))
seen["exists"] = [file_exists("org/tiny", "config.json"), file_exists("org/tiny", "none"), api.repo_exists("org/none"), api.revision_exists("org/tiny", "main")]
seen["metadata"] = [get_hf_file_metadata(hf_hub_url("org/tiny", f)).size for f in ("config.json", "sub/weights.bin")]
seen["tree"] = sorted(type(e).__name__ + " " + e.path for e in api.list_repo_tree("org/tiny", recursive=True, expand=True))
seen["paths"] = sorted(e.path for e in api.get_paths_info("org/tiny", ["sub", "config.json", "none"], expand=True))
seen["refs"] = [[b.name, b.target_commit] for b in api.list_repo_refs("org/tiny").branches]
fs = HfFileSystem()
seen["fs"] = [sorted(fs.ls("datasets/org/data", detail=False)), fs.cat("datasets/org/data/test.csv").decode(), sorted(fs.glob("org/tiny/**/*.bin"))]
with fs.open("org/tiny/sub/weights.bin", block_size=1000) as f:
    f.seek(300); seen["range"] = f.read(4).hex()
seen["errors"] = [name_of(lambda: hf_hub_download("org/none", "x")), name_of(lambda: hf_hub_download("org/tiny", "none")),
                  name_of(lambda: hf_hub_download("org/tiny", "config.json", revision="v9")), name_of(lambda: hf_hub_download("org/gated", "x.txt")),
                  name_of(lambda: api.whoami()), name_of(lambda: api.model_info("org/none"))]
seen["no_exist"] = repr(try_to_load_from_cache("org/tiny", "none"))[:8]
print(json.dumps(seen))
'''


@clients("huggingface_hub")
def test_huggingface_hub_sees_in_a_replay_what_it_recorded(start, upstream, python, tmp_path):  # noqa: F811
    hub = start("record", upstream=upstream.url)
    recorded = run(python, hub, HUB_CODE, tmp_path / "one")
    assert hub.stop()["problems"] == {}
    upstream.close()
    hub = start("replay")
    replayed = run(python, hub, HUB_CODE, tmp_path / "two")
    assert replayed == recorded
    assert recorded["info"][:4] == ["org/tiny", COMMIT, "feature-extraction", "transformers"]
    assert recorded["content"] == "0001020304050607" and recorded["range"] == "2c2d2e2f"
    assert recorded["path"] == f"models--org--tiny/snapshots/{COMMIT}/sub/weights.bin"
    assert recorded["snapshot"] == ["config.json", "sub", "tokenizer_config.json", "vocab.txt"]
    assert recorded["data"] == ["README.md", "test.csv", "train.csv"]
    assert recorded["exists"] == [True, False, False, True]
    assert recorded["metadata"] == [len(TINY["config.json"]), 1_024_000]
    assert recorded["tree"] == sorted(["RepoFolder sub", *("RepoFile " + path for path in TINY)])
    assert recorded["paths"] == ["config.json", "sub"]
    assert recorded["refs"] == [["main", COMMIT]]
    assert recorded["fs"][1] == DATA["test.csv"].decode()
    assert recorded["errors"] == ["RepositoryNotFoundError", recorded["errors"][1], "RevisionNotFoundError", "GatedRepoError", recorded["errors"][4],
                                  "RepositoryNotFoundError"]
    assert recorded["errors"][1] in ("EntryNotFoundError", "RemoteEntryNotFoundError") and recorded["errors"][4] is not None
    assert recorded["no_exist"] == "<object "


DATASETS_CODE = '''
import json
from datasets import load_dataset
seen = {"rows": [[dict(r) for r in load_dataset("org/data", split=s)] for s in ("train", "test")]}
seen["file"] = [dict(r) for r in load_dataset("org/data", data_files="test.csv", split="train")]
seen["stream"] = [dict(r) for r in load_dataset("org/data", split="train", streaming=True)]
print(json.dumps(seen))
'''


@clients("datasets")
def test_datasets_loads_in_a_replay_what_it_recorded(start, upstream, python, tmp_path):  # noqa: F811
    hub = start("record", upstream=upstream.url)
    recorded = run(python, hub, DATASETS_CODE, tmp_path / "one")
    hub.stop()
    upstream.close()
    assert run(python, start("replay"), DATASETS_CODE, tmp_path / "two") == recorded
    assert recorded["rows"] == [[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}], [{"a": 4, "b": "w"}]]
    assert recorded["stream"] == recorded["rows"][0] and recorded["file"] == recorded["rows"][1]


TRANSFORMERS_CODE = '''
import json
from transformers import AutoConfig, AutoTokenizer
config, tokenizer = AutoConfig.from_pretrained("org/tiny"), AutoTokenizer.from_pretrained("org/tiny")
print(json.dumps({"size": config.hidden_size, "ids": tokenizer("the hub of tests")["input_ids"], "commit": config._commit_hash}))
'''


@clients("transformers")
def test_transformers_loads_in_a_replay_what_it_recorded(start, upstream, python, tmp_path):  # noqa: F811
    hub = start("record", upstream=upstream.url)
    recorded = run(python, hub, TRANSFORMERS_CODE, tmp_path / "one")
    hub.stop()
    upstream.close()
    assert run(python, start("replay"), TRANSFORMERS_CODE, tmp_path / "two") == recorded
    assert recorded == {"size": 8, "ids": [2, 5, 6, 7, 8, 3], "commit": COMMIT}
