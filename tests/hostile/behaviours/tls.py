"""T1 and T2: certificates that cannot be trusted, and failing handshakes."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime

import trustme
from tests.hostile.behaviour import (
    Act,
    Behaviour,
    Context,
    Request,
    Write,
    add,
    behaviour,
    moved,
    page,
    reset_connection,
    sending,
)

PAST, FUTURE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)
RECORD = b"\x16\x03\x03"
"""The head of a TLS record that carries a handshake."""


def presenting(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def presents(
    name: str, issue: Callable[[trustme.CA, str], trustme.LeafCert], says: str, act: Act | None = None
) -> None:
    def context(authority: trustme.CA, host: str) -> ssl.SSLContext:
        return presenting(issue(authority, host))

    serves(name, context, says, act)


def serves(name: str, context: Context, says: str, act: Act | None = None) -> None:
    add(Behaviour(name, act or sending([page("Trust me")], says), context=context))


def _without_chain(authority: trustme.CA, host: str) -> ssl.SSLContext:
    certificate = authority.create_child_ca().issue_cert(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with certificate.private_key_pem.tempfile() as key, certificate.cert_chain_pems[0].tempfile() as leaf:
        context.load_cert_chain(leaf, key)
    return context


def _old_version(authority: trustme.CA, host: str) -> ssl.SSLContext:
    context = presenting(authority.issue_cert(host))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    return context


presents("T1-expired", lambda ca, host: ca.issue_cert(host, not_before=PAST, not_after=PAST), "expired years ago")
presents("T1-not-yet", lambda ca, host: ca.issue_cert(host, not_before=FUTURE, not_after=FUTURE), "valid from 2090")
presents("T1-self-signed", lambda _, host: trustme.CA().issue_cert(host), "signed by an unknown authority")
presents("T1-wrong-name", lambda ca, _: ca.issue_cert("another-host.test"), "another host's certificate")
presents("T1-wildcard-of-all", lambda ca, _: ca.issue_cert("*.test"), "a wildcard for a whole top-level domain")
presents("T1-address", lambda ca, _: ca.issue_cert("20.0.0.1"), "a certificate for an IP address")
presents(
    "T1-many-names",
    lambda ca, host: ca.issue_cert(host, *(f"{number}.{host}" for number in range(3_000))),
    "a certificate of 3,000 names",
)
serves("T1-incomplete-chain", _without_chain, "the intermediate certificate is not sent")
serves("T2-tls-1-0", _old_version, "TLS 1.0 and nothing newer")
presents(
    "T2-to-http",
    lambda ca, host: ca.issue_cert(host),
    "https that redirects to http",
    sending([moved("http://h7-two-layers.test/")], "https that redirects to http"),
)


@behaviour("T2-stall", raw_tls=True)
async def stall(write: Write, request: Request) -> None:
    """The handshake is never answered."""
    await asyncio.sleep(3600)


@behaviour("T2-trickle", raw_tls=True)
async def trickle(write: Write, request: Request) -> None:
    """A handshake at one byte a second."""
    write.write(RECORD + b"\x40\x00\x02\x00\x3f\xfc")
    while True:
        write.write(b"\x03")
        await write.drain()
        await asyncio.sleep(1)


@behaviour("T2-garbage", raw_tls=True)
async def garbage(write: Write, request: Request) -> None:
    """Random bytes instead of a handshake."""
    write.write(bytes(range(256)) * 16)
    await write.drain()


@behaviour("T2-plain", raw_tls=True)
async def plain(write: Write, request: Request) -> None:
    """Plain HTTP on the TLS port."""
    write.write(page("In the clear"))
    await write.drain()


@behaviour("T2-records", raw_tls=True)
async def records(write: Write, request: Request) -> None:
    """Endless empty handshake records."""
    while True:
        write.write((RECORD + b"\x00\x00") * 2_000)
        await write.drain()


@behaviour("T2-alerts", raw_tls=True)
async def alerts(write: Write, request: Request) -> None:
    """Endless warnings."""
    while True:
        write.write(b"\x15\x03\x03\x00\x02\x01\x5a" * 2_000)
        await write.drain()


@behaviour("T2-reset", raw_tls=True)
async def reset(write: Write, request: Request) -> None:
    """The connection is reset before the handshake."""
    reset_connection(write)


@behaviour("T2-reset-later", raw_tls=True)
async def reset_later(write: Write, request: Request) -> None:
    """The connection is reset in the middle of the handshake."""
    write.write(RECORD + b"\x00\x40\x02")
    await write.drain()
    await asyncio.sleep(0.1)
    reset_connection(write)
