"""Does what it can to the hub; its neighbours are to notice nothing."""
import os
import socket
import urllib.request

ENDPOINT = os.environ["HF_ENDPOINT"]
HOST = ("127.0.0.1", int(ENDPOINT.rpartition(":")[2]))
MANY = 600


def flood():
    kept = []
    for _ in range(MANY):
        client = socket.socket()
        client.settimeout(0.05)
        try:
            client.connect(HOST)
            client.sendall(b"GET /")
        except OSError:
            pass
        kept.append(client)
    return kept


def test_floods_it_with_connections():
    kept = flood()
    for client in kept:
        client.close()


def test_sends_what_is_no_http():
    for words in (b"\x00" * 4096, b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" * 100):
        with socket.create_connection(HOST, 5) as client:
            try:
                client.sendall(words)
                client.recv(1000)
            except OSError:
                pass


def test_looks_for_its_socket():
    """No process that a test sees has the listening socket, or lets it look."""
    inode = listening_inode()
    seen = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        folder = f"/proc/{process}/fd"
        try:
            seen += [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]
        except OSError:
            continue
    if os.environ.get("COMPAT_NO_NETWORK"):
        assert inode and f"socket:[{inode}]" not in seen


def listening_inode():
    for line in open("/proc/net/tcp"):
        fields = line.split()
        if fields[3] == "0A" and fields[1].endswith(f":{HOST[1]:04X}"):
            return fields[9]


def test_takes_its_port():
    with socket.socket() as mine:
        try:
            mine.bind(HOST)
        except OSError:
            return
    raise AssertionError("a test can stand in for the hub")


def test_leaves_connections_open():
    global KEPT
    KEPT = flood()
    os._exit(0) if os.environ.get("HUB_CLIENT_EXITS") else None
