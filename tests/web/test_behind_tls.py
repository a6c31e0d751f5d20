"""The site behind a real TLS proxy: session cookies need HTTPS, and forwarded clients do not count as local."""

import asyncio
import http.client
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
import trustme
from tests.web.gate import KEYS, ask, gate_of
from tests.web.site import LONG_S, Answer, Site, serving

from gossamer.cli.serve import access_of, public_url, warnings
from gossamer.config.settings import WebSettings
from gossamer.store.directory import Directory
from gossamer.testing import FakeClock
from gossamer.web.access.tokens import MOST_WRONG

NAME = "box.example"
FORM = "application/x-www-form-urlencoded"
CONFIG = """
daemon off; pid {root}/nginx.pid; error_log {root}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {root}/certificate.pem; ssl_certificate_key {root}/key.pem;
    location / {{
      proxy_pass http://127.0.0.1:{behind};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Front:
    """The public server. Its name is never resolved: everything is on this machine."""

    port: int
    trust: ssl.SSLContext

    @property
    def origin(self) -> str:
        return f"https://{NAME}:{self.port}"

    def ask(self, target: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=LONG_S)
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=LONG_S)
        connection.sock = self.trust.wrap_socket(plain, server_hostname=NAME)
        try:
            sent = {"Host": f"{NAME}:{self.port}", "Accept": "text/html"}
            sent |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, target, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, target: str, fields: dict[str, str], **headers: str) -> Answer:
        return self.ask(target, "POST", urlencode(fields).encode(), Content_Type=FORM, **headers)


@contextmanager
def nginx_before(root: Path, site: Site) -> Iterator[Front]:
    authority = trustme.CA()
    own = authority.issue_cert(NAME)
    own.private_key_pem.write_to_path(root / "key.pem")
    own.cert_chain_pems[0].write_to_path(root / "certificate.pem")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (root / "nginx.conf").write_text(CONFIG.format(root=root, port=port, behind=site.port))
    started = subprocess.Popen(["nginx", "-p", str(root), "-c", str(root / "nginx.conf")], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + LONG_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert started.poll() is None and time.monotonic() < until, "nginx did not start"
                time.sleep(0.05)
        yield Front(port, trust)
    finally:
        started.terminate()
        started.wait(LONG_S)


@pytest.fixture
def front(tmp_path: Path) -> Iterator[tuple[Front, str]]:
    """The public server, and the administrator's token."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    directory = Directory(tmp_path / "c")
    with serving(directory, names=(NAME,), behind_tls=True) as site, nginx_before(tmp_path, site) as server:
        yield server, (directory.root / "token").read_text().strip()


def test_behind_tls_a_session_needs_https_and_allows_changes(front: tuple[Front, str]) -> None:
    site, token = front
    answer = site.ask("/")
    assert answer.status == 303 and answer.headers["location"].startswith("/door"), "forwarded clients need a token"
    assert site.ask("/search.json?q=x", Accept="*/*").status == 401
    answer = site.post("/door", {"token": token, "next": "/crawl"}, Origin=site.origin)
    assert answer.status == 303 and answer.headers["location"] == "/crawl"
    cookie, *rules = [part.strip() for part in answer.headers["set-cookie"].split(";")]
    assert cookie.startswith("__Host-gossamer-")
    assert {"Secure", "HttpOnly", "Path=/"} <= set(rules) and "SameSite=strict" in rules
    assert not any(rule.lower().startswith("domain") for rule in rules)
    assert site.ask("/crawl", Cookie=cookie).status == 200
    changed = site.post("/crawl/pause", {}, Cookie=cookie, Origin=site.origin, Accept="application/json")
    assert changed.status == 409 and changed.json["words"] == "No crawl is running."
    for foreign in (f"http://{NAME}:{site.port}", "https://evil.example", "null", "http://["):
        assert site.post("/crawl/pause", {}, Cookie=cookie, Origin=foreign).status == 403, foreign
    assert f"curl '{site.origin}/" in site.ask("/api", Cookie=cookie).page.text()
    left = site.post("/door/leave", {}, Cookie=cookie, Origin=site.origin).headers["set-cookie"]
    assert left.startswith("__Host-gossamer-") and "Secure" in left and "Max-Age=0" in left
    assert site.ask("/crawl", Cookie=cookie).status == 303, "the old cookie is invalid (FAULTS X18)"


def test_behind_tls_a_link_with_a_token_starts_a_session_too(front: tuple[Front, str]) -> None:
    site, token = front
    answer = site.ask(f"/crawl?token={token}")
    assert answer.status == 303 and answer.headers["location"] == "/crawl"
    assert answer.headers["set-cookie"].startswith("__Host-gossamer-") and "Secure" in answer.headers["set-cookie"]


def test_F_W8_guessing_clients_behind_a_proxy_do_not_lock_others_out() -> None:
    gate = gate_of(FakeClock(), is_open=False, is_behind_tls=True)

    async def status_of(client: str, forwarded: str, token: str) -> int:
        headers = {"authorization": f"Bearer {token}"} | ({"x_forwarded_for": forwarded} if forwarded else {})
        return (await ask(gate, "/", client=client, **headers)).status

    async def main() -> None:
        for number in range(MOST_WRONG):
            assert await status_of("127.0.0.1", f"127.0.0.1, 10.0.0.{number}, 203.0.113.7", "wrong") == 401
        assert await status_of("127.0.0.1", "203.0.113.7", "wrong") == 429
        assert await status_of("127.0.0.1", "203.0.113.7", KEYS.admin) == 200, "the right token is always accepted"
        assert await status_of("127.0.0.1", "203.0.113.7, 203.0.113.8", "wrong") == 401, "another client"
        assert await status_of("127.0.0.1", "", "wrong") == 401, "without a proxy"
        for _ in range(MOST_WRONG):
            assert await status_of("198.51.100.1", "203.0.113.9", "wrong") == 401
        assert await status_of("198.51.100.1", "203.0.113.10", "wrong") == 429, (
            "the header of a client that is not local is ignored"
        )

    asyncio.run(main())


def test_proxy_headers_are_ignored_unless_the_site_is_set_up_behind_a_proxy() -> None:
    gate = gate_of(FakeClock(), is_open=False)

    async def main() -> None:
        for number in range(MOST_WRONG):
            headers = {"x_forwarded_for": f"203.0.113.{number}", "x_forwarded_proto": "https"}
            assert (await ask(gate, "/", authorization="Bearer wrong", **headers)).status == 401
        answer = await ask(gate, "/?token=wrong", x_forwarded_for="203.0.113.99")
        assert answer.status == 429

    asyncio.run(main())


def test_behind_tls_the_settings_decide_on_access_and_the_printed_url() -> None:
    web = WebSettings(names=(NAME,), behind_tls=True)
    access = access_of(web, lambda: KEYS)
    assert not access.is_open and access.is_behind_tls and not access.is_public
    assert access_of(WebSettings(behind_tls=True, public=True), lambda: KEYS).is_open
    assert public_url(web, "http://127.0.0.1:8642/") == f"https://{NAME}/" and warnings(web) == []
    assert "web.names" in warnings(WebSettings(behind_tls=True))[0]
