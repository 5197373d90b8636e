#!/usr/bin/env python3
"""Runs unittest modules of a checkout against the generator, without the runner.

    generate_trial.py --root CHECKOUT --python PYTHON MODULE…

A plain stand-in of the hub serves what the generator makes; requests for other hosts reach it too.
Prints how many tests passed, failed and were skipped, and the last line of each failure. It serves
to see which rule is missing. The real hub and its tests are elsewhere.
"""

import argparse
import collections
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHILD = pathlib.Path(__file__).with_name("trial_child.py")
PREFIX = "67656e657261746564"


class Generator:
    """The process, and what it answered for each repository."""

    def __init__(self, python, program, out, source, env):
        words = [python, program, "--out", out, "--source", source]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(out / "generator.log", "w"), text=True, env=env
        )
        self.process.stdout.readline()
        self.lock, self.answers, self.seconds = threading.Lock(), {}, {}

    def ask(self, kind, name, revision, file):
        with self.lock:
            place = (kind, name, revision)
            answer = self.answers.get(place)
            if answer is None or (file and "files" in answer and file not in answer["files"] and (file not in answer["asked"])):
                request = {"id": 1, "kind": kind, "name": name, "revision": revision, "file": file}
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
                new = json.loads(self.process.stdout.readline())
                asked = {*(answer or {}).get("asked", ()), file}
                if "files" in new:
                    files = {f["path"]: pathlib.Path(f["at"]) for f in new["files"]}
                    answer = {**new, "files": files, "commit": commit_of(files)}
                elif answer is None:
                    answer = new
                self.answers[place] = {**answer, "asked": asked}
            return self.answers[place]


def commit_of(files):
    digest = hashlib.sha1()
    for path, at in sorted(files.items()):
        digest.update(path.encode() + at.read_bytes())
    return PREFIX + digest.hexdigest()[: 40 - len(PREFIX)]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    generator = None

    def log_message(self, *words):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def gone(self, answer, code="RepoNotFound"):
        status = answer.get("status", 404)
        error = {401: "GatedRepo", 403: "GatedRepo"}.get(status, code)
        self.reply(status, b'{"error":"not here"}', X_Error_Code=error, Content_Type="application/json")

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        path = urllib.parse.unquote(self.path.split("?")[0])
        if self.path.startswith("/_url/"):
            scheme, rest = self.path[len("/_url/") :].split("/", 1)
            return self.address(f"{scheme}://{rest}")
        if found := re.match(r"/api/(models|datasets)/(.+?)(?:/(revision|tree|paths-info)/([^/]+)(/.*)?|/refs)?$", path):
            return self.api(found, body)
        if found := re.match(r"/(datasets/)?(.+?)/resolve/([^/]+)/(.+)$", path):
            return self.file(*found.groups())
        self.gone({})

    do_HEAD = do_POST = do_GET

    def address(self, url):
        answer = self.generator.ask("url", url, "", None)
        if "files" not in answer:
            return self.gone(answer)
        self.content(next(iter(answer["files"].values())), {})

    def api(self, found, body):
        kind, name, action, revision = found[1][:-1], found[2], found[3], found[4] or "main"
        answer = self.generator.ask(kind, name, revision, None)
        if "files" not in answer:
            return self.gone(answer)
        info, files = answer.get("info") or {}, answer["files"]
        if action in ("tree", "paths-info"):
            wanted = json.loads(body)["paths"] if body.startswith(b"{") else None
            if body and wanted is None:
                wanted = urllib.parse.parse_qs(body.decode()).get("paths")
            below = (found[5] or "").strip("/")
            if below and not any(p.startswith(below + "/") for p in files):
                return self.reply(404, X_Error_Code="EntryNotFound", X_Repo_Commit=answer["commit"])
            reply = [{"type": "file", "path": p, "size": f.stat().st_size, "oid": hashlib.sha1(f.read_bytes()).hexdigest()}
                     for p, f in files.items() if (wanted is None or p in wanted) and p.startswith(below)]  # fmt: skip
        else:
            reply = {"_id": "0", "id": name, "modelId": name, "sha": answer["commit"], "private": False, "gated": False, "disabled": False,
                     "tags": [], "downloads": 0, "likes": 0, "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
                     **{k: v for k, v in info.items() if v is not None}, "siblings": [{"rfilename": p} for p in files]}  # fmt: skip
        self.reply(200, json.dumps(reply).encode(), Content_Type="application/json")

    def file(self, datasets, name, revision, file):
        answer = self.generator.ask("dataset" if datasets else "model", name, revision, file)
        if "files" not in answer:
            return self.gone(answer)
        at = answer["files"].get(file)
        if at is None:
            return self.reply(404, X_Error_Code="EntryNotFound", X_Repo_Commit=answer["commit"])
        self.content(at, {"X_Repo_Commit": answer["commit"]})

    def content(self, at, headers):
        body = at.read_bytes()
        headers = {**headers, "ETag": f'"{hashlib.sha1(body).hexdigest()}"', "Accept_Ranges": "bytes", "Content_Type": "application/octet-stream"}
        if wanted := re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range") or ""):
            first, last = int(wanted[1]), min(int(wanted[2] or len(body) - 1), len(body) - 1)
            headers["Content_Range"] = f"bytes {first}-{last}/{len(body)}"
            return self.reply(206, body[first : last + 1], **headers)
        self.reply(200, body, **headers)


def run_modules(options, env, folder):
    """The results of all modules, which one process runs: imports take longer than most tests."""
    results = folder / "results.jsonl"
    results.unlink(missing_ok=True)
    with open(folder / "tests.log", "w") as log:
        subprocess.run([options.python, CHILD, results, *options.modules], cwd=options.root, env=env, stdout=log, stderr=log, check=False)
    lines = results.read_text().splitlines() if results.exists() else []
    return [json.loads(line) for line in lines]


def environment(options, endpoint, folder):
    home = str(folder / "home")
    source = str(pathlib.Path(options.root) / "src")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(options.root), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "HF_ENDPOINT": endpoint, "HF_HOME": home, "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1", "OMP_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "COMPAT_HUB": endpoint}  # fmt: skip


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--root", required=True, type=pathlib.Path, help="the checkout")
    words.add_argument("--python", required=True, help="the environment's Python")
    words.add_argument("--generator", default=ROOT / "runner/hub/generate", help="the program")
    words.add_argument("--folder", type=pathlib.Path, help="where results are written")
    words.add_argument("modules", nargs="+", metavar="MODULE", help="tests.pipelines.test_pipelines_common")
    options = words.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="trial-"))
    (folder / "made").mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(options.root / "src"), os.environ.get("PYTHONPATH", "")])}
    Handler.generator = Generator(options.python, options.generator, folder / "made", options.root, env)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = environment(options, f"http://127.0.0.1:{server.server_port}", folder)
    total, results = collections.Counter(), run_modules(options, env, folder)
    for module in options.modules:
        own = [r for r in results if module in r["test"]]
        counts = collections.Counter(r["status"] for r in own)
        total += counts
        print(module, dict(counts))
        for result in own:
            if result["status"] in ("failed", "error"):
                print(f"    {result['status']} {result['test']}: {result['why'][:300]}")
    print("total", dict(total))
    absent = {k: a["missing"] for k, a in Handler.generator.answers.items() if "missing" in a}
    for (kind, name, revision), why in sorted(absent.items()):
        print(f"missing {kind} {name} {revision}: {why}")
    Handler.generator.process.stdin.close()
    Handler.generator.process.wait()
    print("results in", folder)


if __name__ == "__main__":
    sys.exit(main())
