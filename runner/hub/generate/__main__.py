"""The program: JSON lines on standard input, an answer for each on standard output.

    first line   {"key": "…"}   changes when the same request may have another answer
    request      {"id": 1, "kind": "model", "name": "org/name", "revision": "main", "file": null}
    answer       {"id": 1, "files": [{"path": …, "at": …}], "info": {…}, "class": …, "why": …}
                 {"id": 1, "missing": "why", "status": 404}

Anything else that prints goes to standard error. The answers depend on the packages, the source and the
request alone: the process hashes with seed 0 and computes in one thread.

Not here: which request has which answer (answers.py).
"""

import argparse
import importlib.util
import json
import os
import pathlib
import sys
import traceback

# Read when Python, OpenMP and the libraries start. The program never asks a hub itself.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "RAYON_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
PACKAGE = "compat_generate"


def load_package():
    """Imports this folder as a package. Its modules' names are then not in the way of the suite's:
    the folder itself leaves the search path."""
    folder = pathlib.Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if not p or pathlib.Path(p).resolve() != folder]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    return importlib.import_module(PACKAGE + ".answers")


def answers_only():
    """A stream for the answers; from now on what prints to standard output reaches standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def answer_line(answers, line):
    """The answer to one line. A failure is one too: the client then gets "not found"."""
    try:
        request = json.loads(line)
    except ValueError as error:
        return {"id": None, "missing": f"not a request: {error}", "status": 404}
    try:
        return {"id": request.get("id"), **answers.answer(request)}
    except Exception as error:
        traceback.print_exc()
        return {
            "id": request.get("id"),
            "missing": f"not generated: {type(error).__name__}: {error}"[:500],
            "status": 404,
        }


def main():
    options = argparse.ArgumentParser(prog="generate")
    options.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    options.add_argument("--source", type=pathlib.Path, help="root of the suite's source")
    options.add_argument("--names", type=pathlib.Path, help="the suite's hub.names.json, without comments")
    chosen = options.parse_args()
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.environ.update(ENVIRONMENT)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    stream = answers_only()
    stated = json.loads(chosen.names.read_text(encoding="utf-8")) if chosen.names else None
    answers = load_package().Answers(chosen.out.resolve(), chosen.source, stated)

    def say(message):
        stream.write(json.dumps(message, sort_keys=True) + "\n")
        stream.flush()

    say({"key": answers.key()})
    for line in sys.stdin:
        if line.strip():
            say(answer_line(answers, line))


if __name__ == "__main__":
    main()
