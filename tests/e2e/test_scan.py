"""Tests `runner scan` as installed: its text, its JSON, its exit codes. tests/harness/test_cuda_scan.py tests which
sites are found."""
import json
import pathlib
import shutil
import subprocess

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/harness/scan_sources"

NEUTRAL = "import torch\nx = torch.zeros(3)\nif x.device.type == 'cuda':\n    torch.cuda.get_device_name()\n"


@pytest.fixture
def sources(tmp_path):
    shutil.copytree(SOURCES, tmp_path / "src")
    return tmp_path / "src"


def test_sites_are_grouped_by_what_to_do(runner, sources, tmp_path):
    out = runner("scan", "src", "--json", "scan.json")
    assert out.code == 0, out.err
    scan = json.loads((tmp_path / "scan.json").read_text())
    jsonschema.validate(scan, json.loads((ROOT / "reports/schemas/scan.schema.json").read_text()))
    groups = [line.partition(":")[0] for line in out.out.splitlines() if line[:1].isalnum()]
    assert groups == ["replace", "replace with care", "keep behind a branch for CUDA", "no counterpart", "nothing to do",
                      "not scanned by Python " + scan["python"], "4 Python files"]
    assert "src/train.py:47  torch.cuda.set_device(rank)" in out.out and "-> torch.accelerator.set_device_index(i)\n" in out.out
    assert "src/broken.py:3: invalid syntax" in out.out
    assert out.out.endswith(f"{len(scan['sites'])} sites in 3 files, {scan['to_change']} to change, 2 suppressed by # noqa: CUDA001, 1 not scanned\n")
    review = [s for s in scan["sites"] if s["action"] == "review" and not s["suppressed"]]
    assert f"replace with care: {len(review)} sites" in out.out
    assert f"… and {len(review) - 10} more; --all prints them" in out.out
    assert sum(s["to_change"] for s in scan["sites"]) == scan["to_change"]

    every = runner("scan", "src", "--all")
    assert "more; --all" not in every.out
    assert sum(" -> " in line for line in every.out.splitlines()) == len([s for s in scan["sites"] if not s["suppressed"]])


def test_check_is_for_ci(runner, tmp_path):
    (tmp_path / "a.py").write_text(NEUTRAL)
    neutral = runner("scan", "a.py", "--check")
    assert neutral.code == 0 and "2 sites in 1 file, 0 to change" in neutral.out
    (tmp_path / "a.py").write_text(NEUTRAL + "x.cuda()  # noqa: CUDA001\n")
    assert runner("scan", "a.py", "--check").code == 0
    (tmp_path / "a.py").write_text(NEUTRAL + "x.cuda()\n")
    assert runner("scan", "a.py", "--check").code == 1 and runner("scan", "a.py").code == 0
    (tmp_path / "a.py").write_text("def cuda\n")
    assert runner("scan", "a.py", "--check").code == 1, "what cannot be parsed may name CUDA"


def test_replacements_are_limited_to_a_version_of_torch(runner, python, sources, tmp_path):
    def sites(*words):
        assert runner("scan", "src/train.py", "--json", "scan.json", *words).code == 0
        scan = json.loads((tmp_path / "scan.json").read_text())
        return scan["torch"], {s["symbol"]: (s["action"], s["write"]) for s in scan["sites"]}

    name = "torch.cuda.set_device"
    write = "torch.accelerator.set_device_index(i)"
    torch, any_torch = sites()
    assert torch is None and any_torch[name] == ("replace", write)
    torch, old = sites("--torch", "2.6.0+cu124")
    assert torch == "2.6.0+cu124" and old[name] == ("review", None) and old[".cuda()"][1] is not None
    assert old["torch.cuda.current_stream"] == ("replace", "torch.accelerator.current_stream()")
    assert "(from torch 2.7 on)" in runner("scan", "src/train.py", "--torch", "2.6", "--all").out
    torch, own = sites("--python", python)
    import torch as installed
    assert torch == installed.__version__ and own == any_torch


@pytest.mark.parametrize("words, text", [
    ([], "PATH is required"),
    (["nowhere"], "no such file or folder: nowhere"),
    (["empty"], "no Python files"),
    (["a.py", "--torch", "newest"], "newest is not a version of torch"),
    (["a.py", "--python", "nowhere"], "nowhere"),
    (["a.py", "--json", "nowhere/x.json"], "nowhere"),
])
def test_bad_input_is_refused(runner, tmp_path, words, text):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.py").write_text(NEUTRAL)
    out = runner("scan", *words)
    assert out.code == (4 if "--json" in words else 2) and text in out.err and out.out == ""


PROGRAM = """
import torch

def never():
    return torch.zeros(3).cuda()

x = torch.zeros(
    3,
    device="cuda",
)
for _ in range(3):
    x = x.cuda()
name = "cu" "da:0"
for _ in range(2):
    x.to("cu" + "da")
torch.cuda.synchronize()
try:
    torch.cuda.CUDAGraph()
except NotImplementedError:
    pass
"""


def test_a_record_marks_what_ran(runner, python, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/program.py").write_text(PROGRAM)
    ran = runner("exec", "--python", python, "--record", "r.jsonl", "--", "python", "program.py", cwd=tmp_path / "src")
    assert ran.code == 0 and "`runner scan . --record " in ran.err.splitlines()[-1], ran.err
    assert "runner: 6 places in 1 file name CUDA: " in ran.err and "; 2 ran, 1 refused, 1 did not, 2 unknown\n" in ran.err
    assert "CUDA" not in runner("exec", "-q", "--python", python, "--", "python", "src/program.py").err
    out = runner("scan", "src", "--record", "src/r.jsonl", "--json", "scan.json", "--all")
    assert out.code == 0, out.err
    scan = json.loads((tmp_path / "scan.json").read_text())
    jsonschema.validate(scan, json.loads((ROOT / "reports/schemas/scan.schema.json").read_text()))
    assert [(s["line"], s["ran"], s["count"]) for s in scan["sites"]] == [
        (5, "not_run", 0), (9, "ran", 1), (12, "ran", 3), (13, "unknown", 0), (16, "unknown", 0), (18, "refused", 1)]
    assert [(f["file"], f["line"], f["from"], f["to"], f["count"]) for f in scan["found_by_running"]] == [("src/program.py", 15, "cuda", "cpu", 2)]
    assert "      2  src/program.py:15  aten::to" in out.out and "    ran 3      src/program.py:12  x = x.cuda()" in out.out
    assert out.out.endswith("record: 2 sites ran, 1 refused, 1 not run, 2 unknown (-: it leaves no event)\n")

    # A simulated CUDA redirects nothing: a site without an event may have run.
    cuda = runner("exec", "--python", python, "--simulate", "cuda", "--record", "c.jsonl", "--", "python", "src/program.py")
    assert cuda.code == 0, cuda.err
    out = runner("scan", "src", "--record", "c.jsonl", "--json", "scan.json")
    assert "not_run" not in {s["ran"] for s in json.loads((tmp_path / "scan.json").read_text())["sites"]}

    # The same code in another folder: nothing of the record is about it.
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/program.py").write_text(PROGRAM)
    out = runner("scan", "copy", "--record", "src/r.jsonl")
    assert out.code == 0 and out.err == (
        f"runner: nothing in src/r.jsonl is of the scanned code: its events are in {tmp_path / 'src'}, "
        f"the scan is of {tmp_path / 'copy'}; scan the folder that it was recorded in\n")
    assert runner("scan", "copy", "src", "--record", "src/r.jsonl").err == ""

    (tmp_path / "text").write_text("text\n")
    for record, text in (("nowhere", "no such record"), ("text", "not a device record")):
        out = runner("scan", "src", "--record", record)
        assert out.code == 2 and text in out.err


FIXED = """\
# -*- coding: utf-8 -*-
import torch


def run( x ):   # odd  spacing is kept
\tdevice = torch.device( 'cuda' if torch.cuda.is_available() else 'cpu')
\tx = x.cuda( ) ; y = x.to( "cuda" , torch.float64)  # é
\treturn device, x + torch.ones(
\t\t3 ,
\t\tdevice = ( "cuda" ),  # why
\t), y, torch.cuda.device_count()


print(run(torch.zeros(3)))"""


def test_fix_changes_only_what_fits(runner, python, tmp_path):
    device = 'torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")'
    code = FIXED.replace("\n", "\r\n")
    (tmp_path / "src").mkdir()
    program = tmp_path / "src/program.py"
    program.write_bytes(code.encode())
    (tmp_path / "src/latin.py").write_bytes(b"# coding: latin-1\nimport torch\ntorch.cuda.synchronize()  # \xe9\n")
    (tmp_path / "src/broken.py").write_text("def f(cuda:\n")
    want = code.replace("'cuda' if torch.cuda.is_available()", "torch.accelerator.current_accelerator().type if torch.accelerator.is_available()")
    want = want.replace(".cuda( )", f".to( {device})").replace('to( "cuda" ', f"to( {device} ").replace('( "cuda" )', f"( {device} )")
    want = want.replace("torch.cuda.device_count", "torch.accelerator.device_count").encode()

    out = runner("scan", "src", "--fix", "--python", python)
    assert out.code == 0 and "5 changes in 1 file; nothing is written" in out.err, out.err
    assert "skipped src/latin.py: left as it is" in out.err and "skipped src/broken.py:1: " in out.err
    assert program.read_bytes() == code.encode() and out.out.count("\n+") == 5, "the lines of 5 sites, two of them in one, and the header's"
    assert runner("scan", "src", "--fix", "--python", python, "--patch", "p.patch").code == 0
    shutil.copytree(tmp_path / "src", tmp_path / "copy/src")
    subprocess.run(["git", "apply", tmp_path / "p.patch"], cwd=tmp_path / "copy", check=True)
    assert (tmp_path / "copy/src/program.py").read_bytes() == want

    program.chmod(0o750)
    assert runner("scan", "src", "--fix", "--python", python, "--write").code == 0
    assert program.read_bytes() == want and program.stat().st_mode & 0o777 == 0o750
    again = runner("scan", "src", "--fix", "--python", python)
    assert again.out == "" and "0 changes in 0 files" in again.err
    ran = subprocess.run([python, program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "(device(type='cpu'), tensor([1., 1., 1.]), tensor([0., 0., 0.], dtype=torch.float64), 0)"


def test_fix_keeps_each_other_byte(runner, tmp_path):
    """The replacement of one expression, in files of every kind."""
    old, new = b"torch.cuda.device_count", b"torch.accelerator.device_count"
    files = {
        "bom.py": b"\xef\xbb\xbfimport torch\nn = torch.cuda.device_count()\n",
        "crlf.py": b"import torch\r\nif 1:\r\n\tn = torch.cuda.device_count()  \r\n\r\n",
        "mixed.py": b"import torch\r\nn = (1,\n     torch.cuda.device_count())\r\n",
        "no_end.py": b"import torch; n = \\\n  torch.cuda.device_count ( )",
        "form_feed.py": b"import torch\n\x0c\nn = torch.cuda.device_count()\n",
        "utf8.py": "import torch\nπ = '✓', torch.cuda.device_count(), 'é'  # π\n".encode(),
        "decorator.py": b"import torch\n@f( torch.cuda.device_count() , )\nclass A : pass\n",
        "typed.py": b"import torch\ndef f(a,  # type: int\n      b=torch.cuda.device_count()):\n    # type: (...) -> int\n    x = []  # type: ignore\n",
        "strings.py": b"import torch\nx = f'{a !r:>{w}}' 'b', rb\"c\" , torch.cuda.device_count(), f\"\"\"{\n1}\"\"\"\n",
        "blank.py": b"import torch\n\n\nasync def f( *, a ) :\n  return  a if torch.cuda.device_count() else[ 1 ,]\n\t\n",
    }
    (tmp_path / "src").mkdir()
    for name, data in files.items():
        (tmp_path / "src" / name).write_bytes(data)
    (tmp_path / "outside.py").write_bytes(files["bom.py"])
    (tmp_path / "src/link.py").symlink_to("../outside.py")
    (tmp_path / "src/read_only.py").write_bytes(files["bom.py"])
    (tmp_path / "src/read_only.py").chmod(0o444)
    (tmp_path / "src/z_inside.py").symlink_to("bom.py")
    out = runner("scan", "src", "--fix", "--torch", "2.13", "--write")
    assert {name: (tmp_path / "src" / name).read_bytes() for name in files} == {name: data.replace(old, new) for name, data in files.items()}, out.err
    assert (tmp_path / "outside.py").read_bytes() == (tmp_path / "src/read_only.py").read_bytes() == files["bom.py"]
    assert "skipped src/link.py: left as it is: a link" in out.err and "skipped src/read_only.py: left as it is: it is read-only" in out.err
    assert (tmp_path / "src/z_inside.py").is_symlink() and f"{len(files)} changes in {len(files)} files, written" in out.err


def test_fix_leaves_what_may_be_something_else(runner, tmp_path):
    code = {
        "suppressed.py": "import torch\ntorch.cuda.synchronize()  # noqa: CUDA001\n",
        "alias.py": "from torch import cuda\ncuda.synchronize()\n",
        "no_torch.py": "def f(x):\n    return x.to('cuda')\n",
        "shadowed.py": "import torch\ndef f(torch, x):\n    return x.to('cuda')\n",
        "indexed.py": "import torch\nx = torch.zeros(1, device='cuda:0').cuda(1)\n",
        "default.py": "import torch\ndef f(x, device='cuda'):\n    name = 'cuda'\n    return Model(device='cuda')\n",
        "f_string.py": "import torch\nprint(f'{torch.cuda.device_count()}')\n",
        "own.py": "import torch\nclass Batch:\n    def cuda(self):\n        return self\n",
        "other.py": "import torch\ndef f(batch):\n    return batch.cuda(), torch.cuda.current_device()\n",
    }
    for name, text in code.items():
        (tmp_path / name).write_text(text)
    out = runner("scan", *code, "--fix", "--torch", "2.13", "--write")
    assert "1 change in 1 file, written" in out.err and "no .cuda() is replaced" in out.err, out.err
    after = {name: (tmp_path / name).read_text() for name in code}
    assert after.pop("other.py") == code.pop("other.py").replace("torch.cuda.current_device", "torch.accelerator.current_device_index")
    assert after == code
    (tmp_path / "other.py").write_text("import torch\ntorch.cuda.current_device()\ntorch.cuda.synchronize()\n")
    assert "0 changes" in runner("scan", "other.py", "--fix", "--torch", "2.5").err
    old = runner("scan", "other.py", "--fix", "--torch", "2.6")
    assert "1 change in 1 file" in old.err and "+torch.accelerator.synchronize()" in old.out
    unknown = runner("scan", "other.py", "--fix")
    assert unknown.code == 2 and "--torch" in unknown.err


def test_fix_finds_the_environment_of_the_project(runner, python, tmp_path):
    (tmp_path / "project/tests").mkdir(parents=True)
    (tmp_path / "project/pyproject.toml").write_text("[project]\nname = 'p'\nversion = '1'\n")
    (tmp_path / "project/.venv").symlink_to(pathlib.Path(python).parents[1])
    (tmp_path / "project/tests/test_a.py").write_text(
        "import torch\n\ndef test_a():\n    assert torch.cuda.device_count() >= 0\n")
    out = runner("scan", "project/tests", "--fix")
    assert out.code == 0 and "1 change in 1 file" in out.err, out.err


def test_an_option_that_was_removed_names_what_does_the_same(runner, tmp_path):
    (tmp_path / "a.py").write_text("import torch\n")
    out = runner("scan", "a.py", "--fix", "--verify", "--limit", "5m")
    assert out.code == 2 and out.err.count("\n") == 1 and "--verify was removed" in out.err and "runner compare" in out.err


def test_names_of_files_cannot_control_the_terminal(runner, tmp_path):
    (tmp_path / "a\x1b[31m.py").write_text("x.cuda()  # \x1b[31m\n")
    out = runner("scan", ".")
    assert out.code == 0 and "\x1b" not in out.out and "1 site " in out.out
