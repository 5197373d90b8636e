"""Repositories of libraries beside transformers: adapters, sentence embeddings, diffusion, timm.

Each library is imported when it is needed. Where it is not installed there is nothing that could
load the repository either.

Not here: models of transformers themselves (models.py).
"""

import importlib.util
import json
import re

from .adapters import make_adapter
from .common import found, missing, seed_of
from .diffusion import make_diffusion


def make(decision, name, file, folder, source, hints):
    """The answer for a repository of one of these libraries."""
    maker = MAKERS[decision.library]
    return maker(decision, name, folder, source, hints)


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def add_sentence_files(decision, config, folder, name):
    """Plain JSON: which modules an embedding model has. A CrossEncoder is a plain model."""
    if decision.sentence == "CrossEncoder":
        return
    is_sparse = decision.sentence == "SparseEncoder"
    _write(folder / "config_sentence_transformers.json", {
        "model_type": "SparseEncoder" if is_sparse else "SentenceTransformer",  # or a reader converts one to the other
        "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "dot" if is_sparse else "cosine",
    })
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 128, "do_lower_case": False})
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    if is_sparse:
        parts = [("", "MLMTransformer"), ("1_SpladePooling", "SpladePooling")]
        _write(folder / "1_SpladePooling/config.json", {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": config.vocab_size})
    owner = "sentence_transformers.sparse_encoder.models" if is_sparse else "sentence_transformers.models"
    modules = [{"idx": i, "name": str(i), "path": p, "type": f"{owner}.{c}"} for i, (p, c) in enumerate(parts)]
    _write(folder / "modules.json", modules)
    if not is_sparse:
        width = getattr(config, "hidden_size", None) or getattr(config, "d_model", None) or getattr(config, "dim", 32)
        modes = {"cls_token": False, "mean_tokens": True, "max_tokens": False, "mean_sqrt_len_tokens": False}
        if decision.sentence == "SetFitModel" and importlib.util.find_spec("sklearn"):
            add_setfit_files(folder, width, name)
        _write(folder / "1_Pooling/config.json", {"word_embedding_dimension": width, **{f"pooling_mode_{m}": v for m, v in modes.items()}})


def add_setfit_files(folder, width, name):
    """A trained head of two classes, where the name says that the model is trained: SetFitModel makes a
    new one for a plain embedding model."""
    if not re.search(r"setfit", name.lower()):
        return
    import joblib
    import numpy
    from sklearn.linear_model import LogisticRegression

    values = numpy.random.RandomState(seed_of(name)).standard_normal((16, width)).astype("float32")
    classes = [n % 2 for n in range(len(values))]
    joblib.dump(LogisticRegression(random_state=0).fit(values, classes), folder / "model_head.pkl")
    _write(folder / "config_setfit.json", {"normalize_embeddings": False, "labels": None})


def make_timm(decision, name, folder, source, hints):
    """timm makes its own models of a name; weights and a config, which names the model, are enough."""
    if importlib.util.find_spec("timm") is None:
        return missing("a model of timm, which is not installed")
    import timm
    from safetensors.torch import save_file

    model_name = name.rsplit("/", 1)[-1].split(".")[0]
    if not timm.is_model(model_name):
        return missing(f"timm has no model {model_name}")
    model = timm.create_model(model_name, num_classes=10)
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "model.safetensors")
    pretrained = {k: v for k, v in model.pretrained_cfg.items() if isinstance(v, (str, int, float, list, tuple))}
    _write(folder / "config.json", {"architecture": model_name, "num_classes": 10, "num_features": model.num_features,
                                    "pretrained_cfg": {**pretrained, "num_classes": 10}})  # fmt: skip
    return found(folder, model_name, decision.why, library_name="timm", pipeline_tag="image-classification", tags=["timm"])


MAKERS = {"peft": make_adapter, "diffusers": make_diffusion, "timm": make_timm}
