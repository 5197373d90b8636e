import multiprocessing
import os
import subprocess
import sys
import time


def test_child():
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(611)"])


def test_pool_left_open():
    pool = multiprocessing.get_context("fork").Pool(2)
    assert pool.map(abs, [-1, 2]) == [1, 2]
    test_pool_left_open.pool = pool


def test_worker_killed():
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    os.kill(worker.pid, 9)
    worker.join()
    assert worker.exitcode == -9
