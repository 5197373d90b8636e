"""Result files of tests/versions.sh, and the tables of docs/reference/hosts.md made from them.

A file of tests/releases/hosts is one torch with one Python on one platform, and has the last whole
run of each part. A figure is older than the code if the code that it speaks of has another content
than when it was run (docs/design/0010-tests-and-build.md). Nothing here runs tests.
"""

import hashlib
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = "tests/releases/hosts"
PAGE = "docs/reference/hosts.md"
GENERATOR = "result_files.py"  # in the marks of the page
OLDER = ", older than the code"
FORMAT = 1

SUITES = ("gpytorch", "skorch", "einops")
WAYS = {"plain": ("--shim", "off"), "simulated CUDA": ("--simulate", "cuda"), "simulated MPS": ("--simulate", "mps")}
# Each part of a run, and the code that its figures speak of.
CODE = {
    "build": ("shim", "parsers/diagnosis/rules.json"),
    "conformance": ("shim", "suites/conformance"),
    "tests": ("shim", "suites/conformance", "parsers/diagnosis", "tests/shim", "tests/sweep", "tests/requirements.txt"),
    "smoke": ("shim", "tests/shim"),
    **{f"{suite}, {way}": ("shim", "runner/harness", f"suites/{suite}", f"tests/releases/expectations/{suite}.json")
       for suite in SUITES for way in WAYS},
}


class NotStored(Exception):
    """Why a run leaves no result."""


def git(root, *arguments):
    try:
        return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotStored("not a git checkout") from error


def digest(root, part):
    """The content of a part's code at HEAD. Unlike a commit, it outlives a rebase."""
    return hashlib.sha256(git(root, "ls-tree", "HEAD", "--", *CODE[part]).encode()).hexdigest()[:16]


def uncommitted(root, part):
    """Files of a part's code that differ from HEAD, new ones included."""
    return [line[3:] for line in git(root, "status", "--porcelain", "-uall", "--", *CODE[part]).splitlines()]


def code_state(root, part):
    """What a result says of the code; raises NotStored for code that no commit has."""
    if changed := uncommitted(root, part):
        raise NotStored(f"uncommitted changes: {', '.join(changed[:3])}{' …' if len(changed) > 3 else ''}")
    return {"commit": git(root, "rev-parse", "HEAD").strip(), "code": digest(root, part)}


def path_of(root, about):
    return pathlib.Path(root, FOLDER, "{torch}-{abi}-{system}-{machine}.json".format(**about))


def write(path, content):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    new.replace(path)


def store(root, about, part, figure):
    """Puts a part's figure into the file of its environment, which keeps its other parts."""
    path = path_of(root, about)
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = json.loads(path.read_text())["parts"] if path.exists() else {}
    parts[part] = figure
    parts.pop("smoke" if part == "tests" else None, None)  # which all tests have among them
    write(path, {"format": FORMAT, **about, "parts": {name: parts[name] for name in CODE if name in parts}})
    return path


def version_key(torch):
    return [int(number) for number in re.findall(r"\d+", torch.partition("+")[0])], torch


def read(root):
    """Every result, the newest torch first."""
    results = [json.loads(path.read_text()) for path in pathlib.Path(root, FOLDER).glob("*.json")]
    return sorted(results, key=lambda result: (version_key(result["torch"]), version_key(result["python"])), reverse=True)


def older(root, results):
    """(result, part) of each figure that is older than the code."""
    now = {part: None if uncommitted(root, part) else digest(root, part) for part in CODE}
    return [(result, part) for result in results for part, figure in result["parts"].items() if figure["code"] != now[part]]


def cell(text):
    return str(text).replace("|", "\\|")


def counts(figure):
    words = [("passed", "passed"), ("failed", "failed"), ("expected", "failed as expected"), ("skipped", "skipped")]
    return ", ".join(f"{figure[key]:,} {word}" for key, word in words if figure.get(key) or key == "passed")


def shown(result, part, is_older):
    """A figure as the page has it."""
    figure = result["parts"].get(part)
    if not figure:
        return ""
    text = counts(figure) if part != "build" else "fails" if figure["failed"] else "yes"
    return f"{text} ({figure['date']}{OLDER if is_older(result, part) else ''})"


def environment(result):
    return [result["torch"], result["python"] + " free-threaded" * result["abi"].endswith("t")]


def torch_table(results, is_older):
    yield ["torch", "Python", "host", "the shim compiles", "conformance", "the shim's tests", "smoke"]
    for result in results:
        host = f"{result['system']} {result['machine']}{', ' + result['accelerator'] if result['accelerator'] else ''}"
        yield [*environment(result), host, *(shown(result, part, is_older) for part in ("build", "conformance", "tests", "smoke"))]


def suite_table(results, is_older):
    yield ["torch", "Python", "suite", *WAYS]
    for result in results:
        for suite in SUITES:
            row = [shown(result, f"{suite}, {way}", is_older) for way in WAYS]
            if any(row):
                yield [*environment(result), suite, *row]


def failure_table(results, _):
    yield ["torch", "Python", "part", "failed"]
    for result in results:
        for part, figure in result["parts"].items():
            for name in figure["failures"]:
                yield [*environment(result), part, f"`{name}`"]


def skip_table(results, _):
    """Outside suites skip for reasons of their own, which their files have."""
    yield ["part", "reason", "skipped tests, by torch"]
    where = {}
    for result in results:
        for part in ("conformance", "tests", "smoke"):
            for reason, number in result["parts"].get(part, {"skips": {}})["skips"].items():
                where.setdefault((part, reason), []).append(f"{result['torch']}: {number}")
    for (part, reason), numbers in sorted(where.items()):
        yield [part, reason, ", ".join(numbers)]


TABLES = {"torch": torch_table, "outside suites": suite_table, "failures": failure_table, "skips": skip_table}


def table(rows):
    head, *body = ([cell(text) for text in row] for row in rows)
    if not body:
        return "None.\n"
    return "".join("|" + "".join(f" {text} |" if text else " |" for text in row) + "\n" for row in [head, ["---"] * len(head), *body]).replace(
        "| --- ", "|---")


def render(page, results, stale):
    """The page with its tables made anew."""
    is_older = lambda result, part: any(each is result and name == part for each, name in stale)  # noqa: E731
    for name, rows in TABLES.items():
        begin = f"<!-- generated: {GENERATOR} {name} -->\n"
        before, found, rest = page.partition(begin)
        _, end, after = rest.partition("<!-- end generated -->")
        assert found and end, name
        page = before + begin + table(rows(results, is_older)) + end + after
    return page


def update_page(root):
    """Brings the page up to date with the files and the code; returns whether it changed, and what is older."""
    path, results = pathlib.Path(root, PAGE), read(root)
    stale = older(root, results)
    now = path.read_text()
    page = render(now, results, stale)
    if page != now:
        path.write_text(page)
    return page != now, stale


def check(root):
    """Prints each figure that is older than the code, and its newest commit; returns the exit status."""
    changed, stale = update_page(root)
    if changed:
        print(f"{PAGE}: brought up to date")
    for result, part in stale:
        figure = result["parts"][part]
        newest = git(root, "log", "-1", "--format=%h of %cs: %s", "--", *CODE[part]).strip()
        if files := uncommitted(root, part):
            newest = f"uncommitted changes: {', '.join(files[:3])}"
        print(f"{result['torch']}, Python {result['python']}, {part}: {figure['commit'][:8]} of {figure['date']}{OLDER} ({newest})")
    print(f"{len(stale) or 'no'} {'figures are' if len(stale) > 1 else 'figure is'} older than the code")
    return 1 if stale else 0
