"""HTTP to services: what is sent, what errors mean, waiting for one that is gone; with a real server on loopback."""

import base64
import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.store.service import Service, ServiceLost, ServiceRefused
from gossamer.testing import FakeClock

Reply = Callable[[BaseHTTPRequestHandler], tuple[int, dict[str, str], bytes]]


@contextmanager
def serving(reply: Reply, port: int = 0) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = reply(self)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def service(port: int, login: str = "", path: str = "/ds/") -> Service:
    return Service("views.facts", f"http://{login}127.0.0.1:{port}{path}", FakeClock(), silent)


def test_a_request_goes_below_the_address_with_its_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTS_PASSWORD", "p@ss/word")
    seen: list[tuple[str, str | None, bytes]] = []

    def reply(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        seen.append((request.path, request.headers["Authorization"], request.body))  # type: ignore[attr-defined]
        return 200, {"Content-Encoding": "gzip", "Content-Type": "text/plain; charset=utf-8"}, gzip.compress(b"yes")

    with serving(reply) as port:
        facts = service(port, "spider:${FACTS_PASSWORD}@")
        answer = facts.ask("POST", "/update?a=b", "größer")
    assert answer == (200, "text/plain", b"yes")
    assert seen == [("/ds/update?a=b", "Basic " + base64.b64encode(b"spider:p@ss/word").decode(), "größer".encode())]
    assert "p@ss" not in facts.name and "spider" not in facts.name


def test_a_refusal_is_told_from_a_service_that_is_busy_or_gone() -> None:
    with serving(lambda request: (int(request.path[4:]), {}, b"no such  graph\n")) as port:
        facts = service(port)
        with pytest.raises(ServiceRefused, match=r"refuses \(status 400\): no such graph") as refused:
            facts.ask("GET", "/400")
        assert (refused.value.status, refused.value.body) == (400, b"no such  graph\n")
        for status in (429, 502, 503, 504):
            with pytest.raises(ServiceLost, match=f"status {status}"):
                facts.ask("GET", f"/{status}")
        assert facts.ask("GET", "/200").status == 200 and facts.trouble == ""
        with pytest.raises(ServiceRefused):
            facts.ask("GET", "/301")
        facts.close()
    with pytest.raises(ServiceLost, match="connection refused"):
        facts.ask("GET", "/200")
    assert "no answer since" in facts.trouble and "(connection refused); trying again" in facts.trouble


def test_an_answer_that_is_too_long_is_not_read_to_its_end() -> None:
    with (
        serving(lambda _: (200, {}, b"x" * 3_000_000)) as port,
        pytest.raises(ServiceRefused, match="than 1,000 bytes"),
    ):
        service(port).ask("GET", most_bytes=1000)


def test_a_connection_that_breaks_off_or_says_nothing_is_a_lost_service() -> None:
    with serving(lambda _: (200, {"Content-Length": "100"}, b"short")) as port, pytest.raises(ServiceLost):
        service(port).ask("GET", timeout_s=0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(ServiceLost, match="no answer in time"):
        service(listening.getsockname()[1]).ask("GET", timeout_s=0.2)


def test_work_waits_for_a_service_that_is_gone_and_then_succeeds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    told: list[str] = []
    clock = FakeClock()
    facts = Service("views.facts", f"http://127.0.0.1:{port}/", clock, lambda event, /, **_: told.append(event))
    with pytest.raises(ServiceLost):
        facts.until_done(lambda: facts.ask("GET"), is_stopping=lambda: True)
    tries = 0

    def work() -> int:
        nonlocal tries
        tries += 1
        if tries < 4:
            return facts.ask("GET").status
        with serving(lambda _: (200, {}, b""), port):
            return facts.ask("GET").status

    assert facts.until_done(work) == 200 and tries == 4
    assert told == ["service.lost", "service.back"] and facts.trouble == ""


@pytest.mark.parametrize("address", ["", "ftp://host/", "https://", "host:9200"])
def test_an_address_that_is_none_is_refused_by_the_name_of_its_setting(address: str) -> None:
    with pytest.raises(ConfigError, match=r"views\.words is not the URL"):
        Service("views.words", address, FakeClock(), silent)
