"""The suite's source as text: which files mention a name. Also what its hub.names.json states.

Not here: what such a mention means (hints.py).
"""

import hashlib
import json
import os
import pathlib

_SKIPPED = {"node_modules", "__pycache__", "build", "dist", "docs", "site-packages"}
_SUFFIXES = (".py", ".json")
_MAX_BYTES = 4 << 20


class Source:
    """Reads the files once, when first asked. Without a root it is empty. `stated`: a hub.names.json."""

    def __init__(self, root, stated=None):
        self.models, self.datasets = (dict((stated or {}).get(kind, {})) for kind in ("models", "datasets"))
        self.root = pathlib.Path(root).resolve() if root else None
        self._texts = None
        self.trees = None  # of hints.py

    def texts(self):
        """Path from the root → text, in the order of the paths."""
        if self._texts is None:
            self._texts = {}
            for path in sorted(self._paths()):
                if path.stat().st_size <= _MAX_BYTES:
                    name = path.relative_to(self.root).as_posix()
                    self._texts[name] = path.read_text(encoding="utf-8", errors="replace")
        return self._texts

    def digest(self):
        digest = hashlib.sha256(json.dumps([self.models, self.datasets], sort_keys=True).encode())
        for name, text in self.texts().items():
            digest.update(name.encode() + b"\0" + hashlib.sha256(text.encode("utf-8", "replace")).digest())
        return digest.hexdigest()

    def mentioning(self, word, suffix=".py"):
        """The files that contain the word: pairs of path and text."""
        return [(n, t) for n, t in self.texts().items() if n.endswith(suffix) and word in t]

    def _paths(self):
        if self.root is None:
            return
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in _SKIPPED and not f.startswith(".")]
            yield from (pathlib.Path(folder, n) for n in names if n.endswith(_SUFFIXES))
