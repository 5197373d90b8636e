"""Reads what the test of the runner has put into the store, by each kind of address."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

FILE = "org/tiny/resolve/main/config.json"


def read(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read()


@pytest.fixture(scope="module")
def shared():
    return read("https://huggingface.co/" + FILE)


def test_the_hub_itself():
    assert json.loads(read(os.environ["HF_ENDPOINT"] + "/" + FILE)) == {"model_type": "tiny"}


def test_an_address_of_the_hub(shared):
    assert json.loads(shared) == {"model_type": "tiny"}


def test_the_same_fixture(shared):
    assert shared


def test_an_address_elsewhere():
    assert read("https://images.example.org/cat.txt") == b"a cat"


def test_what_is_missing():
    with pytest.raises(urllib.error.HTTPError) as error:
        read("https://huggingface.co/org/absent/resolve/main/config.json")
    assert error.value.code == 404


def test_in_another_process():
    program = f"import urllib.request as u; print(u.urlopen('https://huggingface.co/{FILE}').read().decode())"
    assert "tiny" in subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_a_server_of_its_own():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"my own " + self.path.encode())

        def log_message(self, *words):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.handle_request).start()
    assert read(f"http://localhost:{server.server_port}/x") == b"my own /x"
    server.server_close()


def test_variables():
    assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "0"
    assert "HF_HUB_CACHE" not in os.environ and "HF_TOKEN" not in os.environ
    assert "127.0.0.1" in os.environ["NO_PROXY"].split(",")


def test_writes_into_its_cache():
    folder = pathlib.Path(os.environ["HF_HOME"]) / "hub"
    folder.mkdir(exist_ok=True)
    (folder / "mine").write_text("kept while the run goes on")


def test_finds_the_clients():
    snapshots = pytest.importorskip("huggingface_hub")
    assert "tiny" in pathlib.Path(snapshots.hf_hub_download("org/tiny", "config.json")).read_text()
