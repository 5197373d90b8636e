"""The patches of HTTP clients, of pytest's fixtures and of the harness, each for one module.

An answer of requests and httpx says that it is of the address that the suite asked for. Where a
suite answers requests itself (responses, a transport of its own, vcrpy, respx), they stay as they
are: its answers are for the addresses that it knows.
"""

import copy
import functools
import os

from compat_hub import addresses, notes

_MODULE = "COMPAT_HUB_MODULE"  # for workers of pytest-xdist


def patches(endpoint):
    made = _Patches(endpoint)
    return {
        "http.client": made.http_client,
        "urllib.request": made.urllib,
        "requests.adapters": made.requests,
        "urllib3.connectionpool": made.urllib3_pools,
        "urllib3.poolmanager": made.urllib3,
        "httpcore": made.httpcore,
        "httpcore2": made.httpcore,
        "httpx._client": made.httpx,
        "httpx2._client": made.httpx,
        "aiohttp.client": made.aiohttp,
        "_pytest.fixtures": _pytest_fixtures,
        "unittest.suite": _unittest_suites,
        "_pytest.runner": _pytest_workers,
        "_compat_harness.recorder": _harness_recorder,
    }


def _replace(owner, name, make):
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


class _Ground:
    """Parts that a client stands on, as they were when they were imported. A suite that replaces one
    means to answer requests."""

    def __init__(self):
        self._parts = []

    def add(self, owner, *names):
        self._parts += [(owner, name, getattr(owner, name, None)) for name in names]

    def is_whole(self):
        return all(getattr(owner, name, None) is part for owner, name, part in self._parts)


class _Patches:
    def __init__(self, endpoint):
        self._endpoint = endpoint
        self._http, self._pools, self._httpx = _Ground(), _Ground(), _Ground()

    def _moved(self, url, method):
        try:
            return addresses.moved(url, method, self._endpoint)
        except Exception:  # the client's own error says it better
            return None

    def _answered(self, url, answer, status="status"):
        """`url`: as it was sent. The answer may be anything, if the suite has made it."""
        if not url.startswith(self._endpoint + "/"):
            return
        try:
            subject = addresses.subject(url[len(self._endpoint) :])
            if subject is None:
                return
            if answer.headers.get("X-Compat-Missing") is not None:
                notes.note(*subject, "missing")
            elif getattr(answer, status) < 400:
                is_made = answer.headers.get("X-Compat-Generated") is not None
                notes.note(*subject, "generated" if is_made else "recorded")
        except Exception:
            pass

    def http_client(self, module):
        self._http.add(module, "HTTPConnection", "HTTPSConnection")
        for connection in (module.HTTPConnection, module.HTTPSConnection):
            self._http.add(connection, "connect", "request", "getresponse")

    def urllib3_pools(self, module):
        for pool in (module.HTTPConnectionPool, module.HTTPSConnectionPool):
            self._pools.add(pool, "ConnectionCls", "urlopen")

    def httpcore(self, module):
        self._httpx.add(module.ConnectionPool, "handle_request")
        self._httpx.add(module.AsyncConnectionPool, "handle_async_request")

    def urllib(self, module):
        def moved(opener, url, method):
            handlers = opener.handle_open.get(url.partition(":")[0].lower(), ())
            is_usual = all(type(handler).__module__ == module.__name__ for handler in handlers)
            return self._moved(url, method) if is_usual and self._http.is_whole() else None

        def make(original):
            def open(opener, fullurl, *args, **kwargs):
                sent = fullurl
                if isinstance(fullurl, str):
                    has_data = (args[0] if args else kwargs.get("data")) is not None
                    url = sent = moved(opener, fullurl, "POST" if has_data else "GET") or fullurl
                else:
                    url = moved(opener, fullurl.full_url, fullurl.get_method())
                    if url is not None:
                        sent = copy.copy(fullurl)
                        sent.headers, sent.unredirected_hdrs = dict(sent.headers), {}
                        sent.full_url = url
                    else:
                        url = fullurl.full_url
                try:
                    answer = original(opener, sent, *args, **kwargs)
                except module.HTTPError as error:
                    self._answered(url, error)
                    raise
                self._answered(url, answer)
                return answer

            return open

        _replace(module.OpenerDirector, "open", make)

    def requests(self, module):
        def make(original):
            def send(adapter, request, *args, **kwargs):
                is_usual = self._http.is_whole() and self._pools.is_whole()
                url = self._moved(request.url, request.method or "") if is_usual else None
                if url is None:
                    answer = original(adapter, request, *args, **kwargs)
                    self._answered(request.url, answer, "status_code")
                    return answer
                sent = request.copy()
                sent.url = url
                sent.headers.pop("Host", None)
                if "proxies" in kwargs:
                    kwargs["proxies"] = {}
                answer = original(adapter, sent, *args, **kwargs)
                self._answered(url, answer, "status_code")
                answer.url, answer.request = request.url, request
                return answer

            return send

        _replace(module.HTTPAdapter, "send", make)

    def urllib3(self, module):
        def make(original):
            def urlopen(manager, method, url, *args, **kwargs):
                is_usual = manager.proxy is None and self._http.is_whole() and self._pools.is_whole()
                sent = (self._moved(url, method) if is_usual else None) or url
                answer = original(manager, method, sent, *args, **kwargs)
                self._answered(sent, answer)
                return answer

            return urlopen

        _replace(module.PoolManager, "urlopen", make)

    def _move_httpx(self, client, request, usual):
        """The address that the suite asked for, if the request has another one now."""
        asked = request.url
        url = self._moved(str(asked), request.method)
        if url is None or type(client._transport_for_url(asked)) is not usual or not self._httpx.is_whole():
            return None
        request.url = type(asked)(url)
        request.headers["Host"] = self._endpoint.partition("://")[2]
        return asked

    @staticmethod
    def _move_back_httpx(request, asked):
        if asked is not None:
            request.url = asked
            request.headers["Host"] = asked.netloc.decode("ascii")

    def httpx(self, module):
        self._httpx.add(module.HTTPTransport, "handle_request")
        self._httpx.add(module.AsyncHTTPTransport, "handle_async_request")

        def make(original):
            def send(client, request, *args, **kwargs):
                asked = self._move_httpx(client, request, module.HTTPTransport)
                try:
                    answer = original(client, request, *args, **kwargs)
                    self._answered(str(request.url), answer, "status_code")
                    return answer
                finally:
                    self._move_back_httpx(request, asked)

            return send

        def make_async(original):
            async def send(client, request, *args, **kwargs):
                asked = self._move_httpx(client, request, module.AsyncHTTPTransport)
                try:
                    answer = await original(client, request, *args, **kwargs)
                    self._answered(str(request.url), answer, "status_code")
                    return answer
                finally:
                    self._move_back_httpx(request, asked)

            return send

        _replace(module.Client, "_send_single_request", make)
        _replace(module.AsyncClient, "_send_single_request", make_async)

    def aiohttp(self, module):
        """The first address before cookies and proxies are chosen for it; those of redirects, and those that
        a session completes, when their request is made."""

        def make(original):
            async def request(session, method, str_or_url, *args, **kwargs):
                url = self._moved(str(str_or_url), method) if not kwargs.get("proxy") else None
                sent = str_or_url
                if url is not None:
                    # Quoted already, if it was an object.
                    is_text = isinstance(str_or_url, str)
                    sent = url if is_text else type(str_or_url)(url, encoded=True)
                try:
                    answer = await original(session, method, sent, *args, **kwargs)
                except module.ClientResponseError as error:
                    self._answered(str(getattr(error.request_info, "real_url", "")), error)
                    raise
                for one in (*answer.history, answer):
                    self._answered(str(one.url), one)
                return answer

            return request

        def make_one(original):
            def start(request, method, url, *args, **kwargs):
                is_proxied = kwargs.get("proxy") is not None and not kwargs.get("trust_env")
                moved = self._moved(str(url), method) if not is_proxied else None
                if moved is not None:
                    url, kwargs["proxy"] = type(url)(moved, encoded=True), None
                return original(request, method, url, *args, **kwargs)

            return start

        _replace(module.ClientSession, "_request", make)
        _replace(module.ClientRequest, "__init__", make_one)


def _pytest_fixtures(module):
    """Tests that share a fixture share what its set-up used. `known` keeps each fixture's object,
    so that its id stays its own."""
    known = {}

    def make(original):
        def execute(fixture, request):
            __tracebackhide__ = True
            if fixture.scope == "function":
                return original(fixture, request)
            _, used = known.setdefault(id(fixture), (fixture, set()))
            with notes.Fixture(used):
                return original(fixture, request)

        return execute

    _replace(module.FixtureDef, "execute", make)


def _unittest_suites(module):
    """Tests of a class share what its set-up used; unittest asks for the set-up before each of them."""
    known = {}

    def make(original):
        def set_up(suite, test, result):
            with notes.SetUpOfClass(known.setdefault(type(test), set())):
                return original(suite, test, result)

        return set_up

    _replace(module.TestSuite, "_handleClassSetUp", make)


def _pytest_workers(module):
    """Tests that a worker of pytest-xdist runs have their ids from the harness, which is in another process."""

    def make(original):
        def protocol(item, *args, **kwargs):
            path, module_path = item.nodeid.partition("::"), os.environ.get(_MODULE)
            # The harness writes other letters otherwise in an id.
            is_plain = path[2].isprintable() and "0x" not in path[2]
            if "PYTEST_XDIST_WORKER" not in os.environ or not module_path or not path[1] or not is_plain:
                return original(item, *args, **kwargs)
            test = module_path + "::" + path[2]
            notes.begin(test)
            try:
                return original(item, *args, **kwargs)
            finally:
                notes.end(test)

        return protocol

    _replace(module, "runtestprotocol", make)


def _harness_recorder(module):
    def make_init(original):
        def init(recorder, *args, **kwargs):
            original(recorder, *args, **kwargs)
            try:
                os.environ[_MODULE] = recorder.module
            except ValueError:  # an encoding without these letters
                os.environ.pop(_MODULE, None)

        return init

    def make_start(original):
        def start(recorder, case):
            notes.begin(case.id)
            return original(recorder, case)

        return start

    def make_end(original):
        def end(recorder, case):
            if case.began is None:  # the set-up of its class failed
                notes.give_shared(case.id)
            try:
                return original(recorder, case)
            finally:
                notes.end(case.id)

        return end

    _replace(module.Recorder, "__init__", make_init)
    _replace(module.Recorder, "start", make_start)
    _replace(module.Recorder, "end", make_end)
