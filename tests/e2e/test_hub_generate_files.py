"""What the generator makes besides weights: tokenizers, processors, datasets, pictures, sounds and files.

Each test runs the maker in a process of its own, as the generator does, and reads the result with the real
packages. COMPAT_HUB_PYTHON names a Python that has them (COMPAT_HUB_PATH: a checkout's src), or the one that
runs pytest has them; a test whose package is not there is skipped.
"""
import http.server
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import textwrap
import threading
import urllib.parse
import wave

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "runner/hub/generate"
PYTHON = os.environ.get("COMPAT_HUB_PYTHON", sys.executable)
ENVIRONMENT = {
    **os.environ, "PYTHONPATH": os.environ.get("COMPAT_HUB_PATH", ""), "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
LOADED = f"""
import importlib, importlib.util, json, pathlib, sys
folder = pathlib.Path({str(PROGRAM)!r})
spec = importlib.util.spec_from_file_location("compat_generate", folder / "__init__.py", submodule_search_locations=[str(folder)])
sys.modules["compat_generate"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
part = lambda name: importlib.import_module("compat_generate." + name)
"""


def python(code, *words, offline=True, **more):
    """Runs code with the generator's package loaded; its last line of output is JSON."""
    switches = {name: "1" if offline else "0" for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")}
    process = subprocess.run([PYTHON, "-c", LOADED + textwrap.dedent(code), *map(str, words)], capture_output=True, text=True, timeout=300,
                             env={**ENVIRONMENT, **switches, **more})
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout.splitlines()[-1])


def has(*modules):
    code = f"import importlib.util as u; raise SystemExit(any(u.find_spec(m) is None for m in {modules!r}))"
    return subprocess.run([PYTHON, "-c", code], env=ENVIRONMENT).returncode == 0


def needs(*modules):
    return pytest.mark.skipif(not has(*modules), reason=f"no environment with {', '.join(modules)}")


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def folder(tmp_path):
    """folder(name): a new empty folder."""

    def make(name):
        (tmp_path / name).mkdir(parents=True)
        return tmp_path / name

    return make


# Makes each type named in a folder of its own, then reads those of which a text is given.
TOKENIZERS = """
import traceback
from transformers import AutoTokenizer
root, kinds, read = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
def made(kind):
    (root / kind).mkdir()
    return part("tokens").make_tokenizer(kind, root / kind, {})
def reading(kind, text):
    tokenizer = AutoTokenizer.from_pretrained(root / kind)
    full = tokenizer(text)["input_ids"]
    back = tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"])
    return {"back": back, "full": full, "length": len(tokenizer), "tokens": tokenizer.convert_ids_to_tokens(full)}
facts = {kind: made(kind) for kind in kinds}
messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": [{"type": "text", "text": "Bye"}]}]
said = AutoTokenizer.from_pretrained(root / "llama").apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
print(json.dumps({"facts": facts, "read": {kind: reading(kind, text) for kind, text in read.items()}, "said": said}))
"""
SENTENCE = "Hello world, this is a test."
# A type, the special tokens with which its published models begin and end a text, a file that readers of vocabularies ask for.
TYPES = [
    ("bert", "[CLS]", "[SEP]", "vocab.txt"), ("gpt2", None, None, "vocab.json"), ("roberta", "<s>", "</s>", "merges.txt"),
    ("t5", None, "</s>", "spiece.model"), ("llama", None, None, "tokenizer.model"), ("xlm-roberta", "<s>", "</s>", "sentencepiece.bpe.model"),
    ("albert", "[CLS]", "[SEP]", "spiece.model"), ("byt5", None, "</s>", None), ("clip", "<|startoftext|>", "<|endoftext|>", "merges.txt"),
    ("speecht5", None, "</s>", "spm_char.model"), ("ctrl", None, None, "vocab.json"), ("m2m_100", "__en__", "</s>", "vocab.json"),
]
AGAIN = ["bert", "llama", "t5", "gpt2", "ctrl"]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    root = tmp_path_factory.mktemp("tokenizers")
    kinds = [row[0] for row in TYPES]
    texts = {**dict.fromkeys(kinds, SENTENCE), "wav2vec2": "A TEST IN MAY"}
    return root, python(TOKENIZERS, root, json.dumps([*kinds, "wav2vec2", "llava", "whisper", "vit"]), json.dumps(texts), PYTHONHASHSEED="1")


@needs("transformers", "tokenizers", "sentencepiece", "jinja2")
class TestTokenizers:
    @pytest.mark.parametrize("kind, first, last, file", TYPES, ids=[row[0] for row in TYPES])
    def test_it_is_read_by_its_class_and_gives_the_text_back(self, tokenizers, kind, first, last, file):
        root, made = tokenizers
        read = made["read"][kind]
        assert file is None or (root / kind / file).is_file()
        assert "".join(read["back"].lower().split()) == "".join(SENTENCE.lower().split())
        assert max(read["full"]) < made["facts"][kind]["vocab_size"] >= read["length"]
        assert first is None or read["tokens"][0] == first
        assert last is None or read["tokens"][-1] == last
        assert str(root) not in (root / kind / "tokenizer_config.json").read_text()

    def test_letters_of_speech_are_a_vocabulary_of_their_own(self, tokenizers):
        root, made = tokenizers
        vocabulary = json.loads((root / "wav2vec2/vocab.json").read_text())
        assert {"|", "A", "Z", "'"} <= set(vocabulary) and len(vocabulary) < 40
        assert made["read"]["wav2vec2"]["back"] == "A TEST IN MAY"
        assert made["facts"]["wav2vec2"]["class"] == "Wav2Vec2CTCTokenizer"

    def test_tokens_of_media_and_of_tasks_have_ids(self, tokenizers):
        facts = tokenizers[1]["facts"]
        assert facts["llava"]["special"]["image_token_id"] > 0
        assert {"<|en|>", "<|de|>"} <= set(facts["whisper"]["generation"]["lang_to_id"])
        assert facts["whisper"]["generation"]["no_timestamps_token_id"] < facts["whisper"]["vocab_size"]

    def test_a_model_without_text_has_none(self, tokenizers):
        root, made = tokenizers
        assert made["facts"]["vit"] is None and contents(root / "vit") == {}

    def test_a_model_that_writes_text_has_a_chat_template(self, tokenizers):
        said = tokenizers[1]["said"]
        assert "[user]: Hello" in said and "[assistant]: Bye" in said and said.endswith("[assistant]: ")

    def test_it_is_the_same_in_two_processes(self, tokenizers, folder):
        second = folder("second")
        python(TOKENIZERS, second, json.dumps(AGAIN), "{}", PYTHONHASHSEED="2")
        for kind in AGAIN:
            assert contents(second / kind) == contents(tokenizers[0] / kind) != {}


PROCESSORS = """
import numpy
from transformers import AutoConfig, AutoFeatureExtractor, AutoImageProcessor, AutoProcessor
root, written = pathlib.Path(sys.argv[1]), {}
for kind, settings in json.loads(sys.argv[2]).items():
    (root / kind).mkdir()
    config = AutoConfig.for_model(kind, **settings)
    config.save_pretrained(root / kind)
    facts = part("tokens").make_tokenizer(kind, root / kind, {})
    written[kind] = part("processors").make_processor(kind, root / kind, config, facts)
drawn = part("data.drawing").picture("cats.jpg")
sound = numpy.array(part("data.sounds").samples("x.wav"), dtype="float32") / 32768
shapes = {
    "drawn": drawn.size,
    "vit": AutoImageProcessor.from_pretrained(root / "vit")(images=drawn, return_tensors="np")["pixel_values"].shape,
    "whisper": AutoProcessor.from_pretrained(root / "whisper")(sound, sampling_rate=16000, return_tensors="np")["input_features"].shape,
    "clip": {k: v.shape for k, v in AutoProcessor.from_pretrained(root / "clip")(text=["a cat"], images=drawn, return_tensors="np").items()},
}
print(json.dumps([written, shapes]))
"""
CONFIGS = {
    "vit": {"image_size": 30, "patch_size": 2}, "whisper": {"num_mel_bins": 40, "max_source_positions": 50},
    "clip": {"vision_config": {"image_size": 32, "patch_size": 8}},
}


@needs("transformers", "PIL", "numpy", "tokenizers", "torch")
def test_processors_give_inputs_in_the_configs_sizes(folder):
    root = folder("processors")
    written, shapes = python(PROCESSORS, root, json.dumps(CONFIGS))
    assert [name.removesuffix("Fast") for name in written["clip"]] == ["CLIPImageProcessor", "CLIPProcessor"]
    assert written["whisper"] == ["WhisperFeatureExtractor", "WhisperProcessor"]
    assert shapes["drawn"] == [640, 480] and shapes["vit"] == [1, 3, 30, 30]
    assert shapes["whisper"] == [1, 40, 100]  # two frames for each position
    assert shapes["clip"]["pixel_values"] == [1, 3, 32, 32] and shapes["clip"]["input_ids"][0] == 1
    assert not [name for name, content in contents(root).items() if str(root).encode() in content]


MAKE_URL = """
answer = part("media").make_url(sys.argv[1], pathlib.Path(sys.argv[2]), None)
print(json.dumps(answer))
"""


def made_file(answer):
    assert len(answer["files"]) == 1, answer
    return pathlib.Path(answer["files"][0]["at"]).read_bytes()


@needs("PIL")
@pytest.mark.parametrize("url, size", [
    ("http://images.cocodataset.org/val2017/000000039769.jpg", (640, 480)), ("https://picsum.photos/id/237/400/300", (400, 300)),
    ("https://example.org/pictures/cat_200x100.png?download=true", (200, 100)), ("https://images.unsplash.com/photo-12?q=80&w=30", (640, 480))])
def test_an_address_of_a_picture_has_one(folder, url, size):
    content = made_file(python(MAKE_URL, url, folder("url")))
    code = "from PIL import Image; image = Image.open(sys.argv[1]); image.load(); print(json.dumps(image.size))"
    path = folder("read") / "picture"
    path.write_bytes(content)
    assert tuple(python(code, path)) == size
    assert len(content) < 200_000


def test_a_script_is_no_picture_whatever_it_is_called(folder):
    answer = python(MAKE_URL, "https://example.org/images/photo-set.py", folder("py"))
    assert "no rule makes example.org/images/photo-set.py" in answer["missing"]


def test_a_sound_is_a_wave_file_of_16_khz(folder):
    with wave.open(io.BytesIO(made_file(python(MAKE_URL, "https://example.org/a/speech.wav", folder("wav"))))) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth(), sound.getnframes()) == (16000, 1, 2, 48000)
        values = struct.unpack("<48000h", sound.readframes(48000))
    assert max(values) > 3000 > -3000 > min(values)


@needs("PIL")
def test_a_video_is_a_movie_of_pictures(folder):
    content = made_file(python(MAKE_URL, "https://example.org/a/tiny_video.mp4", folder("mp4")))
    kinds, at = [], 0
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at:at + 8])
        kinds.append((kind, size))
        at += size
    assert [kind for kind, _ in kinds] == [b"ftyp", b"mdat", b"moov"] and at == len(content)
    count = struct.unpack(">I", content[content.index(b"stsz") + 12:][:4])[0]
    offset = struct.unpack(">I", content[content.index(b"stco") + 12:][:4])[0]
    assert count == 48 and content[offset:offset + 2] == b"\xff\xd8"


@needs("av", "PIL")
def test_a_video_is_decoded(folder):
    answer = python(MAKE_URL, "https://example.org/a/tiny_video.mp4", folder("mp4"))
    code = "import av; print(json.dumps([f.width for f in av.open(sys.argv[1]).decode(video=0)]))"
    assert python(code, answer["files"][0]["at"]) == [160] * 48


@pytest.mark.parametrize("url, word", [
    ("https://example.org/page", "no rule"), ("https://example.org/a/index.faiss", "no rule"), ("https://example.org/archive.zip", "no rule")])
def test_an_address_without_a_rule_is_missing_and_says_why(folder, url, word):
    answer = python(MAKE_URL, url, folder("url"))
    assert word in answer["missing"] and answer["status"] == 404


@pytest.mark.skipif(has("soundfile"), reason="soundfile is installed")
def test_a_package_that_is_not_there_is_named(folder):
    assert "soundfile" in python(MAKE_URL, "https://example.org/a/speech.mp3", folder("mp3"))["missing"]


@needs("PIL", "numpy")
@pytest.mark.parametrize("name", ["a.jpg", "b_rgba.png", "mask_1.png", "page.png", "c.gif", "d.wav", "e.mp4", "f.npy", "g.pdf", "h.csv", "i.json", "j.txt"])
def test_a_file_is_the_same_in_two_processes_and_another_for_another_name(folder, name):
    one, two, other = (made_file(python(MAKE_URL, f"https://example.org/{path}/{name}", folder(n), PYTHONHASHSEED=str(k)))
                       for k, (n, path) in enumerate((("one", "x"), ("two", "x"), ("other", "y")), 1))
    assert one == two
    assert name == "j.txt" or one != other


USES = '''
from datasets import load_dataset

class Tests:
    def helper(self):
        return load_dataset("somebody/spoken-words", "en", split="validation")

    def test_sounds(self):
        found = self.helper().sort("id")
        for row in found.select(range(2)):
            speech = row["audio"]["array"]

def test_forms():
    data = load_dataset("somebody/forms")
    first = data["train"][0]
    inputs = processor(first["image"], first["words"])
    assert inputs["pixel_values"] is not None
    data.map(lambda row: {"n": len(row["ner_tags"])})

def test_file():
    path = hf_hub_download(repo_id="somebody/pictures", filename="folder/cat.png", repo_type="dataset")

NAME = "somebody/plain"
def test_plain():
    load_dataset(NAME)
'''
MAKE_DATASET = """
source = part("source").Source(sys.argv[3]) if len(sys.argv) > 3 else None
name, file = sys.argv[1].split("#")
print(json.dumps(part("repositories").make_dataset(name, file or None, pathlib.Path(sys.argv[2]), source)))
"""
READ_USE = """
use = part("data.dataset_source").use_of(sys.argv[1], part("source").Source(sys.argv[2]))
print(json.dumps(use and [sorted(use.configs), sorted(use.splits), sorted(use.columns), sorted(use.files)]))
"""


@pytest.fixture
def suite(folder):
    root = folder("suite")
    (root / "test_it.py").write_text(USES)
    return root


@pytest.mark.parametrize("name, expected", [
    ("somebody/spoken-words", [["en"], ["validation"], ["audio", "id"], []]),
    ("somebody/forms", [[], ["train"], ["image", "ner_tags", "words"], []]),
    ("somebody/pictures", [[], [], [], ["folder/cat.png"]]),
    ("somebody/plain", [[], [], [], []]),
    ("somebody/else", None)])
def test_the_source_says_configurations_splits_columns_and_files(suite, name, expected):
    assert python(READ_USE, name, suite) == expected


class Hub(http.server.BaseHTTPRequestHandler):
    """The part of the hub's interface that loads a dataset, for one made folder a name."""
    protocol_version = "HTTP/1.1"
    commit = "67656e657261746564" + "0" * 22

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        asked, path = self.rfile.read(length), urllib.parse.unquote(self.path.split("?")[0])
        if found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            return self.file(*found.groups())
        found = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/[^/]+(?:/(.*))?)?", path)
        if not found or found[1] not in self.server.made:
            return self.reply(404, X_Error_Code="RepoNotFound")
        files = contents(self.server.made[found[1]])
        entries = [{"type": "file", "path": name, "size": len(content), "oid": "0" * 40} for name, content in files.items()]
        entries += [{"type": "directory", "path": name, "size": 0, "oid": "0" * 40} for name in sorted({n.split("/")[0] for n in files if "/" in n})]
        if found[2] == "tree":
            below = found[3] + "/" if found[3] else ""
            answer = [e for e in entries if e["path"].startswith(below) and ("/" not in e["path"][len(below):] or "recursive=True" in self.path)]
        elif found[2] == "paths-info":
            names = json.loads(asked)["paths"] if asked.startswith(b"{") else urllib.parse.parse_qs(asked.decode())["paths"]
            answer = [e for e in entries if e["path"] in names]
        else:
            answer = {"_id": "0", "id": found[1], "sha": self.commit, "private": False, "gated": False, "tags": [],
                      "lastModified": "2026-01-01T00:00:00.000Z", "siblings": [{"rfilename": name} for name in files]}
        return self.reply(200, json.dumps(answer).encode(), Content_Type="application/json")

    do_HEAD = do_POST = do_GET

    def file(self, name, path):
        content = contents(self.server.made[name]).get(path) if name in self.server.made else None
        if content is None:
            return self.reply(404, X_Error_Code="EntryNotFound", X_Repo_Commit=self.commit)
        return self.reply(200, content, ETag='"%08x"' % hash(content), X_Repo_Commit=self.commit, Content_Type="application/octet-stream")


@pytest.fixture
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.made = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


LOAD = """
import datasets
datasets.disable_progress_bars()
def plain(split):
    return split.cast_column("audio", datasets.Audio(decode=False)) if "audio" in split.column_names else split
def loaded(words):
    return {split: {"rows": data.num_rows, "features": {k: type(v).__name__.replace("Sequence", "List") for k, v in data.features.items()},
                    "first": sorted(plain(data)[0])} for split, data in datasets.load_dataset(*words).items()}
print(json.dumps([loaded(words) for words in json.loads(sys.argv[1])]))
"""
DATASETS = [
    (["somebody/spoken-words", "en"], "validation", {"audio": "Audio", "id": "Value"}),
    (["somebody/forms"], "train", {"image": "Image", "ner_tags": "List", "words": "List"}),
    (["nyu-mll/glue", "mrpc"], "validation", {"sentence1": "Value", "sentence2": "Value", "label": "ClassLabel", "idx": "Value"}),
    (["rajpurkar/squad"], "train", {"id": "Value", "title": "Value", "context": "Value", "question": "Value", "answers": "dict"}),
    (["uoft-cs/cifar10"], "test", {"img": "Image", "label": "ClassLabel"}),
    (["eriktks/conll2003"], "train", {"id": "Value", "tokens": "List", "pos_tags": "List", "chunk_tags": "List", "ner_tags": "List"}),
]


@needs("datasets", "pyarrow", "PIL")
def test_datasets_are_loaded_with_their_columns(folder, suite, hub):
    for words, _, _ in DATASETS:
        hub.made[words[0]] = folder(words[0])
        answer = python(MAKE_DATASET, f"{words[0]}#", hub.made[words[0]], suite)
        assert sum(pathlib.Path(f["at"]).stat().st_size for f in answer["files"]) < 5_000_000
    asked = json.dumps([words for words, _, _ in DATASETS])
    loaded = python(LOAD, asked, offline=False, HF_ENDPOINT=f"http://127.0.0.1:{hub.server_port}", HF_HOME=str(folder("home")))
    for (words, split, features), splits in zip(DATASETS, loaded):
        assert splits[split]["features"] == features, words
        assert splits[split]["first"] == sorted(features) and splits[split]["rows"] >= 3


@needs("pyarrow", "PIL")
def test_a_dataset_is_the_same_in_two_processes(folder, suite):
    for name in ("somebody/forms", "somebody/spoken-words", "nyu-mll/glue"):
        one, two = folder(f"one/{name}"), folder(f"two/{name}")
        python(MAKE_DATASET, f"{name}#", one, suite, PYTHONHASHSEED="1")
        python(MAKE_DATASET, f"{name}#", two, suite, PYTHONHASHSEED="2")
        assert contents(one) == contents(two) != {}


@needs("PIL")
def test_a_single_file_of_a_dataset_is_made_when_it_is_asked_for(folder, suite):
    place = folder("pictures")
    answer = python(MAKE_DATASET, "somebody/pictures#folder/dog.jpg", place, suite)
    assert {f["path"] for f in answer["files"]} == {"README.md", "folder/cat.png", "folder/dog.jpg"}


@needs("pyarrow", "PIL")
def test_files_that_clients_only_look_for_are_not_invented(folder, suite):
    answer = python(MAKE_DATASET, "somebody/plain#dataset_infos.json", folder("plain"), suite)
    assert {f["path"] for f in answer["files"] if not f["path"].endswith(".parquet")} == {"README.md"}


@pytest.mark.parametrize("name", ["nobody/names-this", "somebody/does-not-exist"])
def test_a_dataset_that_nobody_names_is_missing(folder, suite, name):
    assert python(MAKE_DATASET, f"{name}#", folder("none"), suite)["status"] == 404


def test_each_row_of_the_table_is_described_and_has_known_kinds():
    table = json.loads((PROGRAM / "data/datasets.json").read_text())
    code = """
    kinds = json.loads(sys.argv[1])
    columns, row = part("data.columns"), part("data.columns").Row("a", "train", 1)
    print(json.dumps([str(kind) for kind in kinds if not isinstance(part("data.parquet_file").feature(kind), (dict, list))]))
    """
    kinds = [kind for row in table.values() for config in row["configs"].values() for kind in config.values()]
    assert len(table) > 60 and all(row["about"] and row["splits"] for row in table.values())
    assert python(code, json.dumps(kinds)) == []
