"""Errors of the server itself: the error page reveals no internals."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.web.site import serving

from gossamer.base.environment import real_outside
from gossamer.base.errors import DirectoryUnusable
from gossamer.cli.crawl.demo import settings_for
from gossamer.cli.serve import open_site
from gossamer.collection.collection import Collection
from gossamer.store.directory import Directory
from gossamer.values.visit import Counts
from gossamer.web.app import make_app

Events = list[tuple[str, dict[str, object]]]


def response(root: Path, path: str, events: Events) -> tuple[int, dict[str, str], str]:
    async def ask() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        def tell(event: str, /, **facts: object) -> None:
            events.append((event, facts))

        async with AsyncExitStack() as opened:
            site = await open_site(opened, Directory(root), settings_for(0), real_outside(), (), tell)
            scope = {
                "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
                "headers": [(b"host", b"127.0.0.1"), (b"accept", b"text/html")],
            }  # fmt: skip
            try:
                await make_app(site)(scope, receive, send)
            except ZeroDivisionError:  # raised again for the server's log
                events.append(("raised", {}))
        return sent

    start, *bodies = asyncio.run(ask())
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, b"".join(body["body"] for body in bodies).decode()


def broken_counts(_: Collection) -> Counts:
    raise ZeroDivisionError("secret-inside")


def lost_counts(_: Collection) -> Counts:
    raise DirectoryUnusable("there is no collection in /somewhere/secret")


def test_an_exception_gives_an_error_page_without_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Collection, "counts", broken_counts)
    events: Events = []
    status, headers, text = response(tmp_path, "/status", events)
    assert status == 500 and "Server error" in text
    assert "secret" not in text and "Traceback" not in text
    assert "default-src 'none'" in headers["content-security-policy"]
    assert events == [("raised", {})]


def test_a_collection_that_cannot_be_read_is_logged_and_the_client_may_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "counts", lost_counts)
    events: Events = []
    status, headers, text = response(tmp_path, "/status", events)
    assert status == 503 and headers["retry-after"] == "5" and "try again" in text
    assert "secret" not in text
    assert events[0][0] == "web.unreadable" and "secret" in str(events[0][1]["why"])


@pytest.mark.parametrize("target", ["/", "/status", "/page?url=http://a.test/", "/status.json"])
def test_a_damaged_database_gives_an_error_page_without_a_traceback(tmp_path: Path, target: str) -> None:
    (tmp_path / "state.db").write_bytes(b"This is not a database file. " * 1000)
    with serving(Directory(tmp_path)) as site:
        answer = site.ask(target)
        assert answer.status == 503 and "database" not in answer.text
        assert site.ask("/robots.txt").status == 200
