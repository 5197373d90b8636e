"""PyTorch's race check (torch.cuda._sanitizer) on simulated CUDA: small programs with and without the
waits that they need (stream_programs.py), and the trace that the check reads."""

import pathlib
import re

import pytest

from conftest import run_child

PROGRAMS = pathlib.Path(__file__).with_name("stream_programs.py")
CUDA = {"TORCHDEVICE_SIMULATE": "cuda"}
CHECKED = f"""
import contextlib, io, json, sys, torch
sys.path.insert(0, {str(PROGRAMS.parent)!r})
import torch.cuda._sanitizer as sanitizer
sanitizer.enable_cuda_sanitizer()

def error_of(program):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            program()
    except Exception as error:
        return [type(error).__name__, str(error), said.getvalue()]
    finally:
        torch.cuda.synchronize()
"""
ALL = """
import stream_programs
print(json.dumps([{each.__name__: error_of(each) for each in programs}
                  for programs in (stream_programs.CORRECT, stream_programs.RACES)]))
"""


@pytest.fixture(scope="module")
def checked(library, tmp_path_factory):
    pytest.importorskip("torch")
    return run_child(library, tmp_path_factory.mktemp("races"), CHECKED + ALL, env=CUDA, warm=True)


def marked_lines():
    """Of each race, by name: the lines of the later and of the earlier access."""
    lines, name = {}, None
    for number, line in enumerate(PROGRAMS.read_text().splitlines(), 1):
        if line.startswith("def "):
            name = line[4 : line.index("(")]
        if mark := re.search("# (first|second)$", line):
            lines.setdefault(name, {})[mark[1]] = number
    return {name: [of["second"], of["first"]] for name, of in lines.items()}


def test_no_report_on_a_program_with_its_waits(checked):
    correct, _ = checked.answer
    assert len(correct) >= 50
    assert {name: error for name, error in correct.items() if error} == {}


def test_a_missing_wait_is_reported_with_both_lines(checked):
    _, races = checked.answer
    found = {name: [error[0], [int(line) for line in re.findall(r"^  \S+programs\.py:(\d+): ", error[1], re.M)[:2]]]
             for name, error in races.items() if error}  # fmt: skip
    assert found == {name: ["CUDASanitizerErrors", lines] for name, lines in marked_lines().items()}
    assert all("CSAN detected a possible data race" in said for _, _, said in races.values())


def test_races_are_recorded(checked):
    recorded = {(line["line"], line["message"]) for line in checked.devices(kind="race", file=str(PROGRAMS))}
    for name, (later, earlier) in marked_lines().items():
        assert any(line == later and f"programs.py:{earlier}" in message for line, message in recorded), name


def test_the_texts_of_races(checked):
    _, races = checked.answer
    wait = "on stream N, for which stream N did not wait"
    for name, later, earlier in (
        ("written_while_read", "aten::add_.Tensor writes self", f"aten::sum reads self {wait}"),
        ("a_tensor_is_freed_too_early", "aten::zeros writes its output",
         f"aten::sum reads self {wait}; its tensor was freed without record_stream, and this is its memory"),
    ):  # fmt: skip
        second, first = marked_lines()[name]
        assert re.sub(r"stream \d+", "stream N", races[name][1]).splitlines() == [
            "detected 1 errors", f"  {PROGRAMS}:{second}: {later} on stream N", f"  {PROGRAMS}:{first}: {earlier}",
        ]


def test_the_variable_turns_the_check_on(child):
    """And a program ends with the check's error, as on a GPU."""
    ran = child(
        "import torch\n"
        "x, stream = torch.ones(4, device='cuda'), torch.cuda.Stream()\n"
        "with torch.cuda.stream(stream):\n"
        "    x.add_(1)\n",
        env={**CUDA, "TORCH_CUDA_SANITIZER": "1"},
    )
    assert ran.returncode == 1
    assert "CUDASanitizerErrors: detected 1 errors\n" in ran.stderr
    (race,) = ran.devices(kind="race")
    assert (race["op"], race["line"], race["count"]) == ("aten::add_.Tensor", 4, 1)
    assert race["message"] == (
        "writes self on stream 2, which did not wait for stream 0: "
        f"aten::ones writes its output at {ran.script}:2"
    )


def test_ops_of_the_host_leave_cuda_alone(warm_child):
    """PyTorch's own check asks for the stream of each op, and fails in a fork, which has no CUDA."""
    script = """
def in_a_fork():
    pid = os.fork()
    if pid == 0:
        os._exit(int((torch.ones(3) + 1).sum().item()))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

torch.ones(1) + 1
before = [torch.cuda.is_initialized(), in_a_fork()]
torch.ones(1, device="cuda").item()
print(json.dumps([before, [torch.cuda.is_initialized(), in_a_fork()]]))
"""
    assert warm_child("import os\n" + CHECKED + script, env=CUDA).answer == [[False, 6], [True, 6]]


TRACED = """
import json, torch
import torch.cuda._gpu_trace as trace
told = []
for name in [each for each in dir(trace) if each.startswith("register_callback_for_")]:
    getattr(trace, name)(lambda *given, name=name: told.append([name.removeprefix("register_callback_for_"), *given]))
x, pinned = torch.ones(4, device="cuda"), torch.ones(4).pin_memory()
torch._C._activate_gpu_trace()

def of(call):
    told.clear()
    result = call()
    names = {}  # events and memory in the order of their first mention
    return [[name, *(names.setdefault(each, f"{len(names)}") if each > 1000 else each for each in given)]
            for name, *given in told]

def of_event():
    event = torch.cuda.Event()
    event.record(); event.query(); event.wait(s); event.synchronize()
    del event

s = torch.cuda.Stream()
answers = {
    "stream": of(torch.cuda.Stream), "event": of(of_event), "unrecorded": of(lambda: torch.cuda.Event().wait()),
    "wait_stream": of(lambda: s.wait_stream(torch.cuda.current_stream())),
    "synchronize": of(s.synchronize), "query": of(s.query), "device": of(torch.cuda.synchronize),
    "accelerator": of(torch.accelerator.synchronize), "item": of(x.sum().item), "nonzero": of(x.nonzero),
    "mask": of(lambda: x[x > 0]), "index": of(lambda: x[torch.zeros(1, dtype=torch.long, device="cuda")]),
    "cpu": of(lambda: x.cpu()), "from host": of(lambda: x.copy_(pinned)),
    "not blocking": of(lambda: x.copy_(pinned, non_blocking=True)),
    "empty": of(lambda: torch.empty(0, device="cuda")), "view": of(lambda: x[1:]),
}
with torch.cuda.stream(s):
    answers["peer"] = of(lambda: x.to("cuda:1"))
print(json.dumps(answers))
"""


def test_the_trace_is_told_what_cuda_tells_it(warm_child):
    """As c10/cuda and ATen/native/cuda/Copy.cu of torch 2.15 tell it."""
    told = warm_child(TRACED, env=CUDA).answer
    new = [["memory_allocation", "0"], ["memory_deallocation", "0"]]
    event = [["event_creation", "0"], ["event_record", "0", 0]]
    waits = [["stream_synchronization", 0]]
    assert told["stream"] == [["stream_creation", 4]]
    assert told["event"] == [*event, ["event_wait", "0", 2], ["event_synchronization", "0"], ["event_deletion", "0"]]
    assert told["unrecorded"] == told["query"] == told["empty"] == told["view"] == told["not blocking"] == []
    assert told["wait_stream"] == [*event, ["event_wait", "0", 2], ["event_deletion", "0"]]
    assert told["synchronize"] == [["stream_synchronization", 2]]
    assert told["device"] == told["accelerator"] == [["device_synchronization"]]
    assert told["item"] == told["cpu"] == told["from host"] == waits
    assert [each for each in told["nonzero"] if "memory" not in each[0]] == waits
    assert [each for each in told["mask"] if "memory" not in each[0]] == waits
    assert [each for each in told["index"] if "memory" not in each[0]] == waits[:0]
    # Each of the two streams waits for the other, before and after.
    between = lambda waiting, other: [["event_record", other], ["event_wait", waiting]]  # noqa: E731
    streams = [[name, at] for name, _, *rest in told["peer"] for at in rest]
    assert streams == [*between(2, 0), *between(0, 2)]
    assert told["peer"][0] == new[0]
