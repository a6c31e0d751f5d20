"""Every route there is, against everybody who may ask (FAULTS W8), and nothing of our inside in any answer (W18)."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from urllib.parse import quote

import pytest
from tests.web.gate import BEARER, ask, gate_of
from tests.web.site import Site

from gossamer.base.environment import real_outside
from gossamer.base.tell import silent
from gossamer.cli.crawl.demo import settings_for
from gossamer.cli.serve import open_site
from gossamer.store.directory import Directory
from gossamer.testing import FakeClock
from gossamer.web.access.guard import CHANGING, POSTABLE, READING, UNLOCKED
from gossamer.web.access.login import Entrance
from gossamer.web.app import make_routes
from gossamer.web.responses import make_show

VALUES = ["", "harbour", "../../token", "http://a.test/'\"<>"]


@pytest.fixture(scope="module")
def table(collection: Directory) -> list[tuple[str, str]]:
    """(method, path) of everything the site answers to."""

    async def made() -> list[tuple[str, str]]:
        async with AsyncExitStack() as opened:
            served = await open_site(opened, collection, settings_for(0), real_outside(), (), silent)
            show = make_show()
            site = make_routes(served, show, Entrance(served.door, FakeClock()))
            return list(routes_of(site))

    return asyncio.run(made())


def routes_of(site: object) -> Iterator[tuple[str, str]]:
    for route in site.routes:  # type: ignore[attr-defined]
        path = route.path
        if path == "/static":
            path = "/static/gossamer.css"
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield method, path.replace("{", "").replace("}", "")


def expected(method: str, path: str, role: str, is_open: bool) -> int:
    is_free = is_open or path in UNLOCKED or path.startswith("/static/")
    if role == "anonymous" and not is_free:
        return 401
    if method in CHANGING and not (method == "POST" and path in POSTABLE) and role != "admin":
        return 403
    return 200


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("role", ["anonymous", "user", "admin"])
def test_F_W8_every_route_opens_to_those_it_should_and_to_nobody_else(
    table: list[tuple[str, str]], role: str, is_open: bool
) -> None:
    assert len(table) > 15 and {method for method, _ in table} <= {*READING, *CHANGING}
    gate = gate_of(FakeClock(), is_open=is_open)
    headers = {"authorization": BEARER[role]} if role in BEARER else {}
    found = {one: asyncio.run(ask(gate, one[1], one[0], **headers)).status for one in table}
    assert found == {(method, path): expected(method, path, role, is_open) for method, path in table}


def test_all_but_one_of_what_changes_something_is_below_crawl_or_nodes(table: list[tuple[str, str]]) -> None:
    changing = [path for method, path in table if method in CHANGING and path not in POSTABLE]
    assert [path for path in changing if not path.startswith(("/crawl", "/nodes"))] == ["/page/again"]


def test_F_W18_no_answer_tells_of_our_inside(site: Site, collection: Directory, table: list[tuple[str, str]]) -> None:
    secrets = [(collection.root / name).read_text().strip() for name in ("token", "reader-token")]
    inside = [
        *secrets,
        str(collection.root),
        str(collection.root.parent),
        "Traceback",
        "site-packages",
        "/src/gossamer",
    ]
    for method, path in table:
        if method != "GET" or "events" in path or "live" in path or "stream" in path:
            continue
        for value in VALUES:
            target = f"{path}?" + "&".join(
                f"{name}={quote(value, errors='replace')}"
                for name in ("q", "url", "iri", "query", "from", "at", "type")
            )
            for accept in ("text/html", "application/json"):
                answer = site.ask(target, accept=accept)
                text = answer.body.decode("utf-8", "replace") + str(answer.headers)
                assert answer.status < 500 or answer.status == 503, target
                assert [word for word in inside if word in text] == [], target


def test_the_names_of_rooms_can_be_replaced(collection: Directory) -> None:
    """Other names than those of this machine are answered when the settings say so."""
    settings = settings_for(0)
    web = replace(settings.web, host="0.0.0.0", names=("Search.Example", "2001:db8::1"))

    async def made() -> tuple[str, ...]:
        async with AsyncExitStack() as opened:
            served = await open_site(opened, collection, replace(settings, web=web), real_outside(), (), silent)
            assert not served.door.is_open
            return served.hosts

    hosts = asyncio.run(made())
    assert {"search.example", "[2001:db8::1]", "127.0.0.1", "localhost"} <= set(hosts) and "0.0.0.0" not in hosts
