"""The headers that the Gate adds, how it sends long answers, and which requests it accepts as the user's own."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import ASGIApp
from tests.web.gate import BEARER, COOKIE, KEYS, PORT, ask, gate_of, role_of_client, site_of

from gossamer.testing import FakeClock
from gossamer.web.access.connections import WebConnection, server_of
from gossamer.web.access.guard import LONG, Gate, RequestBody
from gossamer.web.access.login import cookie_name, is_from_another_site
from gossamer.web.access.tokens import SESSION_S, Access, AccessTokens, Role, Sessions, may_change
from gossamer.web.streams import MOST_LONG, PIECE

OURS = f"127.0.0.1:{PORT}"
SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-robots-tag": "noindex, nofollow",
    "cache-control": "no-cache",
}


def page(*headers: tuple[bytes, bytes], bodies: Sequence[bytes] = (b"a page",)) -> ASGIApp:
    """Sends these bodies, one message each."""

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        for number, body in enumerate(bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": number < len(bodies)})

    return inner


async def messages_of(gate: Gate, headers: Sequence[tuple[bytes, bytes]] = (), **scope: Any) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    request = {
        "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "scheme": "http",
        "headers": [(b"host", OURS.encode()), *headers], "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 5),
    }  # fmt: skip
    await gate({**request, **scope}, receive, send)
    return sent


def test_F_W4_every_answer_has_the_security_headers() -> None:
    for path, status in (("/", 200), ("/sparql", 403)):
        answer = asyncio.run(ask(gate_of(FakeClock()), path, "GET" if status == 200 else "PUT"))
        assert answer.status == status
        assert {name: answer.headers.get(name) for name in SAFE_HEADERS} == SAFE_HEADERS
        rules = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
        assert {rules.pop(name) for name in ("default-src", "base-uri", "frame-ancestors")} == {"'none'"}
        assert set(rules.values()) == {"'self'"} and {"script-src", "style-src", "form-action"} <= set(rules)
        assert "camera=()" in answer.headers["permissions-policy"]


def test_F_W1_only_an_archived_page_keeps_its_own_policy_a_sandbox() -> None:
    sealed = b"sandbox; default-src 'none'"
    archived = asyncio.run(ask(gate_of(FakeClock(), inner=page((b"content-security-policy", sealed))), "/"))
    assert archived.headers["content-security-policy"] == sealed.decode() and "x-frame-options" not in archived.headers
    assert archived.headers["x-content-type-options"] == "nosniff"
    other = asyncio.run(ask(gate_of(FakeClock(), inner=page((b"content-security-policy", b"default-src *"))), "/"))
    assert "default-src 'none'" in other.headers["content-security-policy"]
    assert other.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    ("method", "headers", "is_shared"),
    [
        ("GET", {}, True),
        ("HEAD", {}, True),
        ("POST", {}, False),
        ("GET", {"authorization": BEARER["user"]}, False),
        ("GET", {"cookie": "a=b"}, False),
    ],
)
def test_F_W18_only_anonymous_reads_are_shared_with_other_sites(
    method: str, headers: dict[str, str], is_shared: bool
) -> None:
    answer = asyncio.run(ask(gate_of(FakeClock(), is_public=True), "/sparql", method, **headers))
    assert answer.headers.get("access-control-allow-origin") == ("*" if is_shared else None)
    assert answer.headers["cross-origin-resource-policy"] == ("cross-origin" if is_shared else "same-origin")


def test_a_head_request_is_handled_as_a_get_without_a_body() -> None:
    seen: list[tuple[str, bool, str]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["method"], scope.get("is_head", False), scope["scheme"]))
        await role_of_client(scope, receive, send)

    for is_behind_tls in (False, True):
        for method in ("GET", "HEAD"):
            asyncio.run(ask(gate_of(FakeClock(), inner=inner, is_behind_tls=is_behind_tls), "/", method))
    assert seen == [("GET", False, "http"), ("GET", True, "http"), ("GET", False, "https"), ("GET", True, "https")]


def test_only_http_is_answered() -> None:
    assert asyncio.run(messages_of(gate_of(FakeClock()), type="websocket")) == []
    assert len(asyncio.run(messages_of(gate_of(FakeClock())))) == 2


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ([], "/", 200),
        ([(b"host", OURS.encode())], "/", 421),
        ([(b"host", b"evil.test")], "/", 421),
        ([], "http://127.0.0.1/", 421),
    ],
)
def test_F_W7_a_request_needs_exactly_one_host_header_with_our_name_and_a_path(
    headers: list[tuple[bytes, bytes]], path: str, status: int
) -> None:
    start, *_ = asyncio.run(messages_of(gate_of(FakeClock()), headers, path=path))
    assert start["status"] == status


@pytest.mark.parametrize("size", [0, LONG - 1, LONG, LONG + 1, 5 * PIECE - 1, 5 * PIECE, 5 * PIECE + 1])
def test_F_X10_a_long_answer_is_sent_in_pieces_without_a_change(size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    gate = gate_of(FakeClock(), inner=page(bodies=[body]))
    loads: list[tuple[int, int]] = []

    async def main() -> list[Any]:
        sent = []

        async def send(message: Any) -> None:
            loads.append(gate.load)
            sent.append(message)

        async def receive() -> Any:
            raise AssertionError("the request has no body")

        scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"",
                 "headers": [(b"host", OURS.encode())], "scheme": "http"}  # fmt: skip
        await gate(scope, receive, send)
        return sent

    start, *pieces = asyncio.run(main())
    assert start["type"] == "http.response.start"
    assert b"".join(piece["body"] for piece in pieces) == body
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    if size > LONG:
        assert [len(piece["body"]) for piece in pieces[:-1]] == [PIECE] * ((size - 1) // PIECE)
        assert 1 <= len(pieces[-1]["body"]) <= PIECE
    else:
        assert len(pieces) == 1
    assert set(loads) == {(0, 1 if size > LONG else 0)}, "an answer that is being sent is not being made any more"
    assert gate.load == (0, 0)


def test_a_streamed_answer_is_passed_on_part_by_part() -> None:
    parts = [bytes(LONG + 5), b"", b"end"]
    _, *sent = asyncio.run(messages_of(gate_of(FakeClock(), inner=page(bodies=parts))))
    assert [(one["body"], one["more_body"]) for one in sent] == [(parts[0], True), (b"", True), (b"end", False)]


def test_F_X10_when_too_many_long_answers_are_being_sent_the_next_one_gets_503_and_short_ones_are_sent() -> None:
    async def main() -> None:
        body = bytes(LONG + 1)

        async def inner(scope: Any, receive: Any, send: Any) -> None:
            await page(bodies=[body if scope["path"] == "/long" else b"short"])(scope, receive, send)

        gate, may_continue = gate_of(FakeClock(), inner=inner), asyncio.Event()

        async def slowly(message: Any) -> None:
            await may_continue.wait()

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        scope = {"type": "http", "method": "GET", "path": "/long", "raw_path": b"/long", "query_string": b"",
                 "headers": [(b"host", OURS.encode())], "scheme": "http"}  # fmt: skip
        readers = [asyncio.create_task(gate(scope, receive, slowly)) for _ in range(MOST_LONG)]
        while gate.load[1] < MOST_LONG:
            await asyncio.sleep(0)
        assert gate.load == (0, MOST_LONG)
        refused = await ask(gate, "/long")
        assert refused.status == 503 and "slow clients" in refused.text
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert (await ask(gate, "/short")).text == "short"
        may_continue.set()
        await asyncio.gather(*readers)
        assert gate.load == (0, 0)
        assert len((await ask(gate, "/long")).body) == LONG + 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("is_behind_tls", "origin", "site", "status"),
    [
        (False, None, None, 200),
        (False, f"http://{OURS}", None, 200),
        (False, f"https://{OURS}", None, 200),
        (False, f"http://{OURS.upper()}", None, 200),
        (True, f"https://{OURS}", None, 200),
        (True, f"http://{OURS}", None, 403),
        (False, "null", "same-origin", 200),
        (False, "null", None, 403),
        (False, "null", "none", 403),
        (False, "http://evil.test", "same-origin", 403),
        (False, None, "same-origin", 200),
        (False, None, "none", 200),
        (False, None, "same-site", 403),
        (False, None, "cross-site", 403),
        (False, f"http://{OURS}", "cross-site", 403),
        (False, "http://[", None, 403),
    ],
)
def test_F_W6_a_form_is_accepted_when_the_browser_says_it_comes_from_our_own_pages(
    is_behind_tls: bool, origin: str | None, site: str | None, status: int
) -> None:
    headers = {name: value for name, value in (("origin", origin), ("sec_fetch_site", site)) if value is not None}
    gate = gate_of(FakeClock(), is_behind_tls=is_behind_tls)
    assert asyncio.run(ask(gate, "/sparql", "POST", b"query=x", **headers)).status == status


@pytest.mark.parametrize(
    ("is_public", "site", "mode", "status"),
    [
        (False, "cross-site", "navigate", 200),
        (False, "cross-site", "no-cors", 403),
        (False, "cross-site", None, 403),
        (False, "same-site", "no-cors", 200),
        (False, "none", "no-cors", 200),
        (False, None, "no-cors", 200),
        (True, "cross-site", "no-cors", 200),
    ],
)
def test_F_W7_another_site_may_link_here_and_read_only_public_pages(
    is_public: bool, site: str | None, mode: str | None, status: int
) -> None:
    headers = {name: value for name, value in (("sec_fetch_site", site), ("sec_fetch_mode", mode)) if value is not None}
    assert asyncio.run(ask(gate_of(FakeClock(), is_public=is_public), "/", **headers)).status == status


@pytest.mark.parametrize(
    ("headers", "is_foreign"),
    [
        ({}, False),
        ({"origin": f"http://{OURS}"}, False),
        ({"referer": f"https://{OURS}/page"}, False),
        ({"referer": f"http://{OURS.upper()}/page"}, False),
        ({"origin": "null"}, True),
        ({"origin": f"ftp://{OURS}"}, True),
        ({"referer": "http://evil.test/"}, True),
        ({"referer": "http://["}, True),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
    ],
)
def test_F_X14_requests_caused_by_another_site_are_recognised(headers: dict[str, str], is_foreign: bool) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in {"host": OURS, **headers}.items()]
    assert is_from_another_site(Request({"type": "http", "headers": encoded})) is is_foreign


def test_a_request_without_a_required_token_is_answered_with_how_to_send_it() -> None:
    gate = gate_of(FakeClock(), is_open=False)
    program = asyncio.run(ask(gate, "/search.json"))
    assert (program.status, program.headers["www-authenticate"]) == (401, 'Bearer realm="gossamer"')
    assert "requires a token" in program.text
    for target, location in (("/a?b=c&d", "/door?next=%2Fa%3Fb%3Dc%26d"), ("/a", "/door?next=%2Fa")):
        browser = asyncio.run(ask(gate, target, accept="text/html,*/*"))
        assert (browser.status, browser.headers["location"]) == (303, location)
    assert asyncio.run(ask(gate, "/a", "HEAD", accept="text/html")).status == 303
    assert asyncio.run(ask(gate, "/sparql", "POST", b"x=y", accept="text/html")).status == 401


@pytest.mark.parametrize(
    ("method", "path", "role", "words"),
    [
        ("POST", "/sparql", "anonymous", ""),
        ("POST", "/door", "anonymous", ""),
        ("POST", "/door/leave", "anonymous", ""),
        ("PUT", "/sparql", "anonymous", "facts come only from crawled pages"),
        ("POST", "/sparql/update", "user", "facts come only from crawled pages"),
        ("DELETE", "/page", "user", "administrator's token"),
        ("POST", "/crawl/stop", "anonymous", "administrator's token"),
        ("POST", "/crawl/stop", "admin", ""),
        ("PUT", "/sparql", "admin", ""),
    ],
)
def test_F_W6_which_role_may_send_which_request(method: str, path: str, role: str, words: str) -> None:
    headers = {} if role == "anonymous" else {"authorization": BEARER[role]}
    answer = asyncio.run(ask(gate_of(FakeClock()), path, method, **headers))
    assert answer.status == (403 if words else 200)
    assert words in answer.text if words else answer.text == role


def test_only_the_bearer_scheme_is_accepted_and_spaces_around_the_token_are_ignored() -> None:
    gate = gate_of(FakeClock(), is_open=False)
    for header, status in (
        (f"Bearer   {KEYS.admin} ", 200),
        (f"BEARER {KEYS.reader}", 200),
        (f"Basic {KEYS.admin}", 401),
        (KEYS.admin, 401),
        (f"Bearer x {KEYS.admin}", 401),
    ):
        assert asyncio.run(ask(gate, "/", authorization=header)).status == status, header


def test_a_link_signs_in_only_with_a_parameter_named_token() -> None:
    gate = gate_of(FakeClock())
    for target in ("/?mytoken=x", "/?q=token%3Dx", "/?token"):
        assert asyncio.run(ask(gate, target)).text == "anonymous", target
    assert asyncio.run(ask(gate, "/?token=")).status == 401
    assert asyncio.run(ask(gate, f"/a%20b?token={KEYS.admin}&x=&y=%20")).headers["location"] == "/a%20b?x=&y=+"
    assert asyncio.run(ask(gate, f"/sparql?token={KEYS.admin}", "POST", b"query=x")).text == "anonymous"


def test_a_form_with_a_token_starts_a_session_and_redirects() -> None:
    gate = site_of(gate_of(FakeClock(), is_open=False))
    for body, status, location in (
        (f"token={KEYS.reader}&next=%2Fa%3Fb", 303, "/a?b"),
        (f"token=+{KEYS.admin}%0A", 303, "/"),
        (f"token={KEYS.admin}&next=%2F%2Fevil.test", 303, "/"),
        ("token=wrong&next=%2Fa", 401, None),
        ("next=%2Fa", 401, None),
    ):
        answer = asyncio.run(ask(gate, "/door", "POST", body.encode()))
        assert (answer.status, answer.headers.get("location")) == (status, location), body
    long = asyncio.run(ask(gate, "/door", "POST", b"token=" + b"x" * 9000))
    assert long.status == 413 and "A token is shorter than that" in long.text


def test_the_sign_in_page_shows_the_current_role_and_what_a_token_is_for() -> None:
    for is_open, words in ((True, "Reading needs no token"), (False, "These pages require a token")):
        gate = site_of(gate_of(FakeClock(), is_open=is_open))
        signed_out = asyncio.run(ask(gate, "/door?next=%2Fcrawl", accept="text/html")).text
        assert words in signed_out and 'value="/crawl"' in signed_out
        assert 'value="/"' in asyncio.run(ask(gate, "/door?next=http://evil.test", accept="text/html")).text
        assert 'value="/"' in asyncio.run(ask(gate, "/door", accept="text/html")).text
        for token, role in ((KEYS.admin, "administrator"), (KEYS.reader, "a reader")):
            cookie = f"{COOKIE}={asyncio.run(ask(gate, f'/?token={token}')).cookie}"
            signed_in = asyncio.run(ask(gate, "/door?next=%2Fcrawl", accept="text/html", cookie=cookie)).text
            assert f"Signed in as {role}" in signed_in and 'href="/crawl"' in signed_in


@pytest.mark.parametrize("is_behind_tls", [False, True])
def test_signing_out_deletes_the_cookie_that_was_set(is_behind_tls: bool) -> None:
    gate = site_of(gate_of(FakeClock(), is_behind_tls=is_behind_tls))
    cookie = asyncio.run(ask(gate, f"/?token={KEYS.admin}")).headers["set-cookie"]
    left = asyncio.run(ask(gate, "/door/leave", "POST", cookie=cookie.partition(";")[0]))
    assert (left.status, left.headers["location"]) == (303, "/door")
    deleted = left.headers["set-cookie"]
    assert deleted.partition("=")[0] == cookie.partition("=")[0] and "Max-Age=0" in deleted
    assert ("Secure" in deleted) is is_behind_tls and "HttpOnly" in deleted and "SameSite=strict" in deleted


def test_servers_on_one_host_use_different_cookies() -> None:
    def name(scope: dict[str, Any], is_behind_tls: bool = False) -> str:
        return cookie_name(Request({"type": "http", "headers": [], **scope}), Access(is_behind_tls=is_behind_tls))

    assert name({"server": ("127.0.0.1", 8000)}) == "gossamer-8000"
    assert name({"server": ("127.0.0.1", 8001)}, True) == "__Host-gossamer-8001"
    assert name({}) == name({"server": None}) == "gossamer-0"


def test_too_many_wrong_tokens_are_answered_with_retry_after() -> None:
    gate = gate_of(FakeClock())
    answers = [asyncio.run(ask(gate, "/", authorization="Bearer wrong")) for _ in range(11)]
    assert [answer.status for answer in answers] == [401] * 10 + [429]
    assert answers[-1].headers["retry-after"] == "60" and "Wait a minute" in answers[-1].text


def test_a_session_started_after_a_token_was_renewed_is_valid_for_exactly_its_time() -> None:
    clock, keys = FakeClock(), [KEYS]
    sessions = Sessions(lambda: keys[0], clock)
    sessions.begin(Role.USER)
    keys[0] = AccessTokens("another" * 10, KEYS.reader)
    first, second = sessions.begin(Role.ADMIN), sessions.begin(Role.USER)
    assert len(sessions) == 2, "sessions started with the old token have ended"
    assert [sessions.role_in(id) for id in (first, second, first)] == [Role.ADMIN, Role.USER, Role.ADMIN]
    clock.advance(SESSION_S - 0.5)
    assert sessions.role_in(first) is Role.ADMIN
    clock.advance(0.5)
    assert [sessions.role_in(id) for id in (second, first)] == [Role.ANONYMOUS] * 2 and len(sessions) == 0


def test_ending_a_session_keeps_the_others() -> None:
    sessions = Sessions(lambda: KEYS, FakeClock())
    first, second = sessions.begin(Role.ADMIN), sessions.begin(Role.USER)
    sessions.end("not one of ours")
    sessions.end(first)
    assert (sessions.role_in(first), sessions.role_in(second)) == (Role.ANONYMOUS, Role.USER)


def test_only_the_administrator_may_change_anything() -> None:
    seen: list[bool] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(may_change())
        await role_of_client(scope, receive, send)

    gate = gate_of(FakeClock(), inner=inner)
    for headers in ({}, {"authorization": BEARER["user"]}, {"authorization": BEARER["admin"]}):
        asyncio.run(ask(gate, "/", **headers))
    assert seen == [False, False, True]


def test_F_W16_a_body_that_is_late_counts_as_a_disconnect_and_a_complete_body_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def body(length: str, *messages: dict[str, Any]) -> RequestBody:
        left = list(messages)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0 if left else 3600)
            return left.pop(0)

        return RequestBody(Request({"type": "http", "headers": [(b"content-length", length.encode())]}), receive)

    async def main() -> None:
        monkeypatch.setattr("gossamer.web.access.guard.BODY_S", 0.01)
        late = body("5")
        assert (await asyncio.wait_for(late.receive(), 60))["type"] == "http.disconnect" and late.is_unread
        monkeypatch.setattr("gossamer.web.access.guard.BODY_S", 3600)
        parts = {"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.request", "body": b"b"}
        whole = body("2", *parts)
        assert await whole.receive() == parts[0] and whole.is_unread
        assert await whole.receive() == parts[1] and not whole.is_unread
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(whole.receive(), 0.2)
        assert not body("0").is_unread

    asyncio.run(main())


def test_the_server_offers_only_http_trusts_no_proxy_and_logs_no_request() -> None:
    config = server_of(page(), "127.0.0.1", 0).config
    assert (config.ws, config.lifespan, config.proxy_headers, config.server_header) == ("none", "off", False, False)
    assert (config.access_log, config.log_level, config.http) == (False, "error", WebConnection)
    assert (config.host, config.port) == ("127.0.0.1", 0)
