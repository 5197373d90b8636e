"""Tests what is stored of a run, which figures count as older than the code, and the page."""

import json
import subprocess

import pytest

import result_files

ABOUT = {"torch": "2.15.0+cu132", "python": "3.11.7", "abi": "cp311", "system": "linux", "machine": "x86_64", "accelerator": None}
COUNTS = {"passed": 3, "failed": 1, "skipped": 2, "skips": {"no | GPU": 2}, "failures": ["a::b[x|y]"], "date": "2026-11-29"}
MARKS = "".join(f"<!-- generated: result_files.py {name} -->\n<!-- end generated -->\n" for name in result_files.TABLES)


@pytest.fixture
def tree(tmp_path):
    """A git repository with the code of every part, and an empty page."""
    for path in {path for paths in result_files.CODE.values() for path in paths}:
        file = tmp_path / path if "." in path else tmp_path / path / "code.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1\n")
    page = tmp_path / result_files.PAGE
    page.parent.mkdir(parents=True)
    page.write_text("before\n" + MARKS + "after\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(root, *words):
    return subprocess.run(["git", "-C", root, "-c", "user.name=T", "-c", "user.email=t@t", *words], check=True, capture_output=True, text=True).stdout


def commit(root, *options):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Change the code", "--allow-empty", *options)


def store(root, part, **about):
    return result_files.store(root, {**ABOUT, **about}, part, {**result_files.code_state(root, part), **COUNTS})


def test_a_file_keeps_the_parts_that_did_not_run(tree):
    path = store(tree, "tests")
    first = json.loads(path.read_text())["parts"]["tests"]
    assert store(tree, "build") == path
    content = json.loads(path.read_text())
    assert list(content["parts"]) == ["build", "tests"] and content["parts"]["tests"] == first
    assert first == {**COUNTS, "commit": git(tree, "rev-parse", "HEAD").strip(), "code": first["code"]}
    assert {key: content[key] for key in ABOUT} == ABOUT and content["format"] == result_files.FORMAT
    assert {store(tree, "build", abi="cp313t"), store(tree, "build", torch="2.15.0+cpu"), store(tree, "build", system="darwin")}.isdisjoint({path})


def test_all_tests_replace_the_smoke_test(tree):
    store(tree, "smoke")
    assert json.loads(store(tree, "build").read_text())["parts"].keys() == {"build", "smoke"}
    assert json.loads(store(tree, "tests").read_text())["parts"].keys() == {"build", "tests"}


def test_a_figure_is_older_after_a_change_of_its_code_alone(tree, capsys):
    store(tree, "conformance")
    store(tree, "einops, plain")
    assert result_files.check(tree) == 0
    (tree / "docs/other.md").write_text("2\n")
    (tree / "suites/einops/code.txt").write_text("2\n")
    commit(tree)
    capsys.readouterr()
    assert result_files.check(tree) == 1
    said = capsys.readouterr().out.splitlines()
    newest = git(tree, "log", "-1", "--format=%h").strip()
    assert len(said) == 3 and said[-1] == "1 figure is older than the code" and "2.15.0+cu132, Python 3.11.7, einops, plain: " in said[1] and newest in said[1] and "Change the code" in said[1]
    page = (tree / result_files.PAGE).read_text()
    assert page.count(result_files.OLDER) == 1 and f"| einops | 3 passed, 1 failed, 2 skipped (2026-11-29{result_files.OLDER}) |" in page
    assert result_files.check(tree) == 1 and "brought up to date" not in capsys.readouterr().out
    store(tree, "einops, plain")
    assert result_files.check(tree) == 0 and result_files.OLDER not in (tree / result_files.PAGE).read_text()


def test_a_rebased_commit_of_the_same_code_changes_nothing(tree):
    store(tree, "tests")
    commit(tree, "--amend")
    assert result_files.check(tree) == 0


def test_code_that_no_commit_has_leaves_no_result(tree):
    store(tree, "build")
    (tree / "shim/new.cc").write_text("new\n")
    with pytest.raises(result_files.NotStored, match="uncommitted changes: shim/new.cc"):
        store(tree, "build")
    assert result_files.check(tree) == 1
    (tree / "shim/new.cc").unlink()
    (tree / "tests/shim/code.txt").write_text("2\n")
    store(tree, "build")
    with pytest.raises(result_files.NotStored, match="uncommitted changes: tests/shim/code.txt"):
        store(tree, "smoke")


def test_the_code_of_each_part_is_there():
    """The digest of a path that was renamed would never change again."""
    assert all((result_files.ROOT / path).exists() for paths in result_files.CODE.values() for path in paths)


def test_without_git_nothing_is_stored(tmp_path):
    with pytest.raises(result_files.NotStored, match="not a git checkout"):
        result_files.code_state(tmp_path, "build")


def test_the_page_has_the_newest_torch_first_and_each_skip_and_failure(tree):
    for torch in ("2.9.1+cu128", "2.15.0+cu132", "2.10.0+cu128"):
        store(tree, "tests", torch=torch)
    store(tree, "build", torch="2.16.0", abi="cp313t", accelerator="mps", system="darwin", machine="arm64")
    result_files.update_page(tree)
    page = (tree / result_files.PAGE).read_text()
    assert page.startswith("before\n") and page.endswith("after\n")
    rows = [line for line in page.splitlines() if line.startswith("| 2.")]
    assert [row.split(" | ")[0][2:] for row in rows[:4]] == ["2.16.0", "2.15.0+cu132", "2.10.0+cu128", "2.9.1+cu128"]
    assert rows[0] == "| 2.16.0 | 3.11.7 free-threaded | darwin arm64, mps | fails (2026-11-29) | | | |"
    assert rows[1] == "| 2.15.0+cu132 | 3.11.7 | linux x86_64 | | | 3 passed, 1 failed, 2 skipped (2026-11-29) | |"
    assert r"| 2.15.0+cu132 | 3.11.7 | tests | `a::b[x\|y]` |" in rows
    assert r"| tests | no \| GPU | 2.15.0+cu132: 2, 2.10.0+cu128: 2, 2.9.1+cu128: 2 |" in page.splitlines()


def test_the_page_of_hosts_is_made_of_the_files():
    """Which figures are older than the code is in the page alone: it changes with each commit of the shim."""
    results = result_files.read(result_files.ROOT)
    page = (result_files.ROOT / result_files.PAGE).read_text().replace(result_files.OLDER, "")
    assert results and page == result_files.render(page, results, []), "tests/versions.sh --check makes it anew"


@pytest.mark.parametrize("path", sorted((result_files.ROOT / result_files.FOLDER).iterdir()), ids=lambda path: path.name)
def test_a_stored_file_is_whole(path):
    content = json.loads(path.read_text())
    assert path == result_files.path_of(result_files.ROOT, content) and content["format"] == result_files.FORMAT
    assert content["parts"] and content["parts"].keys() <= result_files.CODE.keys()
    for figure in content["parts"].values():
        assert {"commit", "code", "date", "passed"} <= figure.keys()
        assert sum(figure["skips"].values()) == figure["skipped"] and len(figure["failures"]) == figure["failed"]
