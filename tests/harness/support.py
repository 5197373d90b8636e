"""Runs the harness in a child process and turns its events into a model to compare."""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
MAIN = HERE.parent.parent / "runner" / "harness" / "main.py"
SUITES = HERE / "suites"

# A fixed environment: Python's own variables would make results depend on the machine.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": os.environ.get("HOME", "/"),
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "COLUMNS": "100",
}


@dataclasses.dataclass
class Run:
    root: pathlib.Path
    module: str
    status: int
    log: str
    lines: list  # events of the session's process
    foreign: list  # events of other processes

    def of(self, event):
        return [line for line in self.lines if line["event"] == event]

    @property
    def session(self):
        return self.lines[0]

    @property
    def finished(self):
        return self.lines[-1]["event"] == "finish"

    def ids(self):
        return [line["id"].partition("::")[2] for line in self.of("collected")]

    def states(self):
        return {line["id"].partition("::")[2]: line["state"] for line in self.of("end")}

    def ends(self):
        return {line["id"].partition("::")[2]: line for line in self.of("end")}


def copy_suite(framework, root):
    shutil.copytree(SUITES / framework, root, dirs_exist_ok=True)


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(python, framework, root, module, *arguments, env=None, timeout=60):
    """Runs the harness on one module. As in the runner, stdout and stderr go to one file."""
    events = root.parent / "events.jsonl"
    events.unlink(missing_ok=True)
    argv = [python, str(MAIN), "--framework", framework, "--module", module]
    argv += ["--root", str(root), "--events", str(events), *arguments]
    status, log = _spawn(argv, root, env, timeout)
    text = events.read_bytes()
    assert text == b"" or text.endswith(b"\n"), "the last line is not whole"
    lines = [json.loads(line) for line in text.decode("utf-8").splitlines()]
    check_invariants(lines, module, root)
    own = [line for line in lines if line["pid"] == lines[0]["pid"]]
    foreign = [line for line in lines if line["pid"] != lines[0]["pid"]]
    result = Run(root, module, status, log, own, foreign)
    return result


def framework_run(python, framework, root, module, *arguments, timeout=60):
    """Runs the framework without the harness: (status, log)."""
    target = module if framework == "pytest" else module[:-3].replace("/", ".")
    argv = [python, "-m", framework, "-v", *arguments, target]
    return _spawn(argv, root, {"PYTHONUNBUFFERED": "1"}, timeout)


def _spawn(argv, root, env, timeout):
    log = root.parent / "log.txt"
    with open(log, "wb") as out:
        done = subprocess.run(
            argv,
            cwd=root,
            env={**ENVIRONMENT, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
    return done.returncode, log.read_text(encoding="utf-8", errors="replace")


def check_invariants(lines, module, root):
    """Checks what docs/reference/file-formats.md promises for every events file."""
    if not lines:
        return
    assert lines[0]["event"] == "session"
    assert lines[0]["format"] == 1 and lines[0]["module"] == module
    assert lines[0]["root"] == str(root)
    own = [line for line in lines if line["pid"] == lines[0]["pid"]]
    assert [line["seq"] for line in own] == list(range(len(own)))
    announced, started, ended = set(), set(), set()
    for line in own:
        event, id = line["event"], line.get("id")
        if event == "collected":
            assert id not in announced and id.startswith(module + "::")
            assert os.path.isabs(line["file"])
            announced.add(id)
        elif event == "ready":
            assert line["collected"] == len(announced)
        elif event == "start":
            assert id in announced and id not in started
            started.add(id)
        elif event == "subtest":
            assert id in started - ended
        elif event == "end":
            assert id in announced and id not in ended
            assert line["duration_s"] >= 0
            assert line["state"] in "passed failed errored skipped xfailed xpassed crashed".split()
            ended.add(id)
        elif event == "finish":
            assert line is own[-1]
            assert line["collected"] == len(announced) and line["ended"] == len(ended)


def model(run):
    """Everything that the events say about each case, without times and process ids.

    Frames become (file relative to the root, function). A traceback must be in the log unchanged.
    """
    started = {line["id"] for line in run.of("start")}
    cases = {}
    for line in run.of("collected"):
        cases[line["id"]] = {
            "name": line["name"],
            "at": (_relative(run, line["file"]), line["line"]),
            "pseudo": line.get("pseudo", False),
            "started": line["id"] in started,
            "subtests": [],
        }
    for line in run.lines:
        if line["event"] == "subtest":
            entry = [line["label"], line["state"]]
            if "reason" in line:
                entry.append(line["reason"])
            if "failure" in line:
                entry.append(_failure(run, line["failure"], line["state"] in ("failed", "errored")))
            cases[line["id"]]["subtests"].append(entry)
        elif line["event"] == "end":
            case = cases[line["id"]]
            # Python prints exceptions that end the process at import. Listings print none.
            printed = line["state"] in ("failed", "errored")
            printed = printed and (line["phase"] != "load" or case["started"])
            for key in ("state", "phase", "reason", "call"):
                if key in line:
                    case[key] = line[key]
            if "failure" in line:
                case["failure"] = _failure(run, line["failure"], printed)
            if "also" in line:
                case["also"] = [_failure(run, f, printed) for f in line["also"]]
    return {id.partition("::")[2]: case for id, case in cases.items()}


def _failure(run, failure, printed):
    traceback = failure["traceback"]
    if printed:
        assert traceback.strip() in run.log, traceback
    told = [failure["type"], failure["message"], failure["phase"]]
    told.append([(_relative(run, f["file"]), f["function"]) for f in failure["frames"]])
    if "counted" in failure:
        told.append(failure["counted"])
    assert all(f["line"] > 0 for f in failure["frames"])
    return told


def _relative(run, file):
    return os.path.relpath(file, run.root) if file.startswith(str(run.root)) else file


def line_of(root, file, text, nth=1):
    """The number of the n-th line of `file` that begins with `text`."""
    lines = (root / file).read_text(encoding="utf-8").splitlines()
    found = [i for i, line in enumerate(lines, 1) if line.strip().startswith(text)]
    return found[nth - 1]


def normalized_log(log):
    """A log without times, addresses and paths of the cache and the interpreter."""
    log = re.sub(r"\b\d+\.\d\ds\b|in \d+\.\d+s", "TIME", log)
    log = re.sub(r"0x[0-9a-f]+", "0x…", log)
    log = re.sub(r"^cachedir: .*$", "cachedir", log, flags=re.M)
    return re.sub(r"={2,} (.*?) ={2,}", r"== \1 ==", log)


def unittest_verdicts(log):
    """{framework's test description: verdict} from `python -m unittest -v`."""
    words = {"ok": "passed", "FAIL": "failed", "ERROR": "errored"}
    words.update({"expected failure": "xfailed", "unexpected success": "xpassed"})
    found = {}
    for match in re.finditer(r"^(\w+) \((\S+)\)(?:\n.*)? \.\.\. (.*)$", log, re.M):
        name, owner, word = match.groups()
        state = "skipped" if word.startswith("skipped ") else words.get(word)
        if state is not None:
            # Python 3.10 and older print the class only, 3.11 the whole name. A second line is the
            # tear-down's.
            found.setdefault(owner if owner.endswith("." + name) else owner + "." + name, state)
    return found


def pytest_verdicts(log):
    """{node id: [verdict…]} from `python -m pytest -v`."""
    words = {"PASSED": "passed", "FAILED": "failed", "ERROR": "errored", "SKIPPED": "skipped"}
    words.update({"XFAIL": "xfailed", "XPASS": "xpassed"})
    found = {}
    pattern = r"^(\S.*?::.*?) (%s)(?: \(.*\))? +\[ *\d+%%\]$" % "|".join(words)
    for match in re.finditer(pattern, log, re.M):
        found.setdefault(match.group(1), []).append(words[match.group(2)])
    return found


@functools.lru_cache(maxsize=None)
def version(python):
    text = "import sys; print(*sys.version_info[:3])"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@functools.lru_cache(maxsize=None)
def _importable(python, name):
    text = "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)" % name
    return subprocess.run([python, "-c", text]).returncode == 0


def plugins(python, names):
    """The plugins in `names` that `python` can import."""
    return [name for name in names if _importable(python, name)]
