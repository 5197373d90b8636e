"""Answers what torch.cuda asks of NVIDIA's management library with the host's figures; refuses if
the host has none."""

import functools
import glob
import os

from .. import refusal

_SILENT = "the host does not say"


def apply(torch, library, devices):
    """torch's own functions begin with the package pynvml and a driver."""
    from torch.cuda import _utils

    def answer(module, name, figure, why=_SILENT):
        symbol = "torch.cuda." + name

        @functools.wraps(getattr(module, name))
        def ask(device=None):
            index = _utils._get_device_index(device, optional=True)
            torch.cuda.get_device_properties(index)
            found = figure(index)
            if found is None:
                refusal.refuse(library, symbol, why)
            return found

        for holder in (module, torch.cuda):
            setattr(holder, name, ask)

    def processes(index):
        used = devices.memory(index).bytes.current / (1 << 20)
        return f"GPU:{index}\nprocess {os.getpid():>10d} uses {used:>12.3f} MB GPU memory"

    def memory_used(index):
        memory = devices.memory(index)
        return memory.total - memory.free

    answer(torch.cuda, "clock_rate", lambda index: _clock_rate())
    answer(torch.cuda, "device_memory_used", memory_used)
    answer(torch.cuda, "memory_usage", lambda index: None, "the host does not time its memory's use")
    answer(torch.cuda, "power_draw", lambda index: None, "the host does not say what it draws")
    answer(torch.cuda, "temperature", lambda index: _temperature())
    answer(torch.cuda, "utilization", lambda index: _utilization())
    answer(torch.cuda.memory, "list_gpu_processes", processes)


def _utilization():
    """Percent of the cores that had work, over the last minute."""
    return min(100, round(100 * os.getloadavg()[0] / (os.cpu_count() or 1)))


def _clock_rate():
    """MHz, the mean of the cores."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            rates = [float(line.split(":")[1]) for line in file if line.startswith("cpu MHz")]
    except (OSError, ValueError):
        return None
    return round(sum(rates) / len(rates)) if rates else None


def _temperature():
    """Degrees Celsius of the processor's own sensor, where Linux has a driver for it."""
    for name in glob.glob("/sys/class/hwmon/hwmon*/name"):
        try:
            with open(name, encoding="ascii") as file:
                if file.read().strip() not in ("coretemp", "k10temp", "cpu_thermal"):
                    continue
            with open(os.path.join(os.path.dirname(name), "temp1_input"), encoding="ascii") as file:
                return round(int(file.read()) / 1000)  # it is in thousandths
        except (OSError, ValueError):
            continue
    return None
