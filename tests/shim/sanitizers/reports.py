"""reports.py FOLDER: what the sanitizers wrote there about the shim; exit code 1 if anything.

A bad access or undefined behaviour is always shown: only the shim is instrumented. A race is shown
if both sides have a frame of the shim's near the top: what Python and torch do in between is not
seen, and orders much that looks like a race. A leak is the
shim's where one of the first frames below the allocator is in its library. Python and torch leave
much behind at the end of a process, and each of our stacks passes through both: leaving out stacks
by a name in them, as LeakSanitizer's own suppressions do, would leave out ours.
"""

import pathlib
import re
import sys

LIBRARY = "_compat_"  # as the names of all three begin
SOURCES = f"{pathlib.Path(__file__).parents[3] / 'shim'}/"
NEAR = 4  # frames: a container or string of the standard library, and its caller
# Left out, with the reason: a function that is somewhere in the stack.
KNOWN = {
    "pybind11_init__compat_": "what pybind11 keeps for each function of a module, which Python "
    "never takes down: once a process, whatever the process does",
    "Recorder::sites_of": "hangs on a code object and goes with it; Python does not free those "
    "alive at its end (tests/soak/shim_soak.py holds it to those that are gone)",
}
ORDERED = {
    "::release_resources": "an object's end in one thread and its last reference's in another: in "
    "order by its counts of references, which torch's libraries change unseen",
}
ALLOCATORS = ("__interceptor_", "operator new", "operator new[]")


def leaks(text):
    """[(headline, frames below the allocator)] of one process's report."""
    found = []
    for block in re.findall(r"^(?:Direct|Indirect) leak of .*?(?=\n\n)", text, re.M | re.S):
        headline, *frames = block.splitlines()
        calls = [re.sub(r"^\s*#\d+ 0x[0-9a-f]+ (in )?", "", frame) for frame in frames]
        found.append((headline, [call for call in calls if not call.startswith(ALLOCATORS)]))
    return found


def races(text):
    """[(headline, frames of the first side)] of one process's report."""
    found = []
    for block in re.findall(r"^WARNING: ThreadSanitizer: .*?(?=^={10})", text, re.M | re.S):
        headline, *sides = re.split(r"\n\n?  (?=\w)", block)
        stacks = [re.findall(r"^    #\d+ (.*)", side, re.M)[:NEAR] for side in sides[:2]]
        known = any(name in call for name in ORDERED for stack in stacks for call in stack)
        if not known and all(any(LIBRARY in call for call in stack) for stack in stacks):
            found.append((headline.strip(), stacks[0] + ["and"] + stacks[-1]))
    return found


def main(folder):
    files = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())
    errors, ours, others = [], {}, 0
    for path in files:
        text = path.read_text(errors="replace")
        if "ERROR: AddressSanitizer" in text or "runtime error:" in text:
            errors.append(f"{path}:\n{text[:4000]}")
        for headline, calls in races(text):
            ours.setdefault("\n    ".join(calls), []).append(headline)
        for headline, calls in leaks(text):
            if any(name in call for name in KNOWN for call in calls):
                others += 1
            elif any(LIBRARY in call or SOURCES in call for call in calls[:NEAR]):
                ours.setdefault("\n    ".join(calls[: NEAR + 4]), []).append(headline)
            else:
                others += 1
    for error in errors:
        print(error)
    for stack, headlines in ours.items():
        print(f"{len(headlines)} processes: {headlines[0]}\n    {stack}")
    print(
        f"sanitizers: {len(files)} reports, {len(errors)} of errors, {len(ours)} leaks or "
        f"races of the shim, {others} leaks of Python, pybind11 and torch left out"
    )
    return 1 if errors or ours else 0


sys.exit(main(sys.argv[1]))
