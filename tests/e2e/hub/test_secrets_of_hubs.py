"""Tokens and signatures go where they must, and to no file, log or summary."""
import concurrent.futures
import hashlib
import json

from standins.hub import Repository

from .helpers import everything, until


def test_a_token_goes_to_the_hub_alone_and_to_no_file(start, upstream):
    hub = start("record", upstream=upstream.url)
    path = "/org/gated/resolve/main/w.bin"
    assert hub.get(path).code == (401, "GatedRepo")
    upstream.trouble["/org/gated/resolve/" + Repository("", {}).commit + "/w.bin"] = [("says", f"your token {upstream.token} may not")]
    refused = hub.get(path, Authorization="Bearer " + upstream.token)
    assert refused.code == (403, "GatedRepo") and upstream.token not in str(refused.headers) + refused.content.decode()
    assert hub.get(path, Authorization="Bearer " + upstream.token).content == b"secret weights"
    assert hub.get("/_url/http/" + upstream.cdn.split("//")[1] + "/blobs/" + hashlib.sha256(b"").hexdigest(),
                   Authorization="Bearer " + upstream.token).status == 200
    assert [one["authorization"] for one in upstream.requests if one["role"] == "cdn"] == [None] * 2
    summary = hub.stop()
    written = b"\n".join([*everything(hub.folder), json.dumps(summary).encode()])
    for secret in (upstream.token.encode(), b"s1gnature", b"Bearer", b"X-Xet", b"x-xet"):
        assert secret not in written
    replay = start("replay")
    assert replay.get(path).content == b"secret weights"


def test_a_client_with_a_token_does_not_get_the_answer_of_one_without(start, upstream):
    hub = start("record", upstream=upstream.url)
    path = "/org/gated/resolve/main/w.bin"
    assert hub.get("/api/models/org/gated").status == 200
    upstream.trouble["/org/gated/resolve/" + Repository("", {}).commit + "/w.bin"] = [("slow", 2)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        without = pool.submit(hub.get, path)
        until(lambda: upstream.asked("/org/gated/resolve/"))
        assert hub.get(path, Authorization="Bearer " + upstream.token).content == b"secret weights"
        assert without.result().code == (401, "GatedRepo")


def test_a_token_that_a_hub_sends_back_is_not_kept(start, upstream):
    upstream.repositories.append(Repository("org/echo", {"x": b"1"}, info={"tags": ["is " + upstream.token], "cardData": {upstream.token: 1}}))
    hub = start("record", upstream=upstream.url)
    assert hub.get("/org/echo/resolve/main/x", Authorization="Bearer " + upstream.token).status == 200
    hub.stop()
    assert hub.lock["repositories"][0]["info"] == {"tags": ["is <set>"], "cardData": {"<set>": 1}}


def test_secrets_in_an_address_reach_no_file_and_no_summary(start, upstream):
    """Whatever their parameters are called; what is wanted stays readable."""
    host = upstream.url.split("//")[1]
    hub = start("record", upstream=upstream.url)
    secret = "?w=3&X-Amz-Signature=s3cret1&sesame=s3cret2&s3cret3&token=s3cret4&file=https%3A%2F%2Fx%3Fs%3Ds3cret5"
    assert hub.get(f"/_url/http/{host}/pictures/a.jpg{secret}").content == b"\xff\xd8picture"
    assert hub.get(f"/_url/http/{host}/pictures/none.jpg{secret}").status == 401, "the stand-in's word for it"
    assert hub.get(f"/_url/http/user:s3cret6@{host}/pictures/b.jpg{secret}").status == 403
    summary = hub.stop()
    assert b"s3cret" not in b"\n".join([*everything(hub.folder), json.dumps(summary).encode()])
    kept = [one["url"].rpartition("/")[2] for one in hub.lock["addresses"]]
    assert len(kept) == 2 and all(name.partition("?")[2].startswith("w=3&sesame=sha256-") for name in kept)
    replay = start("replay")
    again = secret.replace("s3cret1", "another").replace("s3cret4", "another")
    assert replay.get(f"/_url/http/{host}/pictures/a.jpg{again}").content == b"\xff\xd8picture", "signed once more"
    assert replay.get(f"/_url/http/{host}/pictures/a.jpg{secret.replace('s3cret2', 'other')}").status == 404
