"""Answers of the demonstration web, before they are bytes on a socket."""

import gzip
from typing import NamedTuple

import brotli
import xxhash

from gossamer.base.clock import Instant

HTML = "text/html; charset=utf-8"
CHANGED = "Wed, 01 Jan 2025 08:00:00 GMT"
REASONS = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone",
    421: "Misdirected Request", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


class DemoRequest(NamedTuple):
    """What was asked, as far as any answer depends on it."""

    host: str
    target: str
    codings: str = ""
    """Accept-Encoding, as sent."""
    known: str = ""
    """If-None-Match, as sent."""
    asked_before: int = 0
    """How often this address was asked before; counted for hosts whose answers change only."""
    now: Instant = 0
    """When; for a web that changes."""


class DemoAnswer(NamedTuple):
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    repeats: int = 1
    """The body is sent this many times: very long pages need no memory."""
    wait_s: float = 0.0
    is_cut: bool = False
    """The connection is closed in the middle of the body."""
    is_chunked: bool = False


def page(
    html: str, question: DemoRequest, coding: str = "", is_chunked: bool = False, changed: str | None = CHANGED
) -> DemoAnswer:
    """A page as its site sends it: coded if both sides wish so, with validators, or 304 when nothing changed."""
    body = html.encode()
    etag = f'"{xxhash.xxh3_64_hexdigest(body)}"'
    validators = (*((("Last-Modified", changed),) if changed is not None else ()), ("ETag", etag))
    if question.known and etag in question.known:
        return DemoAnswer(304, validators)
    headers = (("Content-Type", HTML), *validators)
    if coding and coding in question.codings:
        return DemoAnswer(200, (*headers, ("Content-Encoding", coding)), coded(body, coding), is_chunked=is_chunked)
    return DemoAnswer(200, headers, body, is_chunked=is_chunked)


def coded(body: bytes, coding: str) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(body, 6, mtime=0)
        case "br":
            return bytes(brotli.compress(body, quality=4))
    raise ValueError(f"no such coding here: {coding}")


def plain(text: str, media_type: str, status: int = 200) -> DemoAnswer:
    return DemoAnswer(status, (("Content-Type", media_type),), text.encode())


def moved(to: str, status: int = 301) -> DemoAnswer:
    return DemoAnswer(status, (("Location", to), ("Content-Type", HTML)), f'<a href="{to}">moved</a>'.encode())


def missing(status: int = 404) -> DemoAnswer:
    return plain(f"<!DOCTYPE html><title>{status}</title><h1>{REASONS[status]}</h1>", HTML, status)
