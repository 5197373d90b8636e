"""The generator of a hub's repositories, as the process that the hub starts.

Tests that make a model need an environment with transformers: COMPAT_HUB_PYTHON names its Python
(COMPAT_HUB_PATH: a checkout's src), or the one that runs pytest has it.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "runner/hub/generate"
PYTHON = os.environ.get("COMPAT_HUB_PYTHON", sys.executable)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.environ.get("COMPAT_HUB_PATH", "")}


def has(module):
    return subprocess.run([PYTHON, "-c", f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"],
                          env=ENVIRONMENT).returncode == 0


needs_transformers = pytest.mark.skipif(not (has("transformers") and has("torch")), reason="no environment with transformers")


def ask(folder, *requests, source=None, names=None):
    """The key and the answers of a new process. `names`: what a hub.names.json states."""
    folder.mkdir(exist_ok=True)
    lines = "".join((r if isinstance(r, str) else json.dumps({"id": i, **r})) + "\n" for i, r in enumerate(requests))
    words = [PYTHON, PROGRAM, "--out", folder, *(["--source", source] if source else [])]
    if names is not None:
        words += ["--names", folder.with_suffix(".names.json")]
        words[-1].write_text(json.dumps(names))
    process = subprocess.run(words, input=lines, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert process.returncode == 0, process.stderr
    key, *answers = map(json.loads, process.stdout.splitlines())
    return key["key"], answers


def model(name, **more):
    return {"kind": "model", "name": name, "revision": "main", "file": None, **more}


def contents(answer):
    return {f["path"]: pathlib.Path(f["at"]).read_bytes() for f in answer["files"]}


@pytest.fixture(scope="module")
def parts():
    """The program's modules that need no library, under another name than the program's own."""
    spec = importlib.util.spec_from_file_location("generate_parts", PROGRAM / "__init__.py", submodule_search_locations=[str(PROGRAM)])
    sys.modules["generate_parts"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return lambda name: importlib.import_module("generate_parts." + name)


def hints_of(parts, folder, name, text):
    (folder / "test_it.py").write_text(textwrap.dedent(text))
    source = parts("source").Source(folder)
    return parts("hints").hints_for(name, parts("hints").Trees(source))


# ---- the protocol

def test_each_line_has_an_answer_and_a_bad_one_ends_nothing(tmp_path):
    _, answers = ask(tmp_path / "out", "not JSON", {"kind": "collection", "name": "a/b"}, {"kind": "model"})
    assert [a["status"] for a in answers] == [404, 404, 404]
    assert answers[0]["id"] is None and answers[1]["id"] == 1
    assert "collection" in answers[1]["missing"] and "KeyError" in answers[2]["missing"]


def test_the_key_follows_the_source(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("x = 1\n")
    first, _ = ask(tmp_path / "out", source=source)
    assert ask(tmp_path / "out", source=source)[0] == first
    (source / "a.py").write_text("x = 2\n")
    assert ask(tmp_path / "out", source=source)[0] != first


# ---- what the source says

@pytest.mark.parametrize("text", [
    'BertForMaskedLM.from_pretrained("o/n")',
    'name = "o/n"\nBertForMaskedLM.from_pretrained(name)',
    'class T:\n    name = "o/n"\n    def test(self):\n        BertForMaskedLM.from_pretrained(self.name)',
    'for name in ["a", "o/n"]:\n    BertForMaskedLM.from_pretrained(name)',
    'import pytest\n@pytest.mark.parametrize("name", ["a", "o/n"])\ndef test(name):\n    BertForMaskedLM.from_pretrained(name)',
    'def load(name="o/n"):\n    return BertForMaskedLM.from_pretrained(name)',
])
def test_a_name_is_followed_to_the_class_that_loads_it(parts, tmp_path, text):
    assert hints_of(parts, tmp_path, "o/n", text).ranked() == ["BertForMaskedLM"]


def test_tasks_folders_adapters_and_constructors_are_seen(parts, tmp_path):
    hints = hints_of(parts, tmp_path, "o/n", """
        pipeline("fill-mask", model="o/n")
        PeftModel.from_pretrained(model, "o/n")
        UNet.from_pretrained("o/n", subfolder="unet")
        SentenceTransformer("o/n")
    """)
    assert dict(hints.tasks) == {"fill-mask": 1} and hints.subfolders == {"unet"}
    assert {"Adapter", "SentenceTransformer", "UNet"} <= set(hints.classes)


def test_an_expected_error_is_seen_with_its_words(parts, tmp_path):
    hints = hints_of(parts, tmp_path, "bert-base", """
        def test(self):
            with self.assertRaisesRegex(OSError, "is not a valid model identifier"):
                AutoModel.from_pretrained("bert-base")
    """)
    assert hints.uses == 1 and "is not a valid model identifier" in hints.raised[0]
    absent = pytest.importorskip("torch") and parts("names").absent
    assert absent("bert-base", "main", hints) == ("a test expects that it does not exist", 404)
    assert absent("o/other", "main", parts("hints").Hints()) is None
    assert absent("o/does-not-exist", "main", parts("hints").Hints())[1] == 404
    assert absent("o/other", "branch", parts("hints").Hints())[1] == 404


def test_texts_of_a_table_are_revisions_and_folders_of_the_name_beside_them(parts, tmp_path):
    hints = hints_of(parts, tmp_path, "o/n", """
        MODELS = [("o/n", "part"), ("o/other", "elsewhere")]

        def test_one():
            for name, folder in MODELS:
                AutoModel.from_pretrained(name, subfolder=folder)

        def test_two():
            version = "v2-of-mine"
            AutoModel.from_pretrained("o/n", revision=version)
    """)
    assert hints.subfolders == {"part"} and hints.revisions == {"v2-of-mine"}


def test_an_adapter_is_of_the_model_that_the_function_loads_beside_it(parts, tmp_path):
    hints = hints_of(parts, tmp_path, "o/n", """
        def test(self):
            note = "a/b"
            model_id = "o/base"
            adapter = "o/n"
            model = AutoModelForCausalLM.from_pretrained(model_id)
            PeftModel.from_pretrained(model, adapter)
    """)
    assert list(hints.companions) == ["o/base", "a/b"] and hints.classes["Adapter"] == 1
    hints = hints_of(parts, tmp_path, "o/n", """
        AutoPeftModelForCausalLM.from_pretrained("o/n")
        PeftModel.from_pretrained("o/n", "o/other")
    """)
    assert hints.classes["Adapter"] == 1


# ---- shapes

@pytest.mark.parametrize("name, old, new", [
    ("max_keypoints", -1, 64), ("max_keypoints", 5, 5), ("sinkhorn_iterations", 100, 10), ("num_queries", 300, 12),
    ("channel_multiplier", [1, 2, 2, 4], [1, 1, 1, 1]), ("max_image_length", -1, -1),
])
def test_what_one_pass_does_often_becomes_few(parts, name, old, new):
    assert parts("shapes").shrink_value(name, old, {name: old}) == new


def test_stages_keep_their_proportions(parts):
    proportional = parts("shapes").proportional
    assert proportional([96, 192, 384, 768], 16) == [16, 32, 64, 128]
    assert proportional([3, 6, 12, 24], 1) == [1, 2, 4, 8]
    assert proportional([0, 64], 16) == [0, 16]


def test_sections_of_a_rotary_embedding_fill_half_a_head(parts):
    rope = parts("shapes").shrink_rope({"mrope_section": [16, 24, 24], "rope_theta": 1e4}, 8)
    assert sum(rope["mrope_section"]) == 4 and len(rope["mrope_section"]) == 3


def test_ids_outside_a_small_vocabulary_get_places_of_their_own(parts):
    fields = {"vocab_size": 50000, "pad_token_id": 0, "bos_token_id": 49998, "eos_token_id": 49999, "image_token_index": 32000}
    new = parts("shapes").shrink_fields(fields, {"vocab_size": 300, "special": {"image_token_id": 7}})
    ids = [v for k, v in new.items() if k != "vocab_size"]
    assert new["vocab_size"] == 300 and new["image_token_index"] == 7
    assert len(set(ids)) == 4 and max(ids) < 300


def test_a_first_token_outside_becomes_the_tokenizers_own_first_one(parts):
    new = parts("shapes").shrink_fields({"vocab_size": 30524, "bos_token_id": 30522}, {"vocab_size": 300, "special": {"cls_token_id": 2}})
    assert new["bos_token_id"] == 2


def test_a_table_with_a_class_for_each_package_gives_one_that_is_installed(parts, monkeypatch):
    processors = parts("processors")
    monkeypatch.setattr(processors, "table", lambda kind: {"clip": {"torchvision": "Fast", "pil": "Slow"}, "vit": {"torchvision": "Fast", "pil": None}})
    monkeypatch.setattr(processors.special_tokens, "class_of_transformers", {"Fast": int, "Slow": float}.get)
    assert processors.class_of("image_processor", "clip", None) is float
    assert processors.class_of("image_processor", "vit", None) is int


def test_a_dataset_is_loaded_by_a_text_that_has_a_part_of_its_name(parts, tmp_path):
    (tmp_path / "test_it.py").write_text('rows = load_dataset(f"o/{name}", split="train")\nrows["title"]\nfile = f"p/{name}"\n')
    source = parts("source").Source(tmp_path)
    use = parts("data.dataset_source").use_of("o/any", source)
    assert use.is_loaded and list(use.splits) == ["train"] and list(use.columns) == ["title"]
    assert parts("data.dataset_source").use_of("p/any", source) is None
    assert parts("data.dataset_source").use_of("q/any", source) is None


# ---- models

NAMES = [
    ("hf-internal-testing/tiny-random-BertForMaskedLM", "BertForMaskedLM"),
    ("some/tiny-random-LlamaForCausalLM", "LlamaForCausalLM"),
    ("google-t5/t5-small", "T5ForConditionalGeneration"),
    ("openai/clip-vit-base-patch32", "CLIPModel"),
    ("distilbert/distilbert-base-uncased-finetuned-sst-2-english", "DistilBertForSequenceClassification"),
    ("facebook/wav2vec2-base-960h", "Wav2Vec2ForCTC"),
    ("someone/my-own-qwen2.5-0.5b", "Qwen2ForCausalLM"),
    ("microsoft/swin-tiny-patch4-window7-224", "SwinForImageClassification"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The answers of two processes that were asked the same, in opposite orders."""
    if not (has("transformers") and has("torch")):
        pytest.skip("no environment with transformers")
    requests = [model(name) for name, _ in NAMES]
    _, first = ask(tmp_path_factory.mktemp("first"), *requests)
    _, second = ask(tmp_path_factory.mktemp("second"), *reversed(requests))
    return first, list(reversed(second))


@pytest.mark.parametrize("index", range(len(NAMES)), ids=[n.replace("/", "-") for n, _ in NAMES])
def test_a_name_gives_a_model_of_its_class_equal_to_the_byte(made, index):
    first, second = made[0][index], made[1][index]
    assert "files" in first, first
    assert first["class"].split(",")[0] == NAMES[index][1]
    assert first["why"] == second["why"]
    ours, theirs = contents(first), contents(second)
    assert sorted(ours) == sorted(theirs)
    assert [p for p in ours if ours[p] != theirs[p]] == []
    assert {"config.json", "model.safetensors"} <= set(ours)
    assert sum(map(len, ours.values())) <= 5_000_000


@needs_transformers
def test_transformers_loads_what_was_made(made):
    """Every weight is there: transformers names none that it had to make."""
    folders = [str(pathlib.Path(a["files"][0]["at"]).parent) for a in made[0]]
    code = """
        import json, sys, transformers
        for folder in sys.argv[1:]:
            word = json.load(open(folder + "/config.json"))["architectures"][0]
            model, info = getattr(transformers, word).from_pretrained(folder, output_loading_info=True)
            print(word, len(info["missing_keys"]), len(info["unexpected_keys"]))
    """
    process = subprocess.run([PYTHON, "-c", textwrap.dedent(code), *folders], env=ENVIRONMENT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == [f"{word} 0 0" for _, word in NAMES]


@needs_transformers
def test_other_formats_come_when_asked_for_and_no_other_file_does(tmp_path):
    name = "hf-internal-testing/tiny-random-BertForMaskedLM"
    _, answers = ask(tmp_path / "out", model(name), model(name, file="pytorch_model.bin"), model(name, file="model.fp16.safetensors"),
                     model(name, file="notes.txt"), model("o/does-not-exist"), model("o/xyzzy"))
    assert "pytorch_model.bin" in contents(answers[1]) and "model.fp16.safetensors" in contents(answers[2])
    assert [a["status"] for a in answers[3:]] == [404, 404, 404]
    assert "no rule knows" in answers[5]["missing"]


@needs_transformers
def test_the_name_is_the_seed(tmp_path):
    _, (a, b) = ask(tmp_path / "out", model("a/tiny-random-BertForMaskedLM"), model("b/tiny-random-BertForMaskedLM"))
    assert contents(a)["config.json"] == contents(b)["config.json"]
    assert contents(a)["model.safetensors"] != contents(b)["model.safetensors"]


SPELLED = [
    ("o/tiny_T5ForSeq2SeqLM", "T5ForConditionalGeneration"), ("o/tiny_OPTForFeatureExtraction", "OPTModel"),
    ("Qwen/Qwen3-30B-A3B", "Qwen3MoeForCausalLM"), ("facebook/opt-350m", "OPTForCausalLM"),
    ("facebook/detr-resnet-50", "DetrForObjectDetection"),  # whose default backbone is another package's
]


@needs_transformers
def test_names_spell_heads_of_auto_classes_and_experts(tmp_path):
    _, answers = ask(tmp_path / "out", *(model(name) for name, _ in SPELLED))
    assert [a["class"].split(",")[0] for a in answers] == [word for _, word in SPELLED]
    assert all("model.safetensors" in contents(a) for a in answers)


@needs_transformers
def test_other_revisions_have_other_weights_and_a_commit_has_the_main_ones(tmp_path):
    name = "o/tiny-random-BertForMaskedLM"
    _, answers = ask(tmp_path / "out", *(model(name, revision=r) for r in ("main", "v2.0.0", "a" * 40, "fp16")))
    main, *others = (contents(a)["model.safetensors"] for a in answers)
    assert [other == main for other in others] == [False, True, True]


@needs_transformers
def test_a_class_without_a_head_has_the_weights_of_the_head_that_the_source_uses(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "test_it.py").write_text('AutoModelForCausalLM.from_pretrained("o/tiny-random-BertModel")\n')
    _, (plain,) = ask(tmp_path / "out", model("o/tiny-random-BertModel"))
    _, (headed,) = ask(tmp_path / "out2", model("o/tiny-random-BertModel"), source=source)
    assert plain["class"] == headed["class"] == "BertModel"
    assert json.loads(contents(headed)["config.json"])["architectures"] == ["BertModel"]
    assert b"cls.predictions.bias" in contents(headed)["model.safetensors"]
    assert b"pooler.dense.bias" in contents(headed)["model.safetensors"]
    assert b"cls.predictions" not in contents(plain)["model.safetensors"]


@needs_transformers
def test_a_repository_without_weights_says_why_there_are_none(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    code = f"""
        import importlib, importlib.util, pathlib, sys, transformers
        folder = pathlib.Path({str(PROGRAM)!r})
        spec = importlib.util.spec_from_file_location("made", folder / "__init__.py", submodule_search_locations=[str(folder)])
        sys.modules["made"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        def refuse(*words):
            raise AttributeError("no such field")
        transformers.BertForMaskedLM.__init__ = refuse
        answers = importlib.import_module("made.answers").Answers(pathlib.Path(sys.argv[1]), None)
        answer = answers.answer({{"kind": "model", "name": "o/tiny-random-BertForMaskedLM"}})
        print(sorted(f["path"] for f in answer["files"]), answer["why"])
    """
    process = subprocess.run([PYTHON, "-c", textwrap.dedent(code), folder], env={**ENVIRONMENT, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "config.json" in process.stdout and "tokenizer.json" in process.stdout and "model.safetensors" not in process.stdout
    assert "no weights: AttributeError: no such field" in process.stdout


@pytest.mark.skipif(not (has("transformers") and has("peft")), reason="no environment with peft")
def test_adapters_have_their_base_their_task_and_their_kind(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "test_it.py").write_text(textwrap.dedent("""
        def test_one(self):
            AutoPeftModelForFeatureExtraction.from_pretrained("o/tiny_OPTForFeatureExtraction-lora")
            AutoPeftModel.from_pretrained("o/tiny_WhisperForConditionalGeneration-lora")

        def test_two(self):
            name = "o/tiny-random-LlamaForCausalLM"
            model = AutoModelForCausalLM.from_pretrained(name)
            PeftModel.from_pretrained(model, "o/mine-loha", subfolder="part")

        def test_three(self):
            AutoPeftModelForCausalLM.from_pretrained("o/opt-and-more", revision="mine")
            AutoTokenizer.from_pretrained("o/opt-and-more", revision="mine")
    """))
    _, answers = ask(tmp_path / "out", model("o/tiny_OPTForFeatureExtraction-lora"), model("o/tiny_WhisperForConditionalGeneration-lora"),
                     model("o/mine-loha"), model("o/opt-and-more", revision="mine"), model("o/mine-loha", file="adapter_model.bin"), source=source)
    files = [contents(a) for a in answers]
    configs = [json.loads(f["adapter_config.json"]) for f in files]
    assert [(c["base_model_name_or_path"], c["task_type"], c["peft_type"]) for c in configs] == [
        ("o/tiny_OPTForFeatureExtraction", "FEATURE_EXTRACTION", "LORA"), ("o/tiny_WhisperForConditionalGeneration", None, "LORA"),
        ("o/tiny-random-LlamaForCausalLM", "CAUSAL_LM", "LOHA"), (configs[3]["base_model_name_or_path"], "CAUSAL_LM", "LORA"),
        ("o/tiny-random-LlamaForCausalLM", "CAUSAL_LM", "LOHA"),
    ]
    assert configs[1]["auto_mapping"]["base_model_class"] == "WhisperForConditionalGeneration"
    assert "part/adapter_model.safetensors" in files[2] and "tokenizer.json" in files[3] and "adapter_model.bin" in files[4]


@needs_transformers
def test_an_embedding_model_has_its_modules(tmp_path):
    _, (answer,) = ask(tmp_path / "out", model("sentence-transformers/all-MiniLM-L6-v2"))
    files = contents(answer)
    assert [m["path"] for m in json.loads(files["modules.json"])] == ["", "1_Pooling", "2_Normalize"]
    assert json.loads(files["1_Pooling/config.json"])["word_embedding_dimension"] == json.loads(files["config.json"])["hidden_size"]


@pytest.mark.skipif(not (has("transformers") and has("sklearn")), reason="no environment with scikit-learn")
def test_a_trained_setfit_model_has_a_head_and_a_sparse_encoder_says_what_it_is(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    names = ("o/my-setfit-sst2", "o/paraphrase-MiniLM", "o/my-bert-sparse")
    (source / "test_it.py").write_text("".join(f'{c}("{n}")\n' for c, n in zip(("SetFitModel.from_pretrained",) * 2 + ("SparseEncoder",), names)))
    _, answers = ask(tmp_path / "out", *map(model, names), source=source)
    trained, plain, sparse = map(contents, answers)
    assert "model_head.pkl" in trained and json.loads(trained["config_setfit.json"])["labels"] is None
    assert "model_head.pkl" not in plain and "modules.json" in plain
    assert json.loads(sparse["config_sentence_transformers.json"])["model_type"] == "SparseEncoder"


def test_labels_are_those_that_a_test_compares_not_those_that_it_sets(parts, tmp_path):
    hints = hints_of(parts, tmp_path, "o/n", """
        def test_one(self):
            model = pipeline("ner", model="o/n").model
            model.config.id2label = {0: "X", 1: "Y"}

        def test_two(self):
            model = pipeline("ner", model="o/n").model
            self.assertEqual(model.config.id2label, {0: "O", 1: "PER"})
    """)
    assert hints.labels == ("O", "PER")


def test_the_suite_can_state_what_a_name_is(parts, tmp_path):
    """Before all rules; a name of a class that no package has leaves it to them."""
    stated = {"models": {"org/no-such-lora": "BertForMaskedLM"}, "datasets": {"org/d": {"splits": ["dev"], "configs": {"c": {"x": "int"}}}}}
    source = parts("source").Source(None, stated)
    hints = parts("hints").hints_for("org/no-such-lora", parts("hints").Trees(source))
    assert hints.stated == "BertForMaskedLM" and hints.ranked()[0] == "BertForMaskedLM"
    assert parts("names").absent("org/no-such-lora", "main", hints) is None
    assert source.digest() != parts("source").Source(None).digest(), "another file, other answers"
    assert parts("repositories").stated_or_known("org/d", source)["configs"] == {"c": {"x": "int"}}
    with pytest.raises(ValueError, match="hub.names.json: pictur is no kind of column"):
        parts("repositories").stated_or_known("org/d", parts("source").Source(None, {
            "datasets": {"org/d": {"splits": ["dev"], "configs": {"c": {"x": [{"y": "pictur"}]}}}}}))


@needs_transformers
def test_a_stated_class_is_made(tmp_path):
    names = {"format": 1, "models": {"org/lora-gpt2": "BertForMaskedLM", "org/tiny-gpt2": "NoSuchClass"}}
    _, (stated, other) = ask(tmp_path / "out", model("org/lora-gpt2"), model("org/tiny-gpt2"), names=names)
    assert stated["class"].startswith("BertForMaskedLM") and stated["why"] == "hub.names.json states BertForMaskedLM"
    assert other["class"].startswith("GPT2") and "states NoSuchClass, which the installed packages lack" in other["why"]


@needs_transformers
def test_padding_and_late_tokens_are_as_the_family_has_them(tmp_path):
    """A type whose config counts with padding has a token for it. Tokens such as <|endoftext|> end a byte-level vocabulary."""
    made = {}
    _, answers = ask(tmp_path / "out", *(model(name) for name in ("openai/whisper-tiny", "openai-community/gpt2", "facebook/opt-125m")))
    for answer in answers:
        files = contents(answer)
        settings = json.loads(files["tokenizer_config.json"])
        vocabulary = json.loads(files["tokenizer.json"])["model"]["vocab"]
        made[answer["class"].partition("For")[0].partition("LM")[0]] = (settings.get("pad_token"), vocabulary["<|endoftext|>"] == len(vocabulary) - 1)
    assert made == {"Whisper": ("<|endoftext|>", True), "GPT2": (None, True), "OPT": ("<pad>", True)}


def test_files_of_a_space_are_drawn(tmp_path):
    """Tests name pictures of demonstrations by their address. Nobody runs the program of one."""
    space = {"kind": "space", "name": "org/demo", "revision": "main"}
    _, answers = ask(tmp_path / "out", {**space, "file": "sounds/a.wav"}, {**space, "file": "notes.txt"})
    assert contents(answers[0])["sounds/a.wav"].startswith(b"RIFF")
    assert list(contents(answers[1])) == ["README.md", "notes.txt", "sounds/a.wav"]
    _, answers = ask(tmp_path / "other", {**space, "file": "app.py"}, {**space, "file": "a.wav"})
    assert [list(contents(answer)) for answer in answers] == [["README.md"], ["README.md", "a.wav"]], "a file that is not made denies no other"
