"""Tells a process that a fork server of multiprocessing makes which test has started it. The server
has the environment of the time when it began, and serves the tests after that one, too."""

import functools

from . import importing, record

_KEY = "compat_shim_test"  # of multiprocessing's preparation data, which ignores what it does not know


def install():
    # The second is a copy of the first, with another pickle.
    for package in ("multiprocessing", "multiprocess"):
        importing.after(f"{package}.spawn", _send_the_test)


def _send_the_test(spawn):
    describe, prepare = spawn.get_preparation_data, spawn.prepare

    @functools.wraps(describe)
    def get_preparation_data(name):
        return {**describe(name), _KEY: record.running_test()}

    @functools.wraps(prepare)
    def prepare_for_test(data):
        record.belong_to(data.pop(_KEY, None))
        prepare(data)

    spawn.get_preparation_data, spawn.prepare = get_preparation_data, prepare_for_test
