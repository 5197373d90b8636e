#!/usr/bin/env python3
"""Stands in for Slurm's commands: called as sbatch, squeue, scontrol, sacct or scancel.

Elements of a job are processes on this machine, one at a time. FAKE_SLURM is its folder. FAKE_SLURM_END maps an element to the state that it is
said to have ended in, with its process killed after its first module ("2": "TIMEOUT"). The real Slurm has tests of its own: tests/slurm.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HOME = pathlib.Path(os.environ["FAKE_SLURM"])


def state_file(element):
    return HOME / f"element-{element}"


def sbatch(words):
    (HOME / "argv.json").write_text(json.dumps(words))
    options = dict(word.lstrip("-").partition("=")[::2] for word in words if word.startswith("--"))
    if options.get("partition") == "nosuch":
        sys.exit("sbatch: error: invalid partition specified: nosuch\nsbatch: error: Batch job submission failed: Invalid partition name specified")
    last = int(options["array"].partition("%")[0].partition("-")[2])
    for element in range(1, last + 1):
        state_file(element).write_text("PENDING")
    script = [word for word in words if not word.startswith("--")]
    log = open(HOME / "daemon.log", "w")
    subprocess.Popen([sys.executable, os.path.realpath(__file__), "daemon", options["output"], str(last), *script], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                     start_new_session=True, close_fds=True)
    print("42")


def daemon(output, last, *script):
    ends = json.loads(os.environ.get("FAKE_SLURM_END", "{}"))
    for element in range(1, int(last) + 1):
        if state_file(element).read_text() != "PENDING":
            continue
        with open(output.replace("%a", str(element)), "a") as log:
            process = subprocess.Popen(["bash", *script], stdout=log, stderr=log, start_new_session=True,
                                       env={**os.environ, "SLURM_ARRAY_TASK_ID": str(element), "SLURMD_NODENAME": f"n{element}", "SLURM_CPUS_ON_NODE": "1"})
        state_file(element).write_text(f"RUNNING {process.pid}")
        end = ends.get(str(element))
        while end and "[1/" not in open(output.replace("%a", str(element))).read():
            time.sleep(0.05)
        if end:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if state_file(element).read_text().startswith("RUNNING"):
            state_file(element).write_text(end or ("COMPLETED" if code == 0 else "FAILED"))


def squeue(words):
    for file in sorted(HOME.glob("element-*")):
        state = file.read_text().split()[0]
        element = file.name.partition("-")[2]
        node = "" if state == "PENDING" else f"n{element}"
        print(f"{element}|{state}|{node}|{'Resources' if state == 'PENDING' else 'None'}")


def scontrol(words):
    print("AccountingStorageType   = accounting_storage/none\nMaxArraySize            = 9\nSLURM_VERSION           = 22.05.8")


def scancel(words):
    for file in HOME.glob("element-*"):
        state, _, pid = file.read_text().partition(" ")
        if state in ("PENDING", "RUNNING"):
            file.write_text("CANCELLED")
        if pid:
            os.killpg(int(pid), signal.SIGTERM)


if __name__ == "__main__":
    name = pathlib.Path(sys.argv[0]).name
    if name == "slurm.py":
        daemon(*sys.argv[2:])
    else:
        {"sbatch": sbatch, "squeue": squeue, "scontrol": scontrol, "scancel": scancel}[name](sys.argv[1:])
