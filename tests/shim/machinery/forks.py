"""Requests from forked processes, which inherit the running test. A case returns the answers, a
list for each ask() that ran."""

import io
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from .asking import ask, backward

_FORK = multiprocessing.get_context("fork")


def _forked(function, *arguments):
    """The result of a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream = io.BytesIO()
            torch.save(function(*arguments), stream)
            with os.fdopen(writer, "wb") as file:
                file.write(stream.getvalue())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        answer = torch.load(io.BytesIO(file.read()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return answer


def fork(device):
    return [_forked(ask, device)]


def fork_of_a_fork(device):
    return [_forked(_forked, ask, device)]


def fork_after_requests(device):
    return [ask(device), _forked(ask, device), ask(device)]


def fork_after_backward(device):
    return [backward(device)] * 2 + [_forked(backward, device)] * 2


def backward_in_a_thread_of_a_fork(device):
    def in_a_thread():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(backward, device).result()

    return [_forked(in_a_thread)] * 2


def fork_in_a_thread(device):
    with ThreadPoolExecutor(1) as pool:
        return [pool.submit(_forked, ask, device).result()]


def process(device):
    answers = _FORK.SimpleQueue()
    worker = _FORK.Process(target=lambda: answers.put([x.to_dense().tolist() for x in ask(device)]))
    worker.start()
    answer = answers.get()
    worker.join()
    assert worker.exitcode == 0
    return [answer]


def pool_of_processes(device):
    with _FORK.Pool(2) as pool:
        answers = pool.map(_as_lists, [device] * 6)
        pool.close()
        pool.join()  # a worker that is terminated writes nothing
    return answers


def process_executor(device):
    with ProcessPoolExecutor(2, mp_context=_FORK) as pool:
        return list(pool.map(_as_lists, [device] * 6))


def shared_tensors(device):
    """A tensor that was asked for on the device, in shared memory, written to by a child."""
    shared = torch.multiprocessing.get_context("fork")
    values, answers = ask(device)[0].share_memory_(), shared.SimpleQueue()

    def write():
        values.add_(ask(device)[1])
        answers.put(values * 3)
        kept.wait()  # its memory is the child's until the parent has it

    kept = shared.Event()
    worker = shared.Process(target=write)
    worker.start()
    returned = answers.get().clone()
    kept.set()
    worker.join()
    return [values, returned]


class _Data(Dataset):
    def __init__(self, device):
        self.device = device

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return ask(self.device)[1] * index


class _Stream(IterableDataset):
    def __init__(self, device):
        self.device = device

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for index in range(worker.id, 6, worker.num_workers):
            yield ask(self.device)[1] * index


def _loader(data, size, workers=2, **options):
    """A DataLoader with forked workers: from Python 3.14 on, others are the default."""
    return DataLoader(data, size, num_workers=workers, multiprocessing_context=_FORK, **options)


def _answers(loader):
    """An answer for each ask(): the loader's data set asks once an element."""
    return [element for batch in loader for element in batch]


def workers(device):
    return _answers(_loader(_Data(device), 2))


def workers_and_pinned_memory(device):
    return _answers(_loader(_Data(device), 2, pin_memory=True))


def pinned_memory_without_workers(device):
    return _answers(DataLoader(_Data(device), 3, pin_memory=True))


def persistent_workers(device):
    loader = _loader(_Data(device), 3, persistent_workers=True)
    answers = [_answers(loader) for _ in range(2)]
    assert torch.equal(torch.stack(answers[0]), torch.stack(answers[1]))
    loader._iterator._shutdown_workers()
    return answers[0] + answers[1]


def worker_set_up(device):
    def set_up(worker):
        torch.ones(1, device=device)

    return _answers(_loader(_Data(device), 2, worker_init_fn=set_up))


def stream_of_elements(device):
    loader = _loader(_Stream(device), 1)
    return sorted((x.tolist() for x in _answers(loader)))


def collated_by_the_worker(device):
    def collate(elements):
        return torch.stack(elements).to(device, non_blocking=True)

    return _answers(_loader(_Data(device), 2, workers=1, collate_fn=collate))


def _as_lists(device):
    return [x.to_dense().tolist() for x in ask(device)]
