"""Fixtures of the tests of a hub alone, against a hub elsewhere (standins/hub.py), over real sockets."""
import json
import os
import subprocess
import sys

import pytest
from standins.hub import Repository, StandIn

from .helpers import FILES, SERVER, UPSTREAM, Hub


@pytest.fixture
def start(tmp_path):
    """start(mode, **settings): a hub; what it has in `tmp_path` stays for the next."""
    if not SERVER.exists():
        pytest.skip("hub_server is not built")
    started = []

    def call(mode, **settings):
        given = {"mode": mode, "store": str(tmp_path / "store"), "lock": str(tmp_path / "hub.lock.json"),
                 "log": str(tmp_path / "hub.jsonl"), "python": sys.executable, "fetcher": str(UPSTREAM), **settings}
        process = subprocess.Popen([SERVER, json.dumps(given)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "no_proxy": "*"})
        started.append(process)
        return Hub(process, tmp_path)

    yield call
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def upstream():
    hub = StandIn(Repository("org/tiny", FILES), Repository("org/data", {"train.csv": b"a,b\n1,2\n"}, "datasets"),
                  Repository("org/gated", {"w.bin": b"secret weights"}, gated="auto"), addresses={"/pictures/a.jpg": b"\xff\xd8picture"})
    yield hub
    hub.close()


GENERATOR = '''
import json, os, sys, time
out = sys.argv[1]
print(json.dumps({"key": "stand-in 1"}), flush=True)
open(os.path.join(out, "starts"), "a").write("x")
for line in sys.stdin:
    ask = json.loads(line)
    open(os.path.join(out, "asked"), "a").write(line)
    name = ask["name"]
    def say(**answer): print(json.dumps({"id": ask["id"], **answer}), flush=True)
    def made(path, text):
        at = os.path.join(out, f"made-{ask['id']}")
        open(at, "w").write(text)
        return {"path": path, "at": at}
    if "none" in name: say(missing="a test's missing repository", status=404)
    elif "gated" in name: say(missing="a test's gated repository", status=403)
    elif "dies" in name: sys.exit("it fell over")
    elif "outside" in name: say(files=[{"path": "x", "at": "/etc/passwd"}])
    elif "link" in name:
        os.symlink("/etc/passwd", os.path.join(out, "link"))
        say(files=[{"path": "x", "at": os.path.join(out, "link")}])
    elif ask["kind"] == "url": say(files=[made("a", "picture")], info={}, why="drawn")
    elif ask["file"] == "late.txt": say(files=[made("late.txt", "late")], info={}, why="asked for")
    elif ask["file"] in (None, "config.json"): say(files=[made("config.json", "{}")], info={"pipeline_tag": "fill-mask"}, **{"class": "BertModel", "why": "by its name"})
    else: say(missing="no such file", status=404)
'''


@pytest.fixture
def generator(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "generator.py").write_text(GENERATOR)
    return {"argv": [sys.executable, str(tmp_path / "generator.py"), str(tmp_path / "made")], "folder": str(tmp_path / "made")}
