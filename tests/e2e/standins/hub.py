"""A hub for tests: repositories of bytes made here, over real sockets, and as much trouble as a test asks for."""
import hashlib
import http.server
import json
import threading
import time
import urllib.parse

COMMIT = "c0ffee" + "0" * 34


def git_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Repository:
    def __init__(self, name, files, kind="models", commit=COMMIT, gated=False, lfs=(), info=None):
        self.name, self.files, self.kind, self.commit, self.gated, self.info = name, files, kind, commit, gated, info or {}
        self.lfs = {path for path in files if path in lfs or path.endswith((".bin", ".safetensors"))}

    def listing(self):
        siblings = []
        for path, content in self.files.items():
            one = {"rfilename": path, "size": len(content), "blobId": git_id(content)}
            if path in self.lfs:
                one["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            siblings.append(one)
        return {"id": self.name, "modelId": self.name, "sha": self.commit, "private": False, "gated": self.gated, "tags": ["made"],
                "siblings": siblings, **self.info}


class StandIn:
    """`trouble`: {path of a request: [what to do for the 1st, the 2nd, ... request]}, see Handler.make_trouble."""

    def __init__(self, *repositories, addresses=()):
        self.repositories, self.addresses = list(repositories), dict(addresses)
        self.requests, self.trouble, self.lock = [], {}, threading.Lock()
        self.token = "hf_" + "s3cr3tS3cr3tS3cr3t"
        self.servers = [self.serve("hub"), self.serve("cdn")]
        self.url, self.cdn = (f"http://127.0.0.1:{server.server_port}" for server in self.servers)

    def serve(self, role):
        handler = type("H", (Handler,), {"hub": self, "role": role})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def asked(self, word):
        return [one for one in self.requests if word in one["path"]]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, content=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(content), **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def error(self, status, code, message="not here"):
        self.answer(status, json.dumps({"error": message}).encode(), X_Error_Code=code, X_Error_Message=message)

    def do_GET(self):
        path = urllib.parse.unquote(self.path.split("?")[0])
        with self.hub.lock:
            self.hub.requests.append({"path": self.path, "role": self.role, "range": self.headers.get("Range"),
                                      "authorization": self.headers.get("Authorization")})
            trouble = self.hub.trouble.get(path, [])
            trouble = trouble.pop(0) if trouble else None
        if trouble and self.make_trouble(*trouble):
            return
        self.trouble = trouble or ("",)
        if self.role == "cdn":
            content = {hashlib.sha256(c).hexdigest(): c for r in self.hub.repositories for c in r.files.values()}[path.split("/")[-1]]
            return self.content(content)
        if path in self.hub.addresses:
            return self.answer(200, self.hub.addresses[path], Content_Type="image/jpeg")
        self.repository(path)

    do_HEAD = do_GET

    def make_trouble(self, what, value=None):
        """True: that was the answer."""
        if what == "status":
            self.answer(value, b"{}", **({"Retry_After": 0} if value == 429 else {}), X_Error_Message="try later")
            return True
        if what == "bytes":
            self.answer(200, value)
            return True
        if what == "says":
            self.error(403, "GatedRepo", value)
            return True
        if what == "slow":
            time.sleep(value)
        return False

    def repository(self, path):
        for one in self.hub.repositories:
            if path.startswith(f"/api/{one.kind}/{one.name}/revision/"):
                revision = path.rsplit("/revision/")[1]
                if revision not in ("main", one.commit):
                    return self.error(404, "RevisionNotFound")
                return self.answer(200, json.dumps(one.listing()).encode())
            prefix = ("" if one.kind == "models" else f"/{one.kind}") + f"/{one.name}/resolve/"
            if path.startswith(prefix):
                revision, _, file = path[len(prefix):].partition("/")
                if file not in one.files or revision not in ("main", one.commit):
                    return self.error(404, "EntryNotFound")
                if one.gated and self.headers.get("Authorization") != "Bearer " + self.hub.token:
                    return self.error(401, "GatedRepo", f"access to {one.name} is restricted")
                if file in one.lfs:
                    sha256 = hashlib.sha256(one.files[file]).hexdigest()
                    return self.answer(302, Location=f"{self.hub.cdn}/blobs/{sha256}?Signature=s1gnature&Expires=1",
                                       X_Xet_Hash="abc", X_Linked_Etag=f'"{sha256}"')
                return self.content(one.files[file])
            if path.startswith(("/old-name/", "/api/models/old-name/")):
                return self.answer(307, Location=self.path.replace("old-name", "org/tiny"))
        self.error(401, "RepoNotFound", "Invalid username or password.")

    def content(self, content):
        """Whole or from a byte on; shorter, other or slower than promised where there is trouble."""
        status, headers = 200, {}
        begin = self.headers.get("Range")
        if begin:
            first = int(begin[len("bytes="):].rstrip("-"))
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            content, status = content[first:], 206
        what, *value = self.trouble
        if what == "other":
            content = bytes(len(content))
        if what == "longer":
            content += b"more"
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if what == "breaks":
            self.wfile.write(content[:value[0]])
            self.wfile.flush()
            self.connection.shutdown(2)
        elif self.command != "HEAD":
            self.wfile.write(content)
        if what == "breaks":
            self.close_connection = True
