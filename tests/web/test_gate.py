"""The limits of the Gate and of the sign-in page, without a socket."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request
from tests.web.gate import COOKIE, KEYS, ask, gate_of

from gossamer.testing import FakeClock
from gossamer.web.access.guard import LONGEST_BODY, LONGEST_TARGET, MOST_AT_ONCE, RequestBody, answers_to
from gossamer.web.access.login import LONGEST_FORM, client_of
from gossamer.web.access.tokens import MOST_WRONG, SESSION_S, WINDOW_S, Access, Tries
from gossamer.web.responses import WebError
from gossamer.web.routes import form_of

NAMES = ("127.0.0.1", "[::1]", "localhost")


@pytest.mark.parametrize(
    ("header", "is_ours"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8642", True),
        ("LOCALHOST:80", True),
        ("[::1]", True),
        ("[::1]:8642", True),
        ("::1", False),
        ("[::1", False),
        ("localhost.evil.test", False),
        ("evil.test:80", False),
        ("", False),
        (None, False),
    ],
)
def test_F_W7_a_host_header_is_ours_with_any_port(header: str | None, is_ours: bool) -> None:
    assert answers_to(header, NAMES) is is_ours


@pytest.mark.parametrize(
    ("length", "status"),
    [
        (str(LONGEST_BODY), 200),
        (str(LONGEST_BODY + 1), 413),
        ("0" * 9, 200),
        ("0" * 10, 413),
        ("-1", 413),
        ("1e3", 413),
        ("", 413),
    ],
)
def test_a_body_may_be_as_long_as_the_limit_and_its_length_must_be_a_number(length: str, status: int) -> None:
    answer = asyncio.run(ask(gate_of(FakeClock()), "/sparql", "POST", content_length=length))
    assert answer.status == status


def test_a_body_with_two_kinds_of_length_is_refused() -> None:
    both = {"content_length": "1", "transfer_encoding": "chunked"}
    assert asyncio.run(ask(gate_of(FakeClock()), "/sparql", "POST", **both)).status == 400
    assert asyncio.run(ask(gate_of(FakeClock()), "/sparql", "POST", transfer_encoding="chunked")).status == 200


def test_path_and_query_together_may_be_as_long_as_the_limit() -> None:
    gate = gate_of(FakeClock())
    for extra, status in ((0, 200), (1, 414)):
        half = LONGEST_TARGET // 2
        target = "/" + "a" * (half - 1) + "?" + "b" * (LONGEST_TARGET - half + extra)
        assert asyncio.run(ask(gate, target)).status == status


def test_F_W16_with_too_many_requests_at_once_the_next_is_refused_until_one_is_done() -> None:
    async def main() -> None:
        done = asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await done.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        gate = gate_of(FakeClock(), inner=slow)
        waiting = [asyncio.create_task(ask(gate, "/")) for _ in range(MOST_AT_ONCE)]
        await asyncio.sleep(0)
        assert (await ask(gate, "/")).status == 503
        done.set()
        assert {answer.status for answer in await asyncio.gather(*waiting)} == {200}
        assert (await ask(gate, "/")).status == 200

    asyncio.run(main())


def test_a_request_that_fails_is_no_longer_counted() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError

    async def main() -> None:
        gate = gate_of(FakeClock(), inner=fails)
        for _ in range(MOST_AT_ONCE + 1):
            with pytest.raises(RuntimeError):
                await ask(gate, "/")

    asyncio.run(main())


@pytest.mark.parametrize(("is_behind_tls", "name"), [(False, COOKIE), (True, f"__Host-{COOKIE}")])
def test_a_session_cookie_is_for_our_own_pages_only_and_for_https_behind_tls(is_behind_tls: bool, name: str) -> None:
    answer = asyncio.run(ask(gate_of(FakeClock(), is_behind_tls=is_behind_tls), f"/a?token={KEYS.reader}&b=1"))
    value, *fields = answer.headers["set-cookie"].split("; ")
    assert value.startswith(f"{name}=")
    expected = {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={int(SESSION_S)}"}
    assert set(fields) == expected | ({"Secure"} if is_behind_tls else set())
    assert answer.headers["location"] == "/a?b=1" and answer.status == 303


def request_from(peer: str | None, *forwarded: str) -> Request:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    return Request({"type": "http", "client": (peer, 1) if peer is not None else None, "headers": headers})


@pytest.mark.parametrize(
    ("is_behind_tls", "peer", "forwarded", "client"),
    [
        (True, "127.0.0.1", ("20.0.0.1",), "20.0.0.1"),
        (True, "127.0.0.1", ("6.6.6.6, 20.0.0.1",), "20.0.0.1"),
        (True, "127.0.0.1", ("6.6.6.6", "20.0.0.1 "), "20.0.0.1"),
        (True, "127.0.0.1", (), "127.0.0.1"),
        (True, "127.0.0.1", ("no address",), "127.0.0.1"),
        (True, "20.0.0.2", ("127.0.0.1",), "20.0.0.2"),
        (False, "127.0.0.1", ("20.0.0.1",), "127.0.0.1"),
        (False, None, (), ""),
    ],
)
def test_F_W8_only_a_proxy_on_this_machine_is_trusted_about_the_client(
    is_behind_tls: bool, peer: str | None, forwarded: tuple[str, ...], client: str
) -> None:
    assert client_of(request_from(peer, *forwarded), Access(KEYS, is_behind_tls=is_behind_tls)) == client


def request_of(*pieces: bytes) -> Request:
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


def test_a_form_is_read_up_to_its_limit() -> None:
    whole = b"token=" + b"x" * (LONGEST_FORM - 6)
    assert asyncio.run(form_of(request_of(whole[:5], whole[5:]), LONGEST_FORM)) == {"token": "x" * (LONGEST_FORM - 6)}
    with pytest.raises(WebError, match="larger"):
        asyncio.run(form_of(request_of(whole, b"x"), LONGEST_FORM))
    assert asyncio.run(form_of(request_of(b"next=&token=%ff"), LONGEST_FORM)) == {"next": "", "token": "\ufffd"}


def test_a_body_without_a_length_is_cut_off_at_the_limit() -> None:
    async def received(*sizes: int) -> list[str]:
        left = list(sizes)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"x" * left.pop(0), "more_body": bool(left)}

        headers = [(b"transfer-encoding", b"chunked")]
        body = RequestBody(Request({"type": "http", "method": "POST", "headers": headers}), receive)
        return [(await body.receive())["type"] for _ in sizes]

    assert asyncio.run(received(LONGEST_BODY - 1, 1)) == ["http.request"] * 2
    assert asyncio.run(received(LONGEST_BODY, 1)) == ["http.request", "http.disconnect"]


def test_F_W8_each_window_of_time_allows_the_same_number_of_wrong_tokens() -> None:
    clock = FakeClock()
    tries = Tries(clock)
    for _ in range(3):
        for _ in range(MOST_WRONG):
            assert not tries.are_too_many("20.0.0.1")
            tries.add("20.0.0.1")
        clock.advance(WINDOW_S - 1)
        assert tries.are_too_many("20.0.0.1") and not tries.are_too_many("20.0.0.2")
        clock.advance(1)


def test_of_two_tokens_in_a_url_the_first_counts() -> None:
    gate = gate_of(FakeClock(), is_open=False)
    assert asyncio.run(ask(gate, f"/?token={KEYS.reader}&token=wrong")).status == 303
    assert asyncio.run(ask(gate, f"/?token=wrong&token={KEYS.reader}")).status == 401


@pytest.mark.parametrize(
    ("method", "headers", "closes"),
    [
        ("GET", {}, False),
        ("POST", {"content_length": "0"}, False),
        ("POST", {"content_length": "5"}, True),
        ("POST", {"transfer_encoding": "chunked"}, True),
    ],
)
def test_a_connection_with_an_unread_body_is_closed(method: str, headers: dict[str, str], closes: bool) -> None:
    answer = asyncio.run(ask(gate_of(FakeClock()), "/sparql", method, **headers))
    assert (answer.headers.get("connection") == "close") is closes
