"""The patches of HTTP clients, of pytest's fixtures and of the harness, each for one module.

A client's answer says that it is of the address that the suite asked for. Clients that a suite has
replaced (responses, aioresponses, a transport of its own) are not asked for anything.
"""

import copy
import functools

from compat_hub import addresses, notes


def patches(endpoint):
    made = _Patches(endpoint)
    return {
        "urllib.request": made.urllib,
        "requests.adapters": made.requests,
        "urllib3.poolmanager": made.urllib3,
        "httpx._client": made.httpx,
        "aiohttp.client": made.aiohttp,
        "_pytest.fixtures": _pytest_fixtures,
        "_compat_harness.recorder": _harness_recorder,
    }


def _replace(owner, name, make):
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


class _Patches:
    def __init__(self, endpoint):
        self._endpoint = endpoint

    def _moved(self, url, method):
        return addresses.moved(url, method, self._endpoint)

    def _answered(self, url, status, headers):
        """`url`: as it was sent."""
        if not url.startswith(self._endpoint + "/") or not status or status >= 400:
            return
        subject = addresses.subject(url[len(self._endpoint) :])
        if subject is not None:
            notes.note(*subject, headers.get("X-Compat-Generated") is not None)

    def urllib(self, module):
        def make(original):
            def open(opener, fullurl, *args, **kwargs):
                sent = fullurl
                if isinstance(fullurl, str):
                    has_data = (args[0] if args else kwargs.get("data")) is not None
                    url = sent = self._moved(fullurl, "POST" if has_data else "GET") or fullurl
                else:
                    url = self._moved(fullurl.full_url, fullurl.get_method())
                    if url is not None:
                        sent = copy.copy(fullurl)
                        sent.headers, sent.unredirected_hdrs = dict(sent.headers), {}
                        sent.full_url = url
                    else:
                        url = fullurl.full_url
                answer = original(opener, sent, *args, **kwargs)
                self._answered(url, getattr(answer, "status", None), getattr(answer, "headers", {}))
                return answer

            return open

        _replace(module.OpenerDirector, "open", make)

    def requests(self, module):
        def make(original):
            def send(adapter, request, *args, **kwargs):
                url = self._moved(request.url, request.method or "")
                if url is None:
                    answer = original(adapter, request, *args, **kwargs)
                    self._answered(request.url, answer.status_code, answer.headers)
                    return answer
                sent = request.copy()
                sent.url = url
                sent.headers.pop("Host", None)
                if "proxies" in kwargs:
                    kwargs["proxies"] = {}
                answer = original(adapter, sent, *args, **kwargs)
                self._answered(url, answer.status_code, answer.headers)
                answer.url, answer.request = request.url, request
                return answer

            return send

        _replace(module.HTTPAdapter, "send", make)

    def urllib3(self, module):
        def make(original):
            def urlopen(manager, method, url, *args, **kwargs):
                sent = (self._moved(url, method) if manager.proxy is None else None) or url
                answer = original(manager, method, sent, *args, **kwargs)
                self._answered(sent, answer.status, answer.headers)
                return answer

            return urlopen

        _replace(module.PoolManager, "urlopen", make)

    def _move_httpx(self, module, client, request, usual):
        """The address that the suite asked for, if the request has another one now."""
        asked = request.url
        url = self._moved(str(asked), request.method)
        if url is None or type(client._transport_for_url(asked)) is not usual:
            return None
        request.url = type(asked)(url)
        request.headers["Host"] = self._endpoint.partition("://")[2]
        return asked

    def _end_httpx(self, request, asked, answer):
        self._answered(str(request.url), answer.status_code, answer.headers)

    @staticmethod
    def _move_back_httpx(request, asked):
        if asked is not None:
            request.url = asked
            request.headers["Host"] = asked.netloc.decode("ascii")

    def httpx(self, module):
        def make(original):
            def send(client, request, *args, **kwargs):
                asked = self._move_httpx(module, client, request, module.HTTPTransport)
                try:
                    answer = original(client, request, *args, **kwargs)
                    self._end_httpx(request, asked, answer)
                    return answer
                finally:
                    self._move_back_httpx(request, asked)

            return send

        def make_async(original):
            async def send(client, request, *args, **kwargs):
                asked = self._move_httpx(module, client, request, module.AsyncHTTPTransport)
                try:
                    answer = await original(client, request, *args, **kwargs)
                    self._end_httpx(request, asked, answer)
                    return answer
                finally:
                    self._move_back_httpx(request, asked)

            return send

        _replace(module.Client, "_send_single_request", make)
        _replace(module.AsyncClient, "_send_single_request", make_async)

    def aiohttp(self, module):
        def make(original):
            async def request(session, method, str_or_url, *args, **kwargs):
                url = self._moved(str(str_or_url), method) if not kwargs.get("proxy") else None
                sent = str_or_url
                if url is not None:
                    # Quoted already, if it was an object.
                    is_text = isinstance(str_or_url, str)
                    sent = url if is_text else type(str_or_url)(url, encoded=True)
                answer = await original(session, method, sent, *args, **kwargs)
                self._answered(str(sent), answer.status, answer.headers)
                return answer

            return request

        _replace(module.ClientSession, "_request", make)


def _pytest_fixtures(module):
    """Tests that share a fixture share what its set-up used. `known` keeps each fixture's object,
    so that its id stays its own."""
    known = {}

    def make(original):
        def execute(fixture, request):
            if fixture.scope == "function":
                return original(fixture, request)
            _, used = known.setdefault(id(fixture), (fixture, set()))
            with notes.Fixture(used):
                return original(fixture, request)

        return execute

    _replace(module.FixtureDef, "execute", make)


def _harness_recorder(module):
    def make_start(original):
        def start(recorder, case):
            notes.begin(case.id)
            return original(recorder, case)

        return start

    def make_end(original):
        def end(recorder, case):
            try:
                return original(recorder, case)
            finally:
                notes.end(case.id)

        return end

    _replace(module.Recorder, "start", make_start)
    _replace(module.Recorder, "end", make_end)
