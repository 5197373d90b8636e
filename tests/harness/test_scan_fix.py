"""Tests what `runner scan --fix --write` does to a file that is edited while it works. Its syntax trees are LibCST's,
which is not here; tests/e2e/test_scan.py tests the replacements."""
import json
import pathlib
import sys
import types

import pytest

SCAN = pathlib.Path(__file__).resolve().parents[2] / "runner/harness/scan"
OLD, NEW, EDITED = (b"import torch\n" + line for line in (b"torch.cuda.synchronize()\n", b"torch.accelerator.synchronize()\n", b"pass\n"))


@pytest.fixture
def fix(monkeypatch):
    libcst = types.SimpleNamespace(CSTTransformer=object, ParserSyntaxError=SyntaxError)
    monkeypatch.setitem(sys.modules, "libcst", libcst)
    monkeypatch.setitem(sys.modules, "libcst.metadata", types.SimpleNamespace(MetadataWrapper=None, PositionProvider=None))
    monkeypatch.syspath_prepend(str(SCAN))
    before = set(sys.modules)
    import fix as module
    yield module
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("edited", [False, True])
def test_a_file_that_is_edited_meanwhile_is_left(fix, monkeypatch, tmp_path, capsys, edited):
    file = tmp_path / "a.py"
    file.write_bytes(OLD)

    def rewrite(data, edits):
        if edited:
            file.write_bytes(EDITED)
        return NEW

    monkeypatch.setattr(fix, "rewrite", rewrite)
    fix.main(2, "2.13", "--write", "--", str(file))
    out = json.loads(capsys.readouterr().out)
    assert file.read_bytes() == (EDITED if edited else NEW)
    assert out["conflict"] == edited and out["changes"] == out["files"] == (not edited) and list(tmp_path.iterdir()) == [file]
    assert [one["reason"] for one in out["skipped"]] == (["left as it is: it was changed meanwhile: run it again"] if edited else [])
