"""FAULTS T1 and T2: certificates that cannot be trusted, handshakes that fail, and redirects from https to http."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import trustme

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.values.outcome import Failed, Fetched, Moved, Outcome, Reason
from gossamer.values.url import url_of

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, connect_s=60.0)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"


class Site:
    """Gives one answer to every request, over TLS, and records the requests."""

    def __init__(self, context: ssl.SSLContext, answer: bytes = OK) -> None:
        self._context, self._answer = context, answer
        self.requests: list[bytes] = []
        self.connections = 0

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.requests.append(await read.readuntil(b"\r\n\r\n"))
                write.write(self._answer)
                await write.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            write.close()

    async def fetched(self, settings: Fetch, times: int = 1) -> list[Outcome]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: None)  # handshakes fail here by design
        async with await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self._context) as server:
            plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:
                return [await client.fetch(url_of("https://safe.test/")) for _ in range(times)]


def presenting(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def fetch_with(certificate: trustme.LeafCert, settings: Fetch = SETTINGS, times: int = 1) -> list[Outcome]:
    return asyncio.run(Site(presenting(certificate)).fetched(settings, times))


@pytest.fixture
def trusting(tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return authority, replace(SETTINGS, tls_authorities=str(tmp_path / "ca.pem"))


def test_a_certificate_of_a_trusted_authority_is_accepted_and_the_connection_reused(trusting):
    authority, settings = trusting
    outcomes = fetch_with(authority.issue_cert("safe.test"), settings, times=2)
    assert [type(outcome) for outcome in outcomes] == [Fetched, Fetched]


PAST = datetime(2020, 1, 1, tzinfo=UTC)
UNTRUSTED: dict[str, Callable[[trustme.CA], trustme.LeafCert]] = {
    "self-signed": lambda _: trustme.CA().issue_cert("safe.test"),
    "wrong-name": lambda authority: authority.issue_cert("other.test"),
    "expired": lambda authority: authority.issue_cert("safe.test", not_after=PAST),
    "incomplete-chain": lambda authority: _without_its_chain(authority.create_child_ca().issue_cert("safe.test")),
}
UNKNOWN = "the certificate's authority is not known, or an intermediate certificate is not sent"
SAYS = {
    "self-signed": UNKNOWN,
    "wrong-name": "the certificate is for a name other than this host's",
    "expired": "the certificate has expired",
    "incomplete-chain": UNKNOWN,
}
KEPT = {"wrong-name": "Hostname mismatch", "expired": "certificate has expired"}
"""The text in the archive, which is the library's."""


@pytest.mark.parametrize("case", UNTRUSTED)
def test_F_T1_a_certificate_that_cannot_be_trusted_is_refused(trusting, case):
    authority, settings = trusting
    site = Site(presenting(UNTRUSTED[case](authority)))
    (outcome,) = asyncio.run(site.fetched(settings))
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS
    assert outcome.detail == SAYS[case], "each with its own reason, as text"
    assert site.requests == [], "no request is sent to a server that is not verified"


def test_F_T1_a_certificate_is_accepted_only_if_every_property_is_right(trusting):
    """Neither a client that trusts all certificates nor one that trusts none passes."""
    authority, settings = trusting
    intermediate = authority.create_child_ca()
    for good in (authority.issue_cert("safe.test"), intermediate.issue_cert("safe.test")):
        (outcome,) = fetch_with(good, settings)
        assert isinstance(outcome, Fetched) and outcome.flags == () and outcome.capture.distrust == ""
    for bad in (
        intermediate.issue_cert("other.test"),
        trustme.CA().create_child_ca().issue_cert("safe.test"),
        authority.issue_cert("127.0.0.1"),
        authority.issue_cert("safe.test.evil.test"),
    ):
        (outcome,) = fetch_with(bad, settings)
        assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS
    (alone,) = fetch_with(authority.issue_cert("safe.test"), SETTINGS)
    assert isinstance(alone, Failed), "an authority that is not configured is not trusted"


@pytest.mark.parametrize("case", UNTRUSTED)
def test_F_T1_in_record_mode_it_is_fetched_flagged_and_the_reason_kept(trusting, case):
    authority, settings = trusting
    site = Site(presenting(UNTRUSTED[case](authority)))
    first, second = asyncio.run(site.fetched(replace(settings, tls="record"), times=2))
    for outcome in (first, second):  # the second one on the kept connection
        assert isinstance(outcome, Fetched) and outcome.flags == ("tls-unverified",)
        assert outcome.capture.distrust.startswith("certificate: ")
        assert outcome.capture.body == b"ok"
    assert KEPT.get(case, "issuer") in first.capture.distrust
    assert site.connections == 1 and len(site.requests) == 2


def test_F_T1_in_record_mode_no_secret_is_sent_to_an_unverified_server(trusting):
    authority, settings = trusting
    good = Site(presenting(authority.issue_cert("safe.test")))
    bad = Site(
        presenting(trustme.CA().issue_cert("safe.test")), OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n")
    )
    asyncio.run(good.fetched(settings))
    asyncio.run(bad.fetched(replace(settings, tls="record"), times=2))
    assert bad.requests == good.requests * 2
    for secret in (b"authorization", b"cookie", b"referer"):
        assert secret not in bad.requests[0].lower()


def test_F_T1_in_record_mode_a_good_certificate_is_verified_and_not_flagged(trusting):
    authority, settings = trusting
    (outcome,) = fetch_with(authority.issue_cert("safe.test"), replace(settings, tls="record"))
    assert isinstance(outcome, Fetched)
    assert (outcome.flags, outcome.capture.distrust) == ((), "")


def _without_its_chain(certificate: trustme.LeafCert) -> trustme.LeafCert:
    return trustme.LeafCert(certificate.private_key_pem.bytes(), certificate.cert_chain_pems[0].bytes(), [])


def test_F_T2_a_server_without_tls_is_refused():
    async def plain() -> Outcome:
        async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
            await read.read(100)
            write.write(b"HTTP/1.1 400 Bad\r\n\r\n")
            write.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), silent)) as client:
                return await client.fetch(url_of("https://safe.test/"))

    outcome = asyncio.run(plain())
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS


def test_F_T2_a_stalled_handshake_ends_at_the_connection_timeout():
    async def stall() -> Outcome:
        async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
            await read.read()
            write.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
            settings = replace(SETTINGS, connect_s=0.2)
            async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:
                return await client.fetch(url_of("https://safe.test/"))

    outcome = asyncio.run(stall())
    assert isinstance(outcome, Failed) and outcome.reason is Reason.CONNECT


@pytest.mark.parametrize("sent", [b"\x00" * 64, b"\x16\x03\x01\xff\xff" + b"\xaa" * 200, b"SSH-2.0-x\r\n", b""])
@pytest.mark.parametrize("mode", ["verify", "record"])
def test_F_T2_garbage_instead_of_a_handshake_is_refused(sent, mode):
    async def fetch() -> Outcome:
        async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
            await read.read(100)
            write.write(sent)
            write.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
            async with Client(
                Connections(replace(SETTINGS, tls=mode), Network(plan, plan), SystemClock(), silent)
            ) as client:
                return await client.fetch(url_of("https://safe.test/"))

    outcome = asyncio.run(fetch())
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS
    assert outcome.detail


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["verify", "record"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_F_T2_a_server_with_an_old_tls_version_is_refused_in_every_mode(trusting, version, mode):
    authority, settings = trusting
    context = presenting(authority.issue_cert("safe.test"))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    (outcome,) = asyncio.run(Site(context).fetched(replace(settings, tls=mode)))
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS


def test_F_T2_a_redirect_from_https_to_http_is_flagged(trusting):
    authority, settings = trusting
    context = presenting(authority.issue_cert("safe.test"))
    down = b"HTTP/1.1 302 Go\r\nLocation: http://safe.test/\r\nSet-Cookie: a=b; Secure\r\nContent-Length: 0\r\n\r\n"
    (outcome,) = asyncio.run(Site(context, down).fetched(settings))
    assert isinstance(outcome, Moved)
    assert (outcome.to.text, outcome.flags) == ("http://safe.test/", ("tls-dropped",))
    across = down.replace(b"http://safe", b"https://other")
    (outcome,) = asyncio.run(Site(context, across).fetched(settings))
    assert isinstance(outcome, Moved) and outcome.flags == ()
