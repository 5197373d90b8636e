"""upstream.py STORE UPSTREAM MOST: fetches from a hub for `runner`, which asks in lines of JSON on stdin.

Standard library alone, started with `python -I`. A request is {"id", "do": "repository" | "file" | "address", ...}, an
answer {"id", "status": 200, ...} or {"id", "status", "code", "why"}. Content goes to STORE/blobs/<sha256> after its length
and digest were checked, at most MOST bytes of it. The caller's token goes to UPSTREAM's own host, and nowhere else.
"""
import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HUB = "https://huggingface.co"
AT_ONCE = 8
TRIES = 5
TIMEOUT_S = 30  # without a byte
SLOW_S, SLOW_BYTES = 60, 64 << 10  # fewer bytes in this time: it has stalled
MOST_WAIT_S = 60  # for what Retry-After asks, and for all waiting of a request
REDIRECTS = 8
PIECE = 1 << 20
LISTING_BYTES = 64 << 20
HEADER_BYTES = 512
TOKEN_CHARS = 6  # shorter ones are none, and words of ours have them
RETRIED = {408, 425, 429, 500, 502, 503, 504}
INFO = ("pipeline_tag", "library_name", "tags", "createdAt", "lastModified", "author", "cardData", "config", "mask_token",
        "safetensors", "transformersInfo")
# Raised by urllib where a host is away, breaks off or speaks something else.
NETWORK = (OSError, http.client.HTTPException, urllib.error.URLError)


class Failed(Exception):
    def __init__(self, status, why, code=""):
        super().__init__(why)
        self.status, self.why, self.code = status, why, code


class Broken(Exception):
    """A try that may succeed when it is repeated, after `wait` seconds if the host asks for that."""

    def __init__(self, status, why, wait=None):
        super().__init__(why)
        self.status, self.why, self.wait = status, why, wait


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **options):
        return None  # followed below, where it is decided who gets the token


def clean(text, most=300):
    """Bytes or text from elsewhere as one line of printable ASCII, without what looks like a token or signs an address."""
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    text = re.sub(r"(https?://)[^\s/?#\"'<>]*@", r"\1", str(text)[:4 * most])
    text = re.sub(r"(https?://[^\s?\"'<>]+)\?[^\s\"'<>]*", r"\1", text)
    text = re.sub(r"(?i)(bearer|basic)\s+\S+", r"\1 <set>", text)
    text = re.sub(r"\b(hf|api|sk|ghp)_[A-Za-z0-9_]{8,}|\b[A-Za-z0-9+/_-]{40,}", "<set>", text)
    return re.sub(r"[^ -~]+", " ", text)[:most].strip()


def sane(value, depth=0):
    """JSON that any parser reads: no lone surrogates, no huge numbers, shallow. Raises ValueError."""
    if depth > 8:
        raise ValueError("nests too deep")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        if abs(value) >= 1 << 63:
            raise ValueError("a number is too large")
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("a number is too large")
        return value
    if isinstance(value, list):
        return [sane(one, depth + 1) for one in value]
    return {sane(str(key)): sane(one, depth + 1) for key, one in value.items()}


class Budget:
    def __init__(self, most):
        self.left, self.most, self.lock = most, most, threading.Lock()

    def take(self, count):
        with self.lock:
            if count > self.left:
                raise Failed(507, f"--hub-max is reached: this run may fetch {self.most} bytes")
            self.left -= count

    def give_back(self, count):
        with self.lock:
            self.left += count


class Upstream:
    def __init__(self, store, upstream, most):
        self.store, self.upstream = store, upstream.rstrip("/")
        self.origin = self.origin_of(self.upstream)
        self.budget = Budget(most)
        self.numbers, self.lock = iter(range(1 << 62)), threading.Lock()
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler(), urllib.request.HTTPSHandler(context=ssl.create_default_context()), NoRedirect())

    @staticmethod
    def origin_of(url):
        parts = urllib.parse.urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port

    # Requests.

    def open(self, url, authorization="", headers=None, redirects=REDIRECTS):
        """The response and the address that gave it, after redirects. Raises Failed and Broken."""
        first = url
        for _ in range(redirects + 1):
            try:
                if self.origin_of(url)[0] not in ("http", "https"):
                    raise ValueError
                if url.startswith("http:") and first.startswith("https:"):
                    raise Failed(502, "the hub redirects from https to http")
                request = urllib.request.Request(url, headers={"User-Agent": "runner-hub/1", "Accept-Encoding": "identity",
                                                               **(headers or {})})
                if authorization and self.origin_of(url) == self.origin:
                    request.add_unredirected_header("Authorization", authorization)
            except ValueError:
                raise Failed(502, "the hub redirects to no address") from None
            try:
                response = self.opener.open(request, timeout=TIMEOUT_S)
            except urllib.error.HTTPError as error:
                if error.code in (301, 302, 303, 307, 308) and error.headers.get("Location"):
                    location = error.headers["Location"]
                    error.close()
                    url = urllib.parse.urljoin(url, location)
                    continue
                return error, url
            except ValueError:
                raise Failed(502, "this is no address") from None
            except NETWORK as error:
                reason = getattr(error, "reason", error)
                is_slow = isinstance(reason, socket.timeout)
                raise Broken(504 if is_slow else 502, f"{self.origin_of(url)[1]}: " + (
                    f"no answer within {TIMEOUT_S} s" if is_slow else clean(reason) or type(reason).__name__)) from None
            return response, url
        raise Failed(502, "the hub redirects without end")

    def answered(self, response):
        """Raises for an answer that is an error."""
        status = response.code
        if status in (200, 206):
            return response
        with response:
            code = clean(response.headers.get("X-Error-Code") or "", 64)
            why = clean(response.headers.get("X-Error-Message") or f"the hub answered {status}")
            if status in RETRIED:
                raise Broken(502, f"the hub answered {status}: {why}", response.headers.get("Retry-After"))
        raise Failed(status if 400 <= status < 500 else 502, why, code)

    def repeated(self, action):
        waited = 0.0
        for attempt in range(TRIES):
            try:
                return action()
            except Broken as broken:
                try:
                    asked = max(0.0, float(broken.wait))
                except (TypeError, ValueError):  # none, or a date
                    asked = 0.5 * 2 ** attempt
                if attempt + 1 == TRIES or waited + asked > MOST_WAIT_S:
                    raise Failed(broken.status, f"{broken.why} (tried {attempt + 1} times)") from None
                waited += asked
                time.sleep(asked)

    def pieces(self, response):
        """The content, checked against the length that was promised. Raises Broken where it stalls or breaks off."""
        promised = response.headers.get("Content-Length")
        promised = int(promised) if promised and promised.isascii() and promised.isdigit() else None
        count, since, in_time = 0, time.monotonic(), 0
        while True:
            try:
                piece = response.read1(PIECE)
            except socket.timeout:
                raise Broken(504, f"the hub sent nothing for {TIMEOUT_S} s") from None
            except NETWORK as error:
                raise Broken(502, "the hub broke off: " + clean(error)) from None
            if not piece:
                break
            count, in_time = count + len(piece), in_time + len(piece)
            now = time.monotonic()
            if now - since > SLOW_S:
                if in_time < SLOW_BYTES:
                    raise Broken(504, f"the hub sent {in_time} bytes in {SLOW_S} s")
                since, in_time = now, 0
            yield piece
        if promised is not None and count != promised:
            raise Broken(502, f"the hub broke off after {count} of {promised} bytes")

    # The three requests.

    def repository(self, ask):
        name = urllib.parse.quote(ask["name"], safe="/")
        revision = urllib.parse.quote(ask["revision"], safe="")
        url = f"{self.upstream}/api/{ask['kind']}/{name}/revision/{revision}?blobs=true"

        def listing():
            response, _ = self.open(url, ask["authorization"])
            with self.answered(response):
                text = b""
                for piece in self.pieces(response):
                    text += piece
                    if len(text) > LISTING_BYTES:
                        raise Failed(502, "the hub's listing is too long")
                return text

        try:
            info = json.loads(self.repeated(listing))
            kept = {}
            for key in INFO:
                # A member that cannot be kept is of no importance; without the listing there is no repository.
                with contextlib.suppress(ValueError, RecursionError):
                    kept[key] = sane(info.get(key))
            files = [self.listed(one) for one in info["siblings"]]
            gated = info.get("gated")
            return {"name": sane(info["id"]), "commit": sane(info["sha"]), "gated": gated if gated in ("auto", "manual") else "",
                    "info": kept, "files": [sane(one) for one in files if one]}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Failed(502, f"the hub's listing cannot be used ({type(error).__name__})") from None

    @staticmethod
    def listed(sibling):
        file = {"path": sibling["rfilename"], "size": sibling["size"], "oid": sibling["blobId"], "listed": True}
        if sibling.get("lfs"):
            file.update(lfs=True, sha256=sibling["lfs"]["sha256"], size=sibling["lfs"]["size"])
        return file

    def file(self, ask):
        path = urllib.parse.quote(ask["path"], safe="/")
        kind = "" if ask["kind"] == "models" else ask["kind"] + "/"
        url = f"{self.upstream}/{kind}{urllib.parse.quote(ask['name'], safe='/')}/resolve/{ask['revision']}/{path}"
        name = ask["sha256"] or "git-" + ask["oid"]
        with self.locked(name) as (partial, file):
            if ask["sha256"] and self.is_stored(ask["sha256"], ask["size"]):
                os.unlink(partial)
                return {"sha256": ask["sha256"], "size": ask["size"], "fetched": 0}
            fetched = [0]
            taken = ask["size"]
            self.budget.take(taken)
            try:
                self.repeated(lambda: self.download(url, ask, file, fetched))
                sha256, oid = self.digests(file, ask["size"])
                if sha256 != (ask["sha256"] or sha256) or (not ask["sha256"] and oid != ask["oid"]):
                    file.truncate(0)
                    raise Failed(502, "the hub sent other content than its listing says: the digest differs")
                taken = 0
            finally:
                self.budget.give_back(taken)
            self.store_as(file, partial, sha256)
        return {"sha256": sha256, "size": ask["size"], "fetched": fetched[0]}

    def download(self, url, ask, file, fetched):
        """Goes on where an earlier try or run stopped."""
        size = ask["size"]
        begin = file.seek(0, os.SEEK_END)
        if begin > size:
            begin = 0
        if begin == size and size:
            return
        headers = {"Range": f"bytes={begin}-"} if begin else {}
        response, _ = self.open(url, ask["authorization"], headers)
        if begin and response.code == 416:
            response.close()
            file.truncate(0)
            raise Broken(502, "the hub does not resume")
        with self.answered(response):
            is_resumed = response.code == 206 and \
                (response.headers.get("Content-Range") or "").startswith(f"bytes {begin}-")
            if not is_resumed:
                if response.code == 206:
                    file.truncate(0)
                    raise Broken(502, "the hub sent another range than it was asked for")
                begin = 0
            file.truncate(begin)
            file.seek(begin)
            for piece in self.pieces(response):
                if file.tell() + len(piece) > size:
                    file.truncate(0)
                    raise Failed(502, f"the hub sent more than the {size} bytes that its listing says")
                file.write(piece)
                fetched[0] += len(piece)
        if file.tell() != size:
            raise Broken(502, f"the hub sent {file.tell()} of {size} bytes")

    def address(self, ask):
        url = ask["url"]
        if urllib.parse.urlsplit(url).username is not None:
            raise Failed(403, "an address with a user or password is not asked for")
        if url.startswith(HUB + "/"):
            url = self.upstream + url[len(HUB):]
        with self.lock:
            name = f"url-{os.getpid()}-{next(self.numbers)}"
        with self.locked(name) as (partial, file):
            def fetch():
                file.seek(0)
                file.truncate(0)
                response, _ = self.open(url, ask["authorization"])
                if response.code in (401, 403, 404, 410):
                    with response:
                        return response.code, ""
                size = 0
                with self.answered(response):
                    try:
                        for piece in self.pieces(response):
                            self.budget.take(len(piece))
                            size += len(piece)
                            file.write(piece)
                    except (Broken, Failed):
                        self.budget.give_back(size)
                        raise
                    return 200, clean(response.headers.get("Content-Type") or "application/octet-stream", 200)

            try:
                status, kind = self.repeated(fetch)
                if status != 200:
                    return {"http": status, "type": "", "size": 0, "sha256": "", "fetched": 0}
                size = file.tell()
                sha256, _ = self.digests(file, size)
                self.store_as(file, partial, sha256)
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(partial)
        return {"http": 200, "type": kind, "size": size, "sha256": sha256, "fetched": size}

    # The store.

    @contextlib.contextmanager
    def locked(self, name):
        """A partial file, which one process at a time writes."""
        partial = os.path.join(self.store, "partial", name)
        while True:
            descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            file = open(descriptor, "r+b")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Whoever had it may have moved it away.
            with contextlib.suppress(OSError):
                if os.stat(partial).st_ino == os.fstat(descriptor).st_ino:
                    break
            file.close()
        with file:
            yield partial, file

    def is_stored(self, sha256, size):
        with contextlib.suppress(OSError):
            return os.lstat(os.path.join(self.store, "blobs", sha256)).st_size == size
        return False

    @staticmethod
    def digests(file, size):
        sha256, oid = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size)
        file.seek(0)
        while piece := file.read(PIECE):
            sha256.update(piece)
            oid.update(piece)
        return sha256.hexdigest(), oid.hexdigest()

    def store_as(self, file, partial, sha256):
        file.flush()
        os.fsync(file.fileno())
        os.rename(partial, os.path.join(self.store, "blobs", sha256))


def answer(upstream, ask):
    try:
        return {"status": 200, **getattr(upstream, {"repository": "repository", "file": "file", "address": "address"}[ask["do"]])(ask)}
    except Failed as failed:
        return {"status": failed.status, "why": failed.why, "code": failed.code}
    except OSError as error:
        return {"status": 500, "why": f"the store cannot be written: {error.strerror}", "code": ""}
    except Exception as error:  # never without an answer: a test waits for it
        return {"status": 500, "why": f"the download failed: {type(error).__name__}", "code": ""}


def without(token, value):
    """A hub may send back what it was sent, and all of this is kept."""
    if isinstance(value, str):
        return value.replace(token, "<set>")
    if isinstance(value, list):
        return [without(token, one) for one in value]
    if isinstance(value, dict):
        return {without(token, key): without(token, one) for key, one in value.items()}
    return value


def answer_line(upstream, ask):
    answered = answer(upstream, ask)
    token = ask.get("authorization", "").split(" ")[-1]
    if len(token) >= TOKEN_CHARS:
        answered.update((key, without(token, answered[key])) for key in ("why", "code", "type", "info") if key in answered)
    try:
        return json.dumps({"id": ask["id"], **answered}, allow_nan=False) + "\n"
    except (ValueError, TypeError, RecursionError):
        return json.dumps({"id": ask["id"], "status": 502, "why": "the hub's answer cannot be used", "code": ""}) + "\n"


def main():
    store, url, most = sys.argv[1:]
    upstream = Upstream(store, url, int(most))
    writing = threading.Lock()

    def work(ask):
        line = answer_line(upstream, ask)
        with writing:
            sys.stdout.write(line)
            sys.stdout.flush()

    workers = ThreadPoolExecutor(AT_ONCE)
    for line in sys.stdin:
        workers.submit(work, json.loads(line))
    os._exit(0)  # what is left is not asked for any more; a partial file is resumed


if __name__ == "__main__":
    main()
