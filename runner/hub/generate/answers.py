"""Which request has which answer: the table of kinds, the folders that are written, the key.

Not here: how a thing is made (models.py, repositories.py, media.py).
"""

import hashlib
import importlib.metadata
import importlib.util
import pathlib

from . import media, models, repositories
from .common import missing
from .source import Source

# Packages whose version an answer can depend on.
PACKAGES = (
    "torch", "transformers", "tokenizers", "sentencepiece", "safetensors", "numpy", "pillow",
    "datasets", "pyarrow", "diffusers", "peft", "sentence-transformers", "timm", "accelerate",
    "huggingface_hub", "scipy", "soundfile", "tiktoken",
)


class Answers:
    """Answers requests; remembers what it made for which repository."""

    def __init__(self, out, source_root, stated=None):
        self.out = out
        self.source = Source(source_root, stated)
        self.made = {}

    def key(self):
        """Changes with the packages, the suite's source and this program."""
        digest = hashlib.sha256()
        for name in PACKAGES:
            digest.update(f"{name} {version_of(name)}\n".encode())
        for file in sorted(pathlib.Path(__file__).parent.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
        digest.update(self.source.digest().encode())
        return digest.hexdigest()

    def folder(self, kind, name, revision):
        """An empty or already filled folder of this repository's own."""
        word = hashlib.sha256(f"{kind}\0{name}\0{revision}".encode()).hexdigest()[:32]
        folder = self.out / kind / word
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def answer(self, request):
        kind, name = request["kind"], request["name"]
        revision, file = request.get("revision") or "main", request.get("file")
        if kind == "url":
            return media.make_url(name, self.folder(kind, name, ""), self.source)
        if kind == "dataset":
            return repositories.make_dataset(name, file, self.folder(kind, name, revision), self.source)
        if kind == "space":
            return media.make_space(name, file, self.folder(kind, name, revision))
        if kind != "model":
            return missing(f"no rule makes a {kind}")
        return self.model(name, revision, file)

    def model(self, name, revision, file):
        """Made once for each revision; a later request asks for a file that it does not have."""
        place = (name, revision)
        if place not in self.made:
            self.made[place] = models.make_model(name, revision, file, self.folder("model", *place), self.source)
            return self.made[place]
        if "missing" in self.made[place] or not file:
            return self.made[place]
        return models.make_file(name, file, self.folder("model", *place), self.made[place])


def version_of(package):
    """Also tells apart two checkouts of one version: they differ in the sizes of their files."""
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version = None
    if package != "transformers":
        return version
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        return version
    root = pathlib.Path(spec.origin).parent
    sizes = sorted((str(p.relative_to(root)), p.stat().st_size) for p in root.rglob("*.py"))
    return f"{version} {hashlib.sha256(repr(sizes).encode()).hexdigest()}"
