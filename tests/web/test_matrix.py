"""Every route with every role (FAULTS W8), and no internals in any answer (W18)."""

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
    """(method, path) of every route of the site."""

    async def routes() -> list[tuple[str, str]]:
        async with AsyncExitStack() as opened:
            served = await open_site(opened, collection, settings_for(0), real_outside(), (), silent)
            show = make_show()
            site = make_routes(served, show, Entrance(served.door, FakeClock()))
            return list(routes_of(site))

    return asyncio.run(routes())


def routes_of(site: object) -> Iterator[tuple[str, str]]:
    for route in site.routes:  # type: ignore[attr-defined]
        path = route.path
        if path == "/static":
            path = "/static/gossamer.css"
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield method, path.replace("{", "").replace("}", "")


def expected(method: str, path: str, role: str, is_open: bool) -> int:
    is_public = is_open or path in UNLOCKED or path.startswith("/static/")
    if role == "anonymous" and not is_public:
        return 401
    if method in CHANGING and not (method == "POST" and path in POSTABLE) and role != "admin":
        return 403
    return 200


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("role", ["anonymous", "user", "admin"])
def test_F_W8_every_route_is_open_to_exactly_the_roles_that_may_use_it(
    table: list[tuple[str, str]], role: str, is_open: bool
) -> None:
    assert len(table) > 15 and {method for method, _ in table} <= {*READING, *CHANGING}
    gate = gate_of(FakeClock(), is_open=is_open)
    headers = {"authorization": BEARER[role]} if role in BEARER else {}
    statuses = {one: asyncio.run(ask(gate, one[1], one[0], **headers)).status for one in table}
    assert statuses == {(method, path): expected(method, path, role, is_open) for method, path in table}


def test_all_routes_but_one_that_change_something_are_below_crawl_or_nodes(table: list[tuple[str, str]]) -> None:
    changing = [path for method, path in table if method in CHANGING and path not in POSTABLE]
    assert [path for path in changing if not path.startswith(("/crawl", "/nodes"))] == ["/page/again"]


def test_F_W18_no_answer_reveals_internals(site: Site, collection: Directory, table: list[tuple[str, str]]) -> None:
    secrets = [(collection.root / name).read_text().strip() for name in ("token", "reader-token")]
    internals = [
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
                assert [word for word in internals if word in text] == [], target


def test_the_site_answers_to_the_host_names_of_its_settings(collection: Directory) -> None:
    """In addition to the names of this machine."""
    settings = settings_for(0)
    web = replace(settings.web, host="0.0.0.0", names=("Search.Example", "2001:db8::1"))

    async def host_names() -> tuple[str, ...]:
        async with AsyncExitStack() as opened:
            served = await open_site(opened, collection, replace(settings, web=web), real_outside(), (), silent)
            assert not served.door.is_open
            return served.hosts

    hosts = asyncio.run(host_names())
    assert {"search.example", "[2001:db8::1]", "127.0.0.1", "localhost"} <= set(hosts) and "0.0.0.0" not in hosts
