"""Requests from every kind of thread. A case returns the answers, one for each ask() that ran."""

import _thread
import asyncio
import ctypes
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import torch

from .asking import ask, backward


def _answer_of(start, device):
    """The result of ask() in a thread that `start` starts."""
    answers = queue.SimpleQueue()
    start(lambda: answers.put(ask(device)))
    return [answers.get(timeout=60)]


def main_thread(device):
    return [ask(device)]


def thread(device):
    return _answer_of(lambda f: threading.Thread(target=f).start(), device)


def thread_with_its_own_run(device):
    class Own(threading.Thread):
        def __init__(self, function):
            super().__init__(daemon=True)
            self.function = function

        def run(self):
            self.function()

    return _answer_of(lambda f: Own(f).start(), device)


def timer(device):
    return _answer_of(lambda f: threading.Timer(0.01, f).start(), device)


def thread_of_a_thread(device):
    def start(function):
        threading.Thread(target=lambda: threading.Thread(target=function).start()).start()

    return _answer_of(start, device)


def thread_below_threading(device):
    return _answer_of(lambda f: _thread.start_new_thread(f, ()), device)


def native_thread(device):
    def start(function):
        callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: function())
        number, libc = ctypes.c_ulong(), ctypes.CDLL(None)
        libc.pthread_create(ctypes.byref(number), None, callback, None)
        libc.pthread_join(number, None)

    return _answer_of(start, device)


def executor(device):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(ask, [device] * 9))


def pool_of_threads(device):
    with ThreadPool(3) as pool:
        return pool.map(ask, [device] * 9)


def asyncio_executor(device):
    async def gather():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            asyncio.to_thread(ask, device),
            *(loop.run_in_executor(None, ask, device) for _ in range(3)),
        )

    return list(asyncio.run(gather()))


def free_running_threads(device):
    """Threads that ask as fast as they can: no count is lost between them."""
    answers = []

    def run():
        for _ in range(100):
            answers.append(ask(device))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def device_contexts_are_each_threads_own(device):
    def run(where):
        with torch.device(where):
            return torch.ones(2).device.type == "meta"

    with ThreadPoolExecutor(2) as pool:
        metas = list(pool.map(run, ["meta", device] * 4))
    assert metas == [True, False] * 4
    return [ask(device)]


def backward_in_the_main_thread(device):
    return [backward(device)] * 2


def backward_in_threads(device):
    with ThreadPoolExecutor(2) as pool:
        return [x for grad in pool.map(backward, [device] * 4) for x in (grad, grad)]


def backward_below_threading(device):
    answers = queue.SimpleQueue()
    _thread.start_new_thread(lambda: answers.put(backward(device)), ())
    return [answers.get(timeout=60)] * 2
