"""A hub alone (tests/hub/hub_server.cc) and what the stand-in elsewhere has. The fixtures: conftest.py."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVER = pathlib.Path(os.environ.get("COMPAT_RUNNER", ROOT / "build/release/bin/runner")).with_name("hub_server")
UPSTREAM = ROOT / "runner/hub/upstream.py"
WEIGHTS = random.Random(1).randbytes(3_000_000)
FILES = {"data.json": b"x" * 1000, "config.json": b'{"model_type": "bert"}\n', "data/ü x.txt": b"text\n", "model.safetensors": WEIGHTS, "empty": b""}


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.content = response.status, response.headers, response.read()

    @property
    def code(self):
        return self.status, self.headers.get("X-Error-Code")


class Hub:
    def __init__(self, process, folder):
        self.process, self.folder = process, folder
        self.endpoint = process.stdout.readline().strip()
        self.summary = None

    def get(self, path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection(self.endpoint.split("//")[1], timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            return Answer(connection.getresponse())

    def stop(self):
        out, _ = self.process.communicate(timeout=60)
        self.summary = json.loads(out)
        return self.summary

    @property
    def lock(self):
        return json.loads((self.folder / "hub.lock.json").read_text())

    def memory(self):
        """The largest so far, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


def everything(folder):
    """The names and the content of all files below a folder."""
    for path in folder.rglob("*"):
        yield path.name.encode()
        if path.is_file():
            yield path.read_bytes()


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


def blob(folder, content):
    return folder / "store/blobs" / hashlib.sha256(content).hexdigest()
