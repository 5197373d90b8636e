"""Tests torch.multiprocessing with tensors on simulated CUDA in child processes: both processes have the
same memory, which is freed when neither holds it."""

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere tensors are copied")

CUDA = {"TORCHDEVICE_SIMULATE": "cuda"}
BEGIN = """
import gc, json, os, signal, torch
import torch.multiprocessing as processes
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
def shared_files():
    return sum("simulated CUDA memory" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}"))
"""
MAIN = """
if __name__ == "__main__":
    context = processes.get_context({method!r})
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=other, args=(there, back)); process.start()
    answers = []
{body}
    process.join(60)
    print(json.dumps([*answers, process.exitcode]))
"""


@pytest.fixture
def talk(warm_child):
    """Answers of a program whose process starts another, which runs `other(there, back)`. A forked one has
    torch already."""

    def run(other, body, method="fork"):
        body = "\n".join("    " + line for line in body.strip().splitlines())
        return warm_child(BEGIN + other + MAIN.format(method=method, body=body), env=CUDA)

    return run


WRITES = """
def other(there, back):
    x, weight = there.get(timeout=60)
    x[0] = 42
    back.put([str(x.device), x.is_shared(), type(weight).__name__, weight.requires_grad])
    there.get(timeout=60)
    back.put([x.tolist(), weight.tolist()])
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_both_processes_write_to_the_same_memory(talk, method):
    ran = talk(
        WRITES,
        """
x = torch.ones(4, device="cuda:1")
view, weight = x[2:], torch.nn.Parameter(torch.ones(1, device="cuda"))
there.put((x, weight)); answers.append(back.get(timeout=60))
answers.append(x.tolist())
view.fill_(9); weight.data.fill_(3); there.put(None); answers.append(back.get(timeout=60))
""",
        method,
    )
    assert ran.answer == [
        ["cuda:1", True, "Parameter", True],
        [42.0, 1.0, 1.0, 1.0],
        [[42.0, 1.0, 9.0, 9.0], [3.0]],
        0,
    ]


def test_a_child_forked_after_cuda_began_is_told(talk):
    ran = talk(
        """
torch.ones(1, device="cuda")
def other(there, back):
    try: there.get(timeout=60)
    except RuntimeError as error: back.put(str(error))
""",
        'there.put(torch.ones(1, device="cuda")); answers.append(back.get(timeout=60))',
        "fork",
    )
    assert ran.answer[0].startswith("Cannot re-initialize CUDA in forked subprocess")


def test_a_thousand_sent_tensors_leave_nothing(talk):
    ran = talk(
        """
def other(there, back):
    for sent in range(1000):
        x = there.get(timeout=60)
        value = x[0].item(); del x
        back.put(value)
""",
        """
def send(count, size=1 << 18):
    for number in range(count):
        there.put(torch.full((size,), float(number), device="cuda"))
        assert back.get(timeout=60) == number
send(100); before = resident()
send(900); torch.cuda.ipc_collect()
answers.append(resident() - before)
answers.append([torch.cuda.memory_allocated(), shared_files()])
""",
    )
    growth, after, code = ran.answer
    assert growth < 64 << 20  # of 900 MiB that were sent
    assert after == [0, 1] and code == 0  # one file stays for the next tensor


KEEPS = """
def other(there, back):
    x = there.get(timeout=60); back.put(None)
    there.get(timeout=60); back.put(x.tolist()); del x
    there.get(timeout=60)
"""


def test_the_sender_has_the_memory_until_the_receiver_frees_it(talk):
    ran = talk(
        KEEPS,
        """
torch.cuda.set_per_process_memory_fraction(1.0)
there.put(torch.ones(1024, device="cuda")); back.get(timeout=60); gc.collect()
torch.cuda.ipc_collect(); answers.append(torch.cuda.memory_allocated())
there.put(None); answers.append(sum(back.get(timeout=60)))
while torch.cuda.memory_allocated(): torch.cuda.ipc_collect()
answers.append(torch.cuda.memory_allocated())
there.put(None)
""",
    )
    assert ran.answer == [4096, 1024.0, 0, 0]


def test_memory_that_was_sent_and_freed_is_reused_before_the_device_is_full(talk):
    ran = talk(
        """
def other(there, back):
    x = there.get(timeout=60); del x; gc.collect(); back.put(None)
""",
        """
torch.cuda.set_per_process_memory_fraction((3 << 20) / torch.cuda.mem_get_info()[1])
x = torch.ones(1 << 19, device="cuda"); there.put(x)
import time; time.sleep(1); del x
back.get(timeout=60)
answers.append(torch.ones(1 << 19, device="cuda").numel())
""",
    )
    assert ran.answer == [1 << 19, 0]


def test_a_receiver_outlives_the_sender_and_is_warned_of(talk):
    ran = talk(
        """
def other(there, back):
    x = torch.full((3,), 7.0, device="cuda"); back.put(x)
    there.get(timeout=60)
""",
        """
x = back.get(timeout=60); there.put(None); process.join(60)
x.add_(1); answers.append(x.tolist())
""",
        "spawn",
    )
    assert ran.answer == [[8.0] * 3, 0]
    assert "Producer process has been terminated before all shared CUDA tensors released" in ran.stderr


def test_a_tensor_of_a_process_that_has_ended_is_an_error_of_cuda(talk):
    ran = talk(
        """
def other(there, back):
    x = torch.ones(3, device="cuda"); back.put(x); back.close(); back.join_thread()
    os.kill(os.getpid(), signal.SIGKILL)
""",
        """
process.join(60)
try: back.get(timeout=60)
except RuntimeError as error: answers.append(str(error).splitlines()[0])
answers.append([each for each in os.listdir("/dev/shm") if "CUDA" in each or "torch_" in each])
""",
    )
    assert ran.answer == ["CUDA error: invalid resource handle", [], -9]


def test_what_was_received_cannot_be_sent_on(talk):
    ran = talk(
        """
def other(there, back):
    x = there.get(timeout=60)
    try: processes.SimpleQueue().put(x)
    except RuntimeError as error: back.put(str(error))
""",
        'x = torch.ones(1, device="cuda"); there.put(x); answers.append(back.get(timeout=60))',
    )
    assert ran.answer[0].startswith("Attempted to send CUDA tensor received from another process")


def test_writes_while_a_tensor_is_moved_are_not_lost(talk):
    """A queue's thread sends what the program goes on computing with."""
    ran = talk(
        """
def other(there, back):
    for sent in range(50):
        x = there.get(timeout=60); back.put(None)
        there.get(timeout=60); back.put([x.min().item(), x.max().item()]); del x
""",
        """
wrong = 0
for sent in range(50):
    x = torch.zeros(1 << 16, device="cuda"); there.put(x)
    for step in range(200): x.add_(1)
    back.get(timeout=60); there.put(None)
    wrong += back.get(timeout=60) != [200.0, 200.0]
answers.append(wrong)
""",
    )
    assert ran.answer == [0, 0]


def test_an_event_reaches_another_process(talk):
    ran = talk(
        """
def other(there, back):
    event, x = there.get(timeout=60)
    where = str(event.device)
    event.wait(); x.mul_(2); event.record(torch.cuda.current_stream(1))
    back.put([event.query(), where])
""",
        """
x = torch.ones(1, device="cuda:1")
with torch.cuda.device(1): event = torch.cuda.Event(interprocess=True)
event.record(torch.cuda.current_stream(1)); there.put((event, x)); answers.append(back.get(timeout=60))
event.synchronize(); answers.append(x.tolist())
for call in (lambda: torch.cuda.Event().ipc_handle(), lambda: torch.cuda.Event.from_ipc_handle(0, b"")):
    try: call()
    except RuntimeError as error: answers.append(str(error))
""",
    )
    assert ran.answer == [
        [True, "cuda:1"],
        [2.0],
        "CUDA error: invalid resource handle",
        "cudaIpcEventHandle_t expects byte-like object of size 64, but got 0",
        0,
    ]
