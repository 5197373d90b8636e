#!/usr/bin/env python3
"""How long `runner devices` takes, beside what people ask for their devices now: importing torch and
asking torch.cuda and torch.backends.mps.

    devices.py RUNNER [--rounds N] [--python PYTHON]

The ways take turns; the table has the median of the rounds and the ratio to importing torch. Exit
status 1: the report of this host takes more than 3 s. PYTHON has torch, and its shim is built.
"""

import argparse
import statistics
import subprocess
import sys
import time

LIMIT_S = 3.0
ASK = "import torch; print(torch.cuda.is_available(), torch.backends.mps.is_available())"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runner")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    report = [options.runner, "devices", "--python", options.python]
    ways = {
        "import torch": [options.python, "-c", ASK],
        "runner devices": report,
        "runner devices --simulate mps": [*report, "--simulate", "mps"],
    }
    seen = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, command in ways.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seen[way].append(time.perf_counter() - begun)
    median = {way: statistics.median(times) for way, times in seen.items()}
    print("| way | seconds | ratio |\n|---|---|---|")
    for way, seconds in median.items():
        print(f"| {way} | {seconds:.2f} | {seconds / median['import torch']:.2f} |")
    return int(median["runner devices"] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
