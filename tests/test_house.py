"""Tests the invariants of docs/ARCHITECTURE.md and of the documents."""
import ast
import graphlib
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


def sources(*folders, suffixes=(".cc", ".h")):
    found = [p for f in folders for p in (ROOT / f).rglob("*") if p.suffix in suffixes and p.is_file()]
    assert found, folders
    return found


def matches(files, pattern):
    return [f"{p.relative_to(ROOT)}:{n}" for p in files for n, line in enumerate(p.read_text().splitlines(), 1)
            if re.search(pattern, line) and not line.lstrip().startswith("//")]


ALL = ("runner", "parsers", "reports", "suites")

# Each library's folder, and the libraries it may link: docs/ARCHITECTURE.md says why. device_choice
# is the part of shim/devices that knows no torch.
ARROWS = {
    "runner/base": set(),
    "suites": {"base"},
    "runner/plan": {"suites", "base"},
    "runner/prepare": {"suites", "base"},
    "runner/slurm": {"prepare", "base"},
    "runner/exec": {"base"},
    "parsers": {"base"},
    "parsers/import": {"parsers", "base"},
    "runner/store": {"analysis", "parsers", "base"},
    "runner/analysis": {"parsers", "base"},
    "reports": {"store", "analysis", "parsers", "base"},
    "runner/config": {"suites", "prepare", "base"},
    "runner/archive": {"store", "analysis", "import", "parsers", "exec", "base"},
    "runner/display": {"device_choice", "exec", "reports", "analysis", "parsers", "base"},
    "runner/compare": {"archive", "store", "analysis", "reports", "display", "base"},
    "runner/site": {"archive", "store", "analysis", "reports", "display", "base"},
    "runner/run": {"device_choice", "compare", "site", "hub", "config", "suites", "prepare", "plan", "exec", "archive", "store", "analysis", "parsers", "reports",
                   "display", "base"},
    "runner/http": {"base"},
    "runner/hub": {"http", "exec", "suites", "base"},
    "runner/scan": {"run", "config", "prepare", "archive", "store", "analysis", "parsers", "reports", "base"},
    "runner/porting": {"scan", "run", "config", "archive", "store", "reports", "display", "base"},
    "runner/cluster": {"run", "slurm", "config", "suites", "prepare", "plan", "exec", "archive", "store", "analysis", "display", "base"},
    "runner/nightly": {"cluster", "site", "compare", "run", "config", "suites", "prepare", "exec", "archive", "store", "analysis", "display",
                       "base"},
    "runner/serve": {"http", "compare", "site", "run", "archive", "display", "reports", "store", "base"},
    "runner/cli": {"http", "hub", "serve", "nightly", "porting", "scan", "cluster", "compare", "site", "run", "config", "suites", "prepare", "slurm", "plan", "exec", "archive", "store", "analysis", "import", "parsers", "reports", "display",
                   "base"},
}
LIBRARIES = list(ARROWS)
PRINTING = ("runner/display", "runner/run", "runner/scan", "runner/porting", "runner/cluster", "runner/nightly", "runner/compare", "runner/cli")


RULES = [
    # rule, folders, pattern, folders where it is allowed, a line that breaks it
    ("parsers do no I/O", ["parsers"], r"#include <(fstream|filesystem|cstdio|iostream|unistd\.h|fcntl\.h|sys/.*)>", (),
     "#include <fstream>"),
    ("only store includes sqlite3.h", ALL, r"sqlite3\.h", ("runner/store",), "#include <sqlite3.h>"),
    ("the store reads columns by name", ["runner/store"], r"\.(integer|real|text|flag|is_null)\([^)]", ("runner/store/query.h",),
     "run.torch = row.text(16);"),
    ("renderers never include the store", ["reports"], r'#include "runner/store', ("reports/model.cc", "reports/gap_model.cc", "reports/ways.cc", "reports/overview/past_runs.cc"),
     '#include "runner/store/store.h"'),
    ("exec knows no test framework", ["runner/exec"], r"(?i)unittest|pytest|gtest", (), 'argv = {"pytest"};'),
    ("exec reads no parsers", ["runner/exec"], r'#include "parsers', (), '#include "parsers/record.h"'),
    ("plan starts no process and writes no file", ["runner/plan"], r"boost/process|ofstream|write_file|fork\(", (),
     "#include <boost/process/child.hpp>"),
    ("analysis does no I/O", ["runner/analysis"], r"#include <(fstream|filesystem|cstdio|iostream)>|files\.h", (),
     '#include "runner/base/files.h"'),
    ("policy includes no torch header", ["shim/policy"], r"#include [<\"](torch|ATen|c10|Python)", (), "#include <c10/core/Device.h>"),
    ("everything is printed by display's one function", ALL, r"\b(printf|puts|fputs)\(|std::(cout|cerr)|fmt::print", (), "std::cout << 1;"),
    ("libraries print nothing", [f for f in LIBRARIES if f not in PRINTING],
     r"display/output\.h", (), '#include "runner/display/output.h"'),
    ("only folders named linux call Linux", ["runner"],
     r'"/proc|prctl|pidfd_open|SYS_|syscall\(|signalfd|eventfd|epoll_|inotify|memfd_|prlimit|F_GETPIPE_SZ|sigabbrev_np|#include <linux/',
     ("runner/exec/linux", "runner/base/linux"), "::prctl(PR_SET_PDEATHSIG, SIGTERM);"),
    ("only folders named darwin call macOS", ["runner"],
     r'proc_pid|proc_list|sysctl\w*\(|kevent|\bkqueue\(|_NSGet|sys_signame|#include <(libproc|mach)|__APPLE__|__linux__|"DYLD_',
     ("runner/exec/darwin", "runner/base/darwin"), "::proc_pidinfo(pid, 3, 0, &info, size);"),
    ("what sets test frameworks apart stands in one table", ["runner", "parsers", "reports", "suites"], r'^[^/]*"(unittest|pytest|gtest|ctest)"',
     ("runner/base/framework.h",
      "parsers/import/importers.h", "parsers/import/junit/junit_case.cc",  # names that other programs write
      "suites/convention.cc"),  # sections of configuration files
     'if (framework == "pytest") return;'),
    ("no shell strings", ALL, r"\bsystem\(|popen\(|/bin/sh", (), 'std::system("ls");'),
    ("exit codes live in one table", ["runner"], r"\b_?exit\([0-9]|return (2|3|4|5|130);", ("runner/base",), "exit(2);"),
]


@pytest.mark.parametrize("rule, folders, pattern, but, bad", RULES, ids=[rule[0] for rule in RULES])
def test_invariant(rule, folders, pattern, but, bad):
    files = [p for p in sources(*folders) if not str(p.relative_to(ROOT)).startswith(tuple(but) or ("\0",))]
    assert matches(files, pattern) == [], rule
    assert re.search(pattern, bad), "the pattern would see a violation"


# A branch on which device it is, by the suffix of a file. On the CPU a tensor is in host memory, which is no device for the shim.
DEVICE = "mps|cuda|xpu|hpu|npu|tpu|xla"
CONSTANT = r"(\w+::)*(k|DeviceType::|DispatchKey::|Host::|Place::)(MPS|CUDA|XPU|HPU|Mps|Cuda|Xpu|mps|cuda|xpu)\b"
IN_CPP = (rf'[=!]=\s*"(NAMES)(:\d+)?"|"(NAMES)(:\d+)?"\s*[=!]=|starts_with\("(NAMES)|\bis_({DEVICE})\(\)|\bColumn::({DEVICE})'
          rf"|[=!]=\s*{CONSTANT}|{CONSTANT}\s*[=!]=|\bcase (\w+::)+(MPS|CUDA|XPU|HPU|mps|cuda|xpu):")
IN_SCRIPTS = (rf"""[=!]==?\s*["'`](NAMES)(:\d+)?["'`]|["'`](NAMES)(:\d+)?["'`]\s*[=!]=|startsWith\(["'`](NAMES)|startswith\(\(?["'](NAMES)"""
              rf"""|\b(if|elif|and|or|not|return)\b( [\w.]+(?: not)?)? in [(\[{{]\s*["'](cpu|NAMES)["']|\b(if|elif|while|and|or|not|return)\b[^"'#]*\.is_({DEVICE})\b""")
BRANCHES = [
    # folders, suffixes, names, pattern
    (ALL, (".cc", ".h"), f"cpu|{DEVICE}", IN_CPP),
    (("shim",), (".cc", ".h"), DEVICE, IN_CPP),
    (("shim", "runner/harness"), (".py",), DEVICE, IN_SCRIPTS),
    (("reports/html/web/src",), (".ts", ".tsx"), f"cpu|{DEVICE}", IN_SCRIPTS),
]
BRANCHES_ON_DEVICES = {
    "runner/base/device_kind.h": "the table",
    "shim/simulate/nccl/": "simulates CUDA's collectives",
    "shim/python/compat_shim/simulate/": "simulates devices, a file each",
    "shim/python/compat_shim/cuda/": "answers as torch.cuda",
    "shim/python/compat_devices/tpu.py": "finds TPUs",
    "shim/policy/policy.cc": "the table of redirection",
    "shim/redirect/state.cc": "translates torch's names of devices into the table's",
    "shim/redirect/kernel.cc": "what asked for CUDA gets a tensor of its own",
    "shim/devices/devices.cc": "torch answers for each device by an interface of its own",
    "shim/devices/manager.cc": "torch answers for each device by an interface of its own",
    "shim/python/compat_devices/manager.py": "torch answers for each device by an interface of its own",
    "runner/harness/scan/": "reads code that names CUDA", "runner/analysis/scan/scan_record.cc": "likewise",
    "reports/html/web/src/pages/overview.tsx": "report.json has the device's name alone",
}


def branches_on_devices():
    return [hit for folders, suffixes, names, pattern in BRANCHES
            for hit in matches(sources(*folders, suffixes=suffixes), pattern.replace("NAMES", names)) if "node_modules" not in hit]


def test_no_code_branches_on_which_device_it_is():
    """Code asks a table of devices for a fact: runner/base/device_kind.h, shim/policy/device_kind.h, compat_shim/device_kinds.py."""
    found = branches_on_devices()
    assert [hit for hit in found if not hit.startswith(tuple(BRANCHES_ON_DEVICES))] == []
    assert [each for each in BRANCHES_ON_DEVICES if not any(hit.startswith(each) for hit in found)] == [], "no longer needed"


@pytest.mark.parametrize("line", [
    'if (device == "mps") return;', 'if ("cuda:0" != name)', 'device.starts_with("xpu")', "device.is_mps()", "row.column == Column::mps_strict",
    "type() != c10::kCUDA", "host == Host::mps", "case c10::DeviceType::XPU:", "kMps == place", "if (run.device == \"cpu\")"])
def test_a_branch_on_a_device_is_seen(line):
    assert re.search(IN_CPP.replace("NAMES", f"cpu|{DEVICE}"), line)


@pytest.mark.parametrize("line", [
    'if device.type == "mps":', "elif 'cuda' != host:", 'if host not in ("cpu", "cuda"):', 'device.startswith("xpu")', "if tensor.is_cuda:",
    'run.device !== "cuda" ? 1 : 2', "name.startsWith('mps')"])
def test_a_branch_on_a_device_is_seen_in_python_and_typescript(line):
    assert re.search(IN_SCRIPTS.replace("NAMES", DEVICE), line)


# docs/example-report is what the runner writes, not a document.
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in ROOT.glob("docs/**/*.md") if "example-report" not in p.parts),
                *ROOT.glob("suites/**/*.md"), ROOT / "tests/README.md"])


def prose(page):
    """The page's lines outside code blocks, with their numbers; a line in a code block is empty."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = line.lstrip().startswith("```")
        inside ^= fence
        yield number, "" if inside or fence or line.startswith("    ") else line


def anchors(page):
    """The fragments of the page's headings, as GitHub makes them."""
    seen = {}
    for _, line in prose(page):
        if heading := re.match(r"#+ (.+)", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            seen[name] = seen.get(name, -1) + 1
    return {name if n == 0 else f"{name}-{n}" for name, last in seen.items() for n in range(last + 1)}


def links(page):
    """The page's links into the repository: file and fragment."""
    for _, line in prose(page):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if "://" not in target:
                name, _, fragment = target.partition("#")
                yield target, (page.parent / name).resolve() if name else page, fragment


def test_no_placeholder_is_left_in_the_documents():
    found = [str(p) for p in PAGES if re.search(r"\b(TODO|FIXME|TBD|REAL_[A-Z]+)\b", p.read_text())]
    assert found == []


def test_lines_of_the_documents_wrap_at_100_columns():
    exempt = re.compile(r"(> )?\||\s*[-*]?\s*\S+$")  # a row of a table; a single word, as a long link
    found = [f"{page.relative_to(ROOT)}:{number}" for page in PAGES for number, line in prose(page)
             if len(line) > 100 and not exempt.match(line)]
    assert found == []


def test_links_between_documents_resolve():
    found = [f"{page.relative_to(ROOT)}: {target}" for page in PAGES for target, file, fragment in links(page)
             if not file.exists() or (fragment and fragment not in anchors(file))]
    assert found == []


def test_every_document_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [file for _, file, _ in links(page)]
    assert [str(p.relative_to(ROOT)) for p in PAGES if p not in reached] == []


def test_every_document_says_first_who_should_read_it():
    first = {page: next(line for n, line in prose(page) if line and n > 1) for page in PAGES if page != ROOT / "README.md"}
    assert [str(page.relative_to(ROOT)) for page, line in first.items() if not line.startswith("For ")] == []


def test_every_command_that_runs_on_demand_is_listed():
    page = (ROOT / "tests/README.md").read_text()
    files = [f for folder in ("bench", "soak", "sweep") for f in (ROOT / "tests" / folder).rglob("*.py")]
    commands = [f.relative_to(ROOT) for f in files if f.read_text().startswith("#!") or "ArgumentParser(" in f.read_text()]
    assert len(commands) > 5
    assert [str(f) for f in commands if str(f) not in page] == []


def test_generated_parts_of_the_documents_are_marked_in_pairs():
    for page in PAGES:
        marks = re.findall(r"<!-- (generated|end generated)", page.read_text())
        assert marks == ["generated", "end generated"] * (len(marks) // 2), page


ROOMS = sorted((ROOT / "docs/design/rooms").glob("*.md"))


def test_every_source_file_is_listed_in_a_room():
    """tests/docs lists the files of each folder that a mark names, and of those below it."""
    marked = {folder for page in ROOMS for folder in re.findall(r"<!-- generated: files of (\S+) -->", page.read_text())}
    files = sources(*ALL, "shim", suffixes=(".cc", ".h", ".py", ".ts", ".tsx"))
    above = {file: {str(p.relative_to(ROOT)) for p in file.parents if ROOT in p.parents} for file in files}
    assert len(marked) > 20
    assert [str(f) for f in files if not above[f] & marked and not (f.parent / "suite.json").exists()] == []


def test_a_room_names_key_types_that_are_in_their_files():
    for page in ROOMS:
        text = page.read_text()
        types = re.findall(r"^- `(\w+)` \(`([^`]+)`\): ", text.split("## Key types")[1].split("\n## ")[0], re.M)
        assert 3 <= len(types) <= 8, page
        for name, file in types:
            assert re.search(rf"\b{name}\b", (ROOT / file).read_text()), (page, name, file)


def test_files_that_the_documents_name_exist():
    """A path from the top, or a header or source of ours by the end of its path."""
    files = [p.relative_to(ROOT).parts for folder in (*ALL, "shim", "tests") for p in (ROOT / folder).rglob("*")]
    ends = {"/".join(parts[n:]) for parts in files for n in range(len(parts))}
    foreign = {"sqlite3.h", "pyconfig.h"}
    found = []
    for page in set(PAGES) - {ROOT / "CHANGELOG.md"}:  # which speaks of what was
        tops = (*ALL, "shim") if page.parent.name in ("guide", "reference") else (*ALL, "shim", "tests")
        for number, line in prose(page):
            for name in re.findall(r"`([\w./-]+)`", line):
                is_ours = name.endswith((".h", ".cc")) or name.startswith(tuple(f"{top}/" for top in tops))
                is_pattern = re.search(r"[A-Z]{2}|\bN\b", name)  # NAME.h
                if is_ours and not is_pattern and name not in foreign and not {name.rstrip("/"), f"{name}.h"} & ends:
                    found.append(f"{page.relative_to(ROOT)}:{number}: {name}")
    assert found == []


def test_a_release_links_no_library_but_the_c_library():
    runner = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner"))
    if "CMAKE_BUILD_TYPE:STRING=Release" not in (runner.parents[1] / "CMakeCache.txt").read_text():
        pytest.skip("not a release")
    listed = subprocess.run(["ldd", runner], text=True, capture_output=True, check=True).stdout
    linked = {pathlib.Path(line.split()[0]).name.partition(".so")[0] for line in listed.splitlines()}
    assert "libc" in linked
    others = linked - {"linux-vdso", "libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert others == set(), "an old CMakeCache.txt? cmake --preset release --fresh"


def linked_by(folder):
    return set(re.findall(r"compat::(\w+)", (ROOT / folder / "CMakeLists.txt").read_text().split("add_executable")[0]))


def test_every_library_has_its_arrows():
    libraries = {str(p.parent.relative_to(ROOT)) for f in ALL for p in (ROOT / f).rglob("CMakeLists.txt")
                 if "compat_library(" in p.read_text()}
    assert libraries == set(ARROWS)


def library_of(folder):
    return next((str(p) for p in (pathlib.Path(folder), *pathlib.Path(folder).parents) if str(p) in ARROWS), folder)


@pytest.mark.parametrize("folder", ARROWS)
def test_a_library_links_and_includes_only_along_its_arrows(folder):
    assert linked_by(folder) <= ARROWS[folder]
    room = {name.rsplit("/", 1)[-1]: name for name in ARROWS} | {"device_choice": "devices"}
    included = set()
    for source in (ROOT / folder).rglob("*.*"):
        if library_of(str(source.parent.relative_to(ROOT))) == folder and source.suffix in (".h", ".cc"):
            included |= {library_of(path.rsplit("/", 1)[0]) for path in re.findall(r'#include "((?:runner|parsers|reports|suites|devices)[^"]*/)[^/"]+"', source.read_text())
                         for path in [path.rstrip("/") + "/x"]}
    allowed = {room[name] for name in ARROWS[folder]} | {folder}
    assert included <= allowed


# The other folders of the shim that a folder may include (docs/design/shim.md).
SHIM_ARROWS = {
    "policy": set(), "runtime": set(), "record": {"runtime"}, "devices": {"policy"},
    "redirect": {"policy", "runtime", "record"}, "simulate": {"runtime", "record"},
}
# The other packages of shim/python/compat_shim that a package may import.
SHIM_PACKAGE_ARROWS = {"cuda": set(), "redirect": {"cuda"}, "simulate": {"cuda"}}


def test_the_parts_of_the_shim_include_only_along_their_arrows():
    folders = {p.name for p in (ROOT / "shim").iterdir() if any(p.glob("*.cc"))}
    assert folders == set(SHIM_ARROWS)
    for folder, arrows in SHIM_ARROWS.items():
        for source in (ROOT / "shim" / folder).iterdir():
            if source.suffix in (".h", ".cc"):
                included = set(re.findall(r'#include "(\w+)/', source.read_text()))
                assert included <= arrows | {folder}, source


def imported_by(source, package):
    """Dotted names of the modules of `package` that a file of it imports, anywhere in it."""
    folder = source.relative_to(package).parent.parts
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = folder[: len(folder) - node.level + 1] + tuple((node.module or "").split("."))
            base = tuple(part for part in base if part)
            for name in node.names:
                for path in (base + (name.name,), base):
                    if package.joinpath(*path).with_suffix(".py").is_file() and path:
                        yield ".".join(path)
                        break


def test_the_shims_python_has_arrows_and_no_cycle():
    package = ROOT / "shim/python/compat_shim"
    graph = {".".join(p.relative_to(package).with_suffix("").parts): set(imported_by(p, package)) for p in package.rglob("*.py")}
    assert len(graph) > 25 and "cuda.tables" in graph["activation"]
    for module, imported in graph.items():
        folder = module.rpartition(".")[0]
        others = {name.rpartition(".")[0] for name in imported} - {"", folder}
        assert others <= SHIM_PACKAGE_ARROWS.get(folder, set(SHIM_PACKAGE_ARROWS)), module
    graphlib.TopologicalSorter(graph).prepare()  # raises for a cycle


def test_the_page_has_no_import_cycle():
    source = ROOT / "reports/html/web/src"
    files = [*source.rglob("*.ts"), *source.rglob("*.tsx")]
    graph = {}
    for file in files:
        named = re.findall(r'(?:from|import) "(\.[^"]+)"', file.read_text())
        graph[file] = {other for other in files for name in named
                       if other.with_suffix("") == pathlib.Path(os.path.normpath(file.parent / name))}
    assert len(graph[source / "app.tsx"]) > 10
    graphlib.TopologicalSorter(graph).prepare()  # raises for a cycle


NAMESPACES = {"runner/base": "compat", "parsers/import": "compat::parsers"}  # others: compat::FOLDER


@pytest.mark.parametrize("folder", ARROWS)
def test_a_namespace_is_its_folder(folder):
    expected = NAMESPACES.get(folder, "compat::" + folder.rsplit("/", 1)[-1])
    for source in sources(folder):
        if library_of(str(source.parent.relative_to(ROOT))) == folder and source.name != "main.cc":
            # reports only declares types of the store.
            found = set(re.findall(r"^namespace (compat[\w:]*)(?: )", source.read_text(), re.M)) - ({"compat::store"} if folder == "reports" else set())
            assert found == {expected}, source


def test_no_source_folder_is_crowded():
    for top in (*ALL, "shim"):
        for folder in [ROOT / top, *(ROOT / top).rglob("*/")]:
            own = [p for p in folder.iterdir() if p.suffix in (".h", ".cc", ".py", ".json", ".sql")]
            assert len(own) <= 30, folder


def test_the_version_and_the_pin_of_torch_stand_once():
    """The shim's Python and runner/prepare/torch.txt; what must repeat them agrees."""
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "shim/python/compat_shim/__init__.py").read_text(), re.M)[1]
    torch = (ROOT / "runner/prepare/torch.txt").read_text().strip()
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"| `{torch}` |" in (ROOT / "docs/reference/settings.md").read_text()
    pins = {line for p in ROOT.glob("suites/*/requirements.txt") for line in p.read_text().splitlines()
            if re.match(r"torch\b", line)}
    assert pins == {torch}
    code = [*sources("runner", "parsers", "reports", "suites", "shim", suffixes=(".cc", ".h", ".py")),
            ROOT / "CMakeLists.txt", ROOT / "bootstrap.sh"]
    assert [p for p in matches(code, rf'"{re.escape(version)}"|{re.escape(torch)}') if "compat_shim/__init__.py" not in p] == []


def test_new_commits_have_a_short_subject_and_say_why():
    log = subprocess.run(["git", "-C", ROOT, "log", "--no-merges", "--since=2026-11-28T23:30:00Z", "--format=%h%x00%s%x00%b%x01"],
                         text=True, capture_output=True)
    if log.returncode != 0:
        pytest.skip("not a git checkout")
    commits = [entry.strip("\n").split("\0") for entry in log.stdout.split("\1") if entry.strip()]
    assert [f"{name} {subject}" for name, subject, body in commits if len(subject) > 72 or not body.strip()] == []


def test_the_project_speaks_of_itself_alone():
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], text=True, capture_output=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    files = [ROOT / f for f in tracked.stdout.split("\0") if f]
    assert files
    here = re.escape(str(ROOT)) + r"\b" if len(ROOT.parts) > 2 else r"\0"  # "/src" may mean anything
    pattern = re.compile(here + r"|pypi\.org/simple|registry\.npmjs|deb\.debian\.org|files\.pythonhosted")
    this = pathlib.Path(__file__).resolve()
    found = [str(p) for p in files if p != this and p.is_file() and pattern.search(p.read_text(errors="replace"))]
    assert found == []


@pytest.mark.parametrize("name", ["report", "porting", "compare", "progress", "scan", "devices"])
def test_a_schema_is_a_schema(name):
    import jsonschema
    schema = json.loads((ROOT / f"reports/schemas/{name}.schema.json").read_text())
    jsonschema.validators.validator_for(schema).check_schema(schema)


COMMENTED = ("runner", "parsers", "reports", "suites", "shim")
BEGINS_BADLY = re.compile(r"(?:\A|[.:;!?]\s|\n\s*\n|\n\s*- )\s*(?:What|Of|That)\b(?!')")
FILE_NAME = re.compile(r"(?<![\w/.<-])((?:[a-z0-9_-]+/)*[a-z0-9_]+\.(?:h|cc))\b(?!/)")
# Files of other projects, examples and files that the build writes.
NOT_OURS = {"a.cc", "argcheck.cc", "bsd/sys/proc_info_private.h", "sdp_utils_cpp.h", "web_assets.cc"}


def comments(text, suffix):
    """The line and text of each comment and docstring; adjacent lines are one comment."""
    mark = "#" if suffix == ".py" else "//"
    for found in re.finditer(rf"(?:^[ \t]*{mark}.*\n?)+|(?<=\s){mark} .*", text, re.M):
        yield text.count("\n", 0, found.start()) + 1, re.sub(rf"^\s*{mark} ?", "", found[0], flags=re.M)
    if suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (words := ast.get_docstring(node)):
                yield node.body[0].lineno, words


def commented_sources():
    for source in sources(*COMMENTED, suffixes=(".cc", ".h", ".py")):
        if "node_modules" not in source.parts:
            for line, words in comments(source.read_text(), source.suffix):
                yield source, line, words


def test_no_sentence_of_a_comment_begins_with_what_of_or_that():
    bad = ["// A size.\n//   Of a file.\n", "int a;  // What it is.\n", "def f():\n    '''One: That of x.'''\n", "# - a\n# - Of b\n"]
    good = ["// Says what\n// it is of.\n", 'int What;  // "Of": that.\n', "a = 1  # That's all.\n", "class What:\n    '''It.'''\n"]
    begins_badly = [any(BEGINS_BADLY.search(words) for _, words in comments(text, ".py" if "#" in text or "'''" in text else ".cc"))
                    for text in bad + good]
    assert begins_badly == [True] * len(bad) + [False] * len(good)
    found = [f"{source.relative_to(ROOT)}:{line}" for source, line, words in commented_sources() if BEGINS_BADLY.search(words)]
    assert found == []


def test_files_that_comments_name_exist():
    """Named from the root, from shim/, or from a folder that the source is in."""
    assert FILE_NAME.findall("as b_c.h and a/b.cc, not <mach-o/d.h>, ATen/E.h or x.hpp") == ["b_c.h", "a/b.cc"]
    found = [f"{source.relative_to(ROOT)}:{line}: {name}" for source, line, words in commented_sources()
             for name in FILE_NAME.findall(words) if name not in NOT_OURS
             and not any((folder / name).exists() for folder in (*source.parents, ROOT / "shim"))]
    assert found == []
