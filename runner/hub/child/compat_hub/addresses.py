"""Which addresses lead to the run's hub, and what an answer of it is about.

The hub's own host keeps its paths; other hosts stand in the path: /_url/https/HOST/PATH. Addresses
of this machine and of private networks stay as they are, because tests start servers.
"""

# Other hosts of the hub's (cdn-media.huggingface.co, ...) hold files by their address alone.
_HUB_HOSTS = frozenset(("huggingface.co", "www.huggingface.co", "hf.co", "www.hf.co", "hub-ci.huggingface.co"))
# Names that no public server has (RFC 2606, RFC 6762, and usual ones of private networks).
_PRIVATE = frozenset(("localhost", "local", "internal", "intranet", "lan", "home", "test", "invalid", "example"))
# Its host for tables of datasets: `datasets` makes the name of that of HF_ENDPOINT, which is ours.
_TABLES = "datasets-server."
_USUAL_PORTS = {"http": "80", "https": "443"}
_READING = frozenset(("GET", "HEAD"))

_KINDS = ("models", "datasets", "spaces")
_ACTIONS = frozenset(
    "revision tree paths-info refs resolve raw blob commits treesize xet-read-token parquet croissant".split()
)


def _split(url):
    scheme, found, rest = url.partition("://")
    if not found:
        return "", "", ""
    end = len(rest)
    for mark in "/?#":
        at = rest.find(mark)
        if 0 <= at < end:
            end = at
    return scheme.lower(), rest[:end], rest[end:].partition("#")[0]


def _is_public(host):
    name = host.rstrip(".")
    return "." in name and not name.replace(".", "").isdigit() and name.rpartition(".")[2] not in _PRIVATE


def _is_question(path):
    """Whether a POST there asks for information: which of many paths a repository has."""
    parts = path.partition("?")[0].strip("/").split("/")
    return parts[0] == "api" and len(parts) > 1 and parts[1] in _KINDS and "paths-info" in parts[3:-1][:2]


def moved(url, method, endpoint):
    """The hub's address for `url`; None: it stays. Only reading can be answered from a store."""
    scheme, authority, path = _split(url)
    is_query = method.upper() == "POST" and authority.lower() in _HUB_HOSTS and _is_question(path)
    if method.upper() not in _READING and not is_query:
        return None
    if scheme not in _USUAL_PORTS or "@" in authority or "[" in authority:
        return None
    if authority == _TABLES + endpoint.partition("://")[2]:
        scheme, authority = "https", _TABLES + "huggingface.co"
    host, _, port = authority.lower().partition(":")
    if port not in ("", _USUAL_PORTS[scheme]) or not _is_public(host):
        return None
    if not path.startswith("/"):
        path = "/" + path
    if host in _HUB_HOSTS:
        return endpoint + path
    return "%s/_url/%s/%s%s" % (endpoint, scheme, host, path)


def subject(path):
    """The thing that a path of the hub's is about: ("repository", "models/org/name"), ("address",
    "https://host/path") or None. Without the query, in which a signature may stand."""
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[0] == "_url":
        return ("address", "%s://%s" % (parts[1], "/".join(parts[2:]))) if len(parts) > 2 else None
    if parts[0] == "api":
        if len(parts) < 3 or parts[1] not in _KINDS:
            return None
        return "repository", _repository(parts[1], parts[2:])
    kind = "models"
    if parts[0] in _KINDS:
        kind, parts = parts[0], parts[1:]
    if not any(part in _ACTIONS for part in parts[1:3]):
        return None
    return "repository", _repository(kind, parts)


def _repository(kind, parts):
    """`gpt2` and `org/name` are names; what follows is an action."""
    alone = len(parts) < 2 or parts[1] in _ACTIONS
    return "/".join([kind] + parts[: 1 if alone else 2])
