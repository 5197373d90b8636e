"""Tests the scanner behind `runner scan`: its table, and the sites of scan_sources, whose complete list is
expected.txt. tests/e2e/test_scan.py tests the command."""
import importlib
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCANNER = ROOT / "runner/harness/scan"
SOURCES = pathlib.Path(__file__).resolve().parent / "scan_sources"


def scan(python, folder, *paths):
    out = subprocess.run([python, "-I", SCANNER, *paths], cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def sites(python, folder, text):
    (folder / "code.py").write_text(text)
    out = scan(python, folder, "code.py")
    assert out["unread"] == []
    return [(s["line"], s["symbol"], s["category"], s["action"]) for s in out["sites"]]


def shown(site):
    flags = "".join(f" {name}" for name in ("fix", "guarded", "suppressed") if site[name])
    return f"{site['line']:>3} {site['symbol']} | {site['category']} | {site['action']}{flags}"


def test_the_sites_of_real_looking_code_are_all_found_and_nothing_else(python):
    out = scan(python, SOURCES, ".")
    lines, file = [], None
    for site in out["sites"]:
        if site["file"] != file:
            file = site["file"]
            lines.append(f"[{file}]")
        lines.append(shown(site))
    assert lines == (SOURCES / "expected.txt").read_text().splitlines()
    assert out["files"] == 4
    [broken] = out["unread"]
    assert (broken["file"], broken["line"]) == ("broken.py", 3) and "syntax" in broken["reason"]


def test_a_site_has_its_place_and_its_replacement(python):
    out = scan(python, SOURCES, "train.py")
    [site] = [s for s in out["sites"] if s["line"] == 64]
    assert site["source"] == 'device="cuda",' and site["column"] == 24
    assert site["span"] == [62, 65], "the call's lines, one of which runs"
    [stream] = [s for s in out["sites"] if s["symbol"] == "torch.cuda.current_stream"]
    assert stream["write"] == "torch.accelerator.current_stream()" and stream["torch"] == "2.6"


@pytest.mark.parametrize("code, found", [
    ("import torch.cuda as tc\ntc.Stream()", "torch.cuda.Stream"),
    ("from torch.cuda import Stream as S\nS()", "torch.cuda.Stream"),
    ("import torch as t\nm = t.cuda\nm.Stream()", "torch.cuda.Stream"),
    ("import torch as t\ndef f():\n    return t.cuda.streams.Stream()", "torch.cuda.Stream"),
    ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.cuda.Stream()", "torch.cuda.Stream"),
    ("from mylib import torch\ntorch.cuda.Stream()", None),
    ("import torch\ndef f(torch):\n    torch.cuda.Stream()", None),
    ("import torch\n[torch.cuda.Stream() for torch in ()]", None),
    ("from .torch import cuda\ncuda.Stream()", None),
    ("import torch\nclass A:\n    torch = 1\n    def f(self):\n        torch.cuda.Stream()", "torch.cuda.Stream"),
    ("import torch\ntorch.cuda.Stream.priority_range()", "torch.cuda.Stream.priority_range"),
    ("import torch\ntorch.cuda.no_such_name()", "torch.cuda.no_such_name"),
    ("import torch\ndef f(x: torch.cuda.FloatTensor): pass", "torch.cuda.FloatTensor"),
    ("from unittest import mock\nmock.patch('torch.cuda.is_available')", "torch.cuda.is_available"),
])
def test_names_are_resolved_through_imports(python, tmp_path, code, found):
    names = [symbol for _, symbol, category, _ in sites(python, tmp_path, code) if category != "imports"]
    assert names in ([], [found], [found, found]) and bool(names) == bool(found)


@pytest.mark.parametrize("code", [
    "class A[T: torch.cuda.Stream]: ...",        # from Python 3.12 on
    "def f[T = torch.cuda.Stream](x: T): ...",   # 3.13
    "f(t'{torch.cuda.Stream()} of {name:cuda}')",  # 3.14
    "[*torch.cuda.Stream() for x in y]",         # 3.15
    "lazy from torch import cuda\ncuda.Stream()",
])
def test_the_syntax_of_newer_pythons_is_searched(python, tmp_path, code):
    (tmp_path / "code.py").write_text("import torch\n" + code)
    out = scan(python, tmp_path, "code.py")
    if out["unread"]:
        pytest.skip("this Python does not parse it")
    assert [s["symbol"] for s in out["sites"] if s["category"] != "imports"] == ["torch.cuda.Stream"]


@pytest.mark.parametrize("code, category, action", [
    ("x.to('cuda')", "device strings", "replace"),
    ("torch.zeros(1, device='cuda')", "device strings", "replace"),
    ("torch.device('cuda')", "device strings", "replace"),
    ("torch.zeros(1, device='cuda:1')", "device strings", "review"),
    ("torch.device('cuda:' + str(i))", "device strings", "review"),
    ("torch.device('cuda:%d' % i)", "device strings", "review"),
    ("device = 'cuda:{}'.format(i)", "device strings", "review"),
    ("print('cuda:', i)", None, None),
    ("print('cuda:%d' % i)", None, None),
    ("Model(device='cuda')", "device strings", "review"),
    ("x.cuda(1)", ".cuda()", "review"),
    ("torch.load(f, map_location='cuda')", "device strings", "review"),
    ("torch.load(f, 'cuda')", "device strings", "review"),
    ("torch.autocast('cuda')", "AMP", "review"),
    ("torch.amp.GradScaler('cuda')", "GradScaler", "review"),
    ("dist.init_process_group('cpu:gloo,cuda:nccl')", "NCCL", "review"),
    ("backend == 'nccl'", "branches on the device", "keep"),
    ("x.device.type in ('cuda', 'xpu')", "branches on the device", "keep"),
    ("self.assertEqual(x.device.type, 'cuda')", "where a tensor is", "review"),
    ("x.get_device()", "where a tensor is", "review"),
    ("f'cuda:{rank}'.upper()", None, None),
    ("print('cuda')", None, None),
    ("x['cuda']", None, None),
    ("f(name='cuda')", None, None),
    ("hasattr(torch, 'cuda')", None, None),
    ("f(pin_memory=False)", None, None),
    ("args.cuda", None, None),
    ("self.get_device()", None, None),
    ("x.get_device(0)", None, None),
    ("kwargs.get('device', 'cuda')", "device strings", "review"),
    ("options.get('cuda')", "branches on the device", "keep"),
    ("@register('cuda')\ndef f(): pass", "branches on the device", "keep"),
    ("@parametrize('device', ['cpu', 'cuda'])\ndef f(): pass", "device strings", "review"),
    ("lib.impl('op', f, 'CUDA')", "branches on the device", "keep"),
    ("print('CUDA')", None, None),
    ("torch._C._cuda_isInBadFork()", "other names of torch.cuda", "branch"),
    ("torch.compile(f, backend='cudagraphs')", "graphs", "none"),
    ("log('cudagraphs')", None, None),
    ("os.environ['CUDACXX']", "environment variables", "keep"),
    ("'cuda'", None, None),
    ("'cuda' if torch.cuda.is_available() else 'cpu'", "is_available", "replace"),
    ("'cuda' if torch.cuda.is_available() and not args.cpu else 'cpu'", "is_available", "replace"),
    ("'cuda:0' if torch.cuda.is_available() else 'cpu'", "is_available", "review"),
    ("torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')", "is_available", "replace"),
])
def test_an_expression_is_of_its_category(python, tmp_path, code, category, action):
    found = [row[2:] for row in sites(python, tmp_path, f"import torch\nimport torch.distributed as dist\n{code}\n")]
    assert found == ([] if category is None else [(category, action)])


@pytest.mark.parametrize("code, guarded", [
    ("if x.is_cuda:\n    S()", True),
    ("if x.device.type == 'cuda' and x.ndim:\n    S()", True),
    ("if not torch.cuda.is_available():\n    pass\nelse:\n    S()", True),
    ("def f():\n    if x.device.type != 'cuda':\n        return\n    S()", True),
    ("@unittest.skipUnless(torch.cuda.is_available(), '')\ndef f():\n    S()", True),
    ("@pytest.mark.skipif(not torch.cuda.is_available(), reason='')\nclass T:\n    def f(self):\n        S()", True),
    ("if x.device.type == 'cuda' or force:\n    S()", False),
    ("if x.is_cuda:\n    pass\nS()", False),
    ("if x.device.type == 'cuda':\n    pass\nelse:\n    S()", False),
    ("if x.device.type != 'cuda':\n    S()", False),
])
def test_what_only_cuda_comes_to_needs_no_change(python, tmp_path, code, guarded):
    found = sites(python, tmp_path, "import torch\nfrom torch.cuda import get_arch_list as S\n" + code)
    assert [row[3] for row in found if row[1] == "torch.cuda.get_arch_list" and row[0] > 2] == ["keep" if guarded else "branch"]


def test_a_comment_suppresses_the_sites_of_its_statement(python, tmp_path):
    (tmp_path / "a.py").write_text('import torch\nx = torch.zeros(\n    1,\n    device="cuda",\n)  # noqa: CUDA001\n'
                                   'y = "# noqa: CUDA001", torch.cuda.synchronize()\nz.cuda()  # noqa\nz.cuda()  # NOQA:E501,CUDA001 why\n')
    out = scan(python, tmp_path, "a.py")
    assert [(s["line"], s["suppressed"]) for s in out["sites"]] == [(4, True), (6, False), (7, False), (8, True)]


def test_every_file_is_scanned_or_named(python, tmp_path):
    for folder in (".git", "venv", "node_modules", "__pycache__", "a/b"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.py").write_text("x.cuda()\n")
    (tmp_path / "venv/pyvenv.cfg").touch()
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n'\xe9'; x.cuda()\n")
    (tmp_path / "not_utf8.py").write_bytes(b"cuda = '\xe9'\n")
    (tmp_path / "null.py").write_bytes(b"cuda = 1\0\n")
    (tmp_path / "no_word.py").write_bytes(b"def\n")
    (tmp_path / "deep.py").write_text("x = " + "(" * 5000 + "cuda" + ")" * 5000 + "\n")
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    (tmp_path / "again.py").symlink_to("a/b/x.py")
    (tmp_path / "script").write_text("x.cuda()\n")
    (tmp_path / "crlf.py").write_bytes(b"pass\r\nx.cuda()\r\n")
    out = scan(python, tmp_path, ".", "script", "a/b/x.py")
    assert [(s["file"], s["line"], s["column"]) for s in out["sites"]] == [
        ("again.py", 1, 1), ("crlf.py", 2, 1), ("latin.py", 2, 6), ("script", 1, 1)] or \
        [s["file"] for s in out["sites"]] == ["a/b/x.py", "crlf.py", "latin.py", "script"]
    assert sorted(u["file"] for u in out["unread"]) == ["deep.py", "gone.py", "not_utf8.py", "null.py"]
    assert all(u["reason"] for u in out["unread"]) and out["files"] == 9


def test_a_package_that_is_scanned_is_the_codes_own(python, tmp_path):
    for name in ("apex/__init__.py", "apex/triton/__init__.py", "apex/triton/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import apex.amp\nfrom apex import amp\nimport triton\n" if name.endswith("a.py") else "")
    assert [s["symbol"] for s in scan(python, tmp_path, ".")["sites"]] == ["triton"]
    (tmp_path / "use.py").write_text("import apex\n")
    assert [s["symbol"] for s in scan(python, tmp_path, "use.py")["sites"]] == ["apex"]


def test_get_device_may_be_the_codes_own(python, tmp_path):
    (tmp_path / "node.py").write_text("class Node:\n    def get_device(self):\n        return self.device\n")
    (tmp_path / "use.py").write_text("def f(node):\n    return node.get_device(), node.cuda()\n")
    assert [s["symbol"] for s in scan(python, tmp_path, ".")["sites"]] == [".cuda()"]
    assert [s["symbol"] for s in scan(python, tmp_path, "use.py")["sites"]] == [".get_device()", ".cuda()"]


# The table.


@pytest.fixture(scope="module")
def table():
    sys.path.insert(0, str(SCANNER))
    try:
        return importlib.import_module("table").load()
    finally:
        sys.path.remove(str(SCANNER))


def patterns(table):
    return [(row, match) for row in table.data["uses"] for match in row["match"]]


def test_the_table_is_consistent(table):
    keys = [(next(iter(match)), match[next(iter(match))]) for _, match in patterns(table)]
    assert len(keys) == len(set(keys)), "a pattern stands once"
    for row, match in patterns(table):
        action = {**row, **match}["action"]
        assert action in table.actions
        assert ("fix" in match) == (action == "replace"), "what --fix writes is what can be replaced"
    for name in [value for kind, value in keys if kind == "name" and not value.endswith(".*")]:
        assert table.by_name(name)[0] is table.get("name", name), f"{name} is reachable"
    assert {row["action"] for row in table.data["uses"]} == set(table.actions)


def test_the_replacements_exist_in_torch(table):
    import torch
    names = {(name, {**row, **match}.get("torch") or "(torch " in row["write"]) for row, match in patterns(table)
             for name in re.findall(r"\btorch\.[\w.]*\w", {**row, **match}["write"])}
    assert len(names) > 20
    for name, since in names:
        value = torch
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        assert value is not None or name in ("torch.profiler", "torch.compile"), name
        assert since or not name.startswith("torch.accelerator"), f"{name} has a first version"


def test_what_torch_accelerator_has_is_offered(table):
    import torch
    same = [name for name in torch.accelerator.__all__ if hasattr(torch.cuda, name)]
    assert len(same) > 5
    other = table.get("name", "torch.cuda.*")
    assert [name for name in same if table.by_name(f"torch.cuda.{name}")[0] is other] == []
