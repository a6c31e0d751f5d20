"""FAULTS T1: certificates that cannot be trusted."""

import asyncio
import ssl
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import trustme

from gossamer.clock import SystemClock
from gossamer.fetch.client import Client
from gossamer.fetch.plan import AddressPlan
from gossamer.fetch.settings import Fetch
from gossamer.values.outcome import Failed, Fetched, Outcome, Reason
from gossamer.values.tell import silent
from gossamer.values.url import url_of

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=3.0, connect_s=2.0)


async def _visit(context: ssl.SSLContext, settings: Fetch, times: int) -> list[Outcome]:
    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        for _ in range(times):
            await read.readuntil(b"\r\n\r\n")
            write.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok")
            await write.drain()
        write.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
        async with Client(settings, plan, plan, SystemClock(), silent) as client:
            return [await client.fetch(url_of("https://safe.test/")) for _ in range(times)]


def visit(certificate: trustme.LeafCert, settings: Fetch = SETTINGS, times: int = 1) -> list[Outcome]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    loop_errors: list[object] = []

    async def quietly() -> list[Outcome]:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: loop_errors.append(told))
        return await _visit(context, settings, times)

    return asyncio.run(quietly())


@pytest.fixture
def trusting(tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return authority, replace(SETTINGS, tls_authorities=str(tmp_path / "ca.pem"))


def test_a_certificate_of_a_trusted_authority_is_taken_and_the_connection_used_again(trusting):
    authority, settings = trusting
    outcomes = visit(authority.issue_cert("safe.test"), settings, times=2)
    assert [type(outcome) for outcome in outcomes] == [Fetched, Fetched]


@pytest.mark.parametrize("case", ["self-signed", "wrong-name", "expired", "incomplete-chain"])
def test_F_T1_a_certificate_that_cannot_be_trusted_is_refused(trusting, case):
    authority, settings = trusting
    past = datetime(2020, 1, 1, tzinfo=UTC)
    certificate = {
        "self-signed": lambda: trustme.CA().issue_cert("safe.test"),
        "wrong-name": lambda: authority.issue_cert("other.test"),
        "expired": lambda: authority.issue_cert("safe.test", not_after=past),
        "incomplete-chain": lambda: _without_its_chain(authority.create_child_ca().issue_cert("safe.test")),
    }[case]()
    (outcome,) = visit(certificate, settings)
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS
    assert "certificate" in outcome.detail


def _without_its_chain(certificate: trustme.LeafCert) -> trustme.LeafCert:
    return trustme.LeafCert(certificate.private_key_pem.bytes(), certificate.cert_chain_pems[0].bytes(), [])


def test_F_T2_a_server_that_speaks_no_tls_is_refused():
    async def plain() -> Outcome:
        async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
            await read.read(100)
            write.write(b"HTTP/1.1 400 Bad\r\n\r\n")
            write.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
            async with Client(SETTINGS, plan, plan, SystemClock(), silent) as client:
                return await client.fetch(url_of("https://safe.test/"))

    outcome = asyncio.run(plain())
    assert isinstance(outcome, Failed) and outcome.reason is Reason.TLS


def test_F_T2_a_handshake_that_stalls_ends_with_the_connection_time():
    async def stall() -> Outcome:
        async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
            await read.read()
            write.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"safe.test": {443: server.sockets[0].getsockname()[1]}})
            settings = replace(SETTINGS, connect_s=0.2)
            async with Client(settings, plan, plan, SystemClock(), silent) as client:
                return await client.fetch(url_of("https://safe.test/"))

    outcome = asyncio.run(stall())
    assert isinstance(outcome, Failed) and outcome.reason is Reason.CONNECT
