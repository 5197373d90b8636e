"""The plain way to read a unittest log, for bench_parsing to be compared with: regular expressions over
the lines, failures only.

    python parsing_seed.py LOG
Prints how many failures it found and the seconds it took.
"""

import re
import sys
import time

TEST = re.compile(r"^(\w+) \(([\w.]+)\)(?: \.\.\. (ok|FAIL|ERROR|skipped .*|expected failure))?$")
TITLE = re.compile(r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)")
FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$')
EXCEPTION = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)): ?(.*)$")
RULE = "=" * 70


def failures(lines):
    found, current = [], None
    for line in lines:
        line = line.rstrip("\n")
        if TEST.match(line):
            continue
        title = TITLE.match(line)
        if title:
            current = {"kind": title[1], "test": title[2], "class": title[3], "frames": [], "text": []}
            found.append(current)
        elif line == RULE:
            current = None
        elif current is not None:
            current["text"].append(line)
            frame = FRAME.match(line)
            if frame:
                current["frames"].append(frame.groups())
            else:
                exception = EXCEPTION.match(line)
                if exception:
                    current["type"], current["message"] = exception.groups()
    return found


begin = time.perf_counter()
with open(sys.argv[1], errors="replace") as log:
    count = len(failures(log))
print(count, time.perf_counter() - begin)
