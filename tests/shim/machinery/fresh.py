"""Requests from processes that begin anew: spawn, forkserver, a new interpreter. Their test is
that of the process which starts them. A case returns the answers, a list for each ask() that ran."""

import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import torch
from torch.utils.data import DataLoader, Dataset

from .asking import ask, backward

METHODS = ("spawn", "forkserver")


def _as_lists(device):
    return [x.to_dense().tolist() for x in ask(device)]


def _backward_as_list(device):
    return backward(device).tolist()


class _Data(Dataset):
    def __init__(self, device):
        self.device = device

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return ask(self.device)[1] * index


def _put(answers, device):
    answers.put(_as_lists(device))


def _add(values, device):
    values.add_(ask(device)[1])


def processes(device):
    answers = []
    for method in METHODS:
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        worker = context.Process(target=_put, args=(queue, device))
        worker.start()
        answers.append(queue.get())
        worker.join()
        assert worker.exitcode == 0
    return answers


def process_executors(device):
    answers = []
    for method in METHODS:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            answers += list(pool.map(_as_lists, [device] * 2))
            answers += [pool.submit(_backward_as_list, device).result()] * 2
    return answers


def workers(device):
    answers = []
    for method in METHODS:
        loader = DataLoader(
            _Data(device), 1, num_workers=1, pin_memory=True, multiprocessing_context=method
        )
        answers += [element for batch in loader for element in batch]
    return answers


def shared_tensors(device):
    values = torch.ones(2).to(device).share_memory_()
    torch.multiprocessing.spawn(_spawned, args=(values, device), nprocs=1)
    return [values]


def _spawned(rank, values, device):
    _add(values, device)


def new_interpreter(device):
    program = "import json, sys\nfrom machinery.fresh import _as_lists\n"
    program += f"print(json.dumps(_as_lists({device!r})))"
    path = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", path + program], check=True, capture_output=True, text=True
    )
    return [json.loads(done.stdout)]
