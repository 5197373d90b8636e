"""The examples of docs/guide/shards.md: each is taken from the page and run as far as it can be here.

A loop stands for the schedulers: over the matrix, the completion indexes, or the array. """
import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from test_resume import make_suite, states
from test_shards import ASSERTS

GUIDE = (pathlib.Path(__file__).resolve().parents[2] / "docs/guide/shards.md").read_text()


def example(heading, language, nth=0):
    (section,) = [part for part in GUIDE.split("\n## ")[1:] if part.startswith(heading)]
    return re.findall(rf"```{language}\n(.*?)```", section, re.S)[nth]


@pytest.fixture
def shell(program, python, tmp_path):
    """shell(script, code=0, **variables): with `runner` and the suite, as its user has them."""
    suite = make_suite(tmp_path / "suite", {"test_%d.py" % i: ASSERTS % i for i in range(8)})
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMPAT_") or name == "COMPAT_CACHE"}

    def call(script, code=0, **variables):
        process = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, text=True, capture_output=True, timeout=120, env={
            **clean, "PATH": f"{program.parent}:{clean['PATH']}", "SUITE": str(suite), "COMPAT_PYTHON": python, "COMPAT_SHIM": "off", **variables})
        assert process.returncode == code, (script, process.stdout, process.stderr)
        return process.stdout

    return call


def check_run(tmp_path, results="results"):
    report = json.loads((tmp_path / results / "latest/report.json").read_text())
    found = states(report)
    assert len(found) == 8 and [state for state in found.values()].count("failed") == 1 and report["run"]["complete"]


def test_xargs(shell, tmp_path):
    shell(example("One machine", "sh"), code=1)  # that of the failing test
    check_run(tmp_path)


def test_make(shell, tmp_path):
    (tmp_path / "Makefile").write_text(example("One machine", "make"))
    shell('make -j2 SUITE="$SUITE"', code=2)  # of make, for merge's 1
    check_run(tmp_path)
    assert len(list(tmp_path.glob("shard-*.done"))) == 4


def test_github(shell, tmp_path):
    workflow = yaml.safe_load(example("GitHub", "yaml"))
    steps = {job: [step["run"] for step in body["steps"] if "run" in step] for job, body in workflow["jobs"].items()}
    (plan,), (shard,), (merge,) = (steps[job] for job in ("plan", "shard", "merge"))
    shell(plan, GITHUB_OUTPUT=str(tmp_path / "output"))
    shards = json.loads((tmp_path / "output").read_text().removeprefix("shards="))
    assert shards == list(range(1, 9))
    for index in shards:
        shell(shard.replace("${{ matrix.shard }}", str(index)))
    shell(merge, code=1)
    check_run(tmp_path, "merged")
    assert workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"] == "${{ fromJSON(needs.plan.outputs.shards) }}"


def test_kubernetes(shell, tmp_path):
    job = yaml.safe_load(example("Kubernetes", "yaml"))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert container["command"][:2] == ["sh", "-c"] and job["completionMode"] == "Indexed"
    script = example("Kubernetes", "sh")
    plan, *_, merge = script.splitlines()
    shell(plan)
    assert len(json.loads((tmp_path / "plan.json").read_text())["shards"]) == job["completions"]
    for index in range(job["completions"]):
        shell(container["command"][2], JOB_COMPLETION_INDEX=str(index))
    shell(merge, code=1)
    check_run(tmp_path)


def test_lsf(shell, tmp_path):
    # `bsub` as a loop over the array of -J, which then runs the words after the options.
    (tmp_path / "bin").mkdir()
    bsub = tmp_path / "bin/bsub"
    bsub.write_text("""#!/bin/bash
array=
while getopts 'J:n:R:W:o:w:rK' option; do
    [ "$option" != J ] || array=$OPTARG
done
shift $((OPTIND - 1))
if [[ $array =~ \\[([0-9]+)-([0-9]+)\\] ]]; then
    for LSB_JOBINDEX in $(seq "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"); do
        export LSB_JOBINDEX
        bash -c "$*" || true
    done
else
    exec "$@"
fi
""")
    bsub.chmod(0o755)
    shell(f'PATH={tmp_path}/bin:$PATH\n' + example("LSF", "sh"), code=1)
    check_run(tmp_path)


def test_ray_example_is_python(shell, tmp_path):
    """With a module `ray` that does each task when it is asked for."""
    (tmp_path / "ray.py").write_text(
        "class exceptions:\n    RayError = RuntimeError\n\n\ndef init():\n    pass\n\n\ndef get(task):\n    return task()\n\n\n"
        "def remote(num_cpus, max_retries):\n    def wrap(function):\n        function.remote = lambda *args: lambda: function(*args)\n        return function\n    return wrap\n")
    (tmp_path / "shards.py").write_text(example("Ray", "python"))
    shell('runner plan "$SUITE" --shards 2 --out plan.json')
    shell('"$COMPAT_PYTHON" shards.py plan.json 2', code=1)
    check_run(tmp_path)
