"""Helpers for the tables of answers: small programs around one call of torch.cuda."""

import torch

MIB = 1 << 20


def at_least(least):
    return lambda answer: type(answer) is int and answer >= least


not_negative = at_least(0)


def about_4_mib(answer):
    return 4 * MIB <= answer < 5 * MIB


def on_host(made):
    return made.device == torch.device("cpu")


def four_mib():
    return torch.ones(MIB, device="cuda")


def raised(call, *args):
    try:
        call(*args)
    except Exception as error:
        return type(error)
    return None


def entered(context, ask=lambda: None):
    with context:
        return ask()


def kept(read, write, value):
    """The answer of `read` after `write` has set `value`; the old value is restored."""
    before = read()
    write(value)
    try:
        return read()
    finally:
        write(before)


def seeded(seed, value):
    seed(value)
    return torch.cuda.initial_seed()


def fresh_seed(seed):
    """A seed nobody chose."""
    torch.cuda.manual_seed(1)
    seed()
    one = torch.cuda.initial_seed()
    seed()
    return len({1, one, torch.cuda.initial_seed()}) == 3


def reproduced(read, write):
    state = read()
    one = torch.rand(3, device="cuda")
    write(state)
    return torch.equal(one, torch.rand(3, device="cuda"))


def grown(figure):
    """The amount that a tensor of 4 MiB adds to the figure."""
    before = figure()
    block = four_mib()
    after = figure()
    del block
    return after - before


def allocated(reset):
    """Bytes allocated after the reset of what was allocated before."""
    four_mib()
    reset()
    block = four_mib()
    answer = torch.cuda.memory_stats()["allocated_bytes.all.allocated"]
    del block
    return answer


def reset_takes_the_peak_back(reset, peak, now):
    del_me = four_mib()
    del del_me
    before = peak()
    reset()
    return before - peak() >= 3 * MIB and peak() >= now()


def pinned(figure, reset=lambda: None):
    """The figure of pinned memory while 4 MiB more are pinned, over what it was."""
    source = torch.ones(MIB)
    reset()
    before = torch.cuda.host_memory_stats()[figure]
    block = source.pin_memory()
    answer = torch.cuda.host_memory_stats()[figure] - before
    del block
    return answer


class Names:
    """A module whose missing names are None: tables may name what only some versions of torch have.
    """

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name, None)
