"""What is known of one address: its facts, copy, text, links, words and versions, and why it is as it is."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse

from gossamer.values.url import Url, url_of
from gossamer.views.words.searcher import WordCount
from gossamer.web.crawl.forms import FormNotice, Notices, change, field, form_of, then, told
from gossamer.web.entities.facts import things_of
from gossamer.web.page import copy
from gossamer.web.page import history as page_history
from gossamer.web.page.known import MOST_LINKS, PageJson, chosen, gathered, instant_of, version_of, with_facts
from gossamer.web.page.rooms import HostWhy, WhyAnswer, place_of
from gossamer.web.responses import Show, answers_with, fault, json_answer
from gossamer.web.rooms import WebRooms
from gossamer.web.sparql.console import pages_in

TABS = {
    "facts": "Facts",
    "copy": "Copy",
    "text": "Text",
    "links": "Links",
    "words": "Words",
    "versions": "Versions",
    "why": "Why",
}
STATES = {
    "captured": ("good", "captured"),
    "waiting": ("calm", "waiting"),
    "refused": ("warn", "refused"),
    "moved": ("calm", "moved"),
    "gone": ("bad", "gone"),
    "failed": ("bad", "failed"),
    "unknown": ("idle", "unknown"),
}
"""How the state of an address is shown: the look of its badge, and the word."""
MOST_WORDS = 300
NO_ADDRESS = "Which page? Put its URL after /page?url= or open it from the search results."
UNKNOWN = (
    "No page with that URL is in the collection. It may still be waiting, be outside the scope of the crawl, "
    "or be disallowed by the site's robots.txt. To add it: gossamer crawl with that URL and this collection's --dir."
)


class PageWords(msgspec.Struct, frozen=True):
    """The forward index of a page."""

    url: str
    words: list[WordCount]


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes, notices = APIRouter(), Notices()
    routes.include_router(copy.router(rooms, show))
    routes.include_router(host_router(rooms, show))
    routes.include_router(page_history.router(rooms, show))
    routes.include_router(as_json(rooms, show))

    @routes.get("/page", response_class=HTMLResponse, summary="What is known about one page")
    async def page(
        request: Request,
        url: str = "",
        tab: Annotated[str, Query(alias="show")] = "",
        at: str = "",
        fact: str = "",
        since: Annotated[str, Query(alias="from")] = "",
        until: Annotated[str, Query(alias="to")] = "",
        said: Annotated[str, Query(max_length=20)] = "",
    ) -> Response:
        telling = partial(show, said=notices.named(said))
        return await shown(rooms, telling, request, url, tab, at, fact, (since, until))

    @routes.post("/page/again", summary="Fetch a page again", **change(url=field("Its URL.", needed=True)))
    async def again(request: Request) -> Response:
        url = (await form_of(request)).get("url", "")
        notice = await told(rooms.crawl.fetch_again(url)) if url else FormNotice("Say which page: send its URL.", "bad")
        return then(request, notices, notice, "/page", url=url, show="why")

    @routes.get("/page/words", response_class=HTMLResponse, summary="The words of a page and their counts")
    async def words(request: Request, url: str = "") -> Response:
        return await shown(rooms, show, request, url, "words")

    @routes.get("/page/why", response_class=HTMLResponse, summary="Why a page is, or is not, in the collection")
    async def why(request: Request, url: str = "") -> Response:
        return await shown(rooms, show, request, url, "why")

    return routes


def as_json(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get("/page.json", responses=answers_with(PageJson), summary="What is known about one page")
    async def page_json(request: Request, url: str = "") -> Response:
        known = await run_in_threadpool(gathered, rooms, url)
        if known is None or not is_known(known):
            return missing(request, show, url)
        return json_answer(await with_facts(rooms, known))

    @routes.get("/page/words.json", responses=answers_with(PageWords), summary="The words of a page and their counts")
    async def words_json(request: Request, url: str = "") -> Response:
        known = await run_in_threadpool(gathered, rooms, url, wants_words=True)
        if known is None or not is_known(known):
            return missing(request, show, url)
        return json_answer(PageWords(known.url, known.words or []))

    @routes.get(
        "/page/why.json", responses=answers_with(WhyAnswer), summary="Why a page is, or is not, in the collection"
    )
    async def why_json(request: Request, url: str = "") -> Response:
        known = await run_in_threadpool(gathered, rooms, url)
        if known is None or known.why is None:
            return missing(request, show, url)
        return json_answer(known.why)

    return routes


def is_known(known: PageJson) -> bool:
    return bool(known.versions) or (known.why is not None and known.why.is_known)


def missing(request: Request, show: Show, text: str) -> Response:
    if not text.strip():
        return fault(request, show, 400, NO_ADDRESS)
    return fault(request, show, 404, UNKNOWN)


async def shown(
    rooms: WebRooms,
    show: Show,
    request: Request,
    text: str,
    wanted: str,
    at: str = "",
    fact: str = "",
    between: tuple[str, str] = ("", ""),
) -> Response:
    known = await run_in_threadpool(gathered, rooms, text, wanted == "words")
    if known is None or (known.why is None and not known.versions):
        return missing(request, show, text)
    try:
        moment = instant_of(at)
    except ValueError:
        return fault(request, show, 400, copy.NO_MOMENT)
    tab = wanted if wanted in TABS else "facts" if known.versions else "why"
    if tab in ("facts", "copy"):
        known = await with_facts(rooms, known)
    history = await page_history.told_of(rooms, Url(known.url), *between) if tab == "versions" else None
    if isinstance(history, tuple):
        return fault(request, show, *history)

    def drawn() -> Response:
        kept = chosen(rooms.versions(Url(known.url)), moment) if tab == "copy" else None
        values: dict[str, Any] = {
            "page": known,
            "known": is_known(known),
            "unknown": UNKNOWN,
            "tab": tab,
            "tabs": TABS,
            "here_href": f"/page?url={quote(known.url, safe='')}",
            "states": STATES,
            "things": things_of(known.facts or [], known.graph, pages_in(rooms, known.facts or [])),
            "place_of": place_of,
            "version": version_of(kept) if kept is not None else None,
            "fact": fact if len(fact) == 16 and fact.isalnum() else "",
            "host": Url(known.url).host.name,
            "most_links": MOST_LINKS,
            "most_words": MOST_WORDS,
            **(page_history.drawing(known, history) if history is not None else {}),
        }
        return show("page.html", 200 if is_known(known) else 404, **values)

    return await run_in_threadpool(drawn)


NO_NAME = "Which host? Put its name after /host?name= or open it from a page on that host."
UNKNOWN_HOST = "No URL on that host is known. Hosts are found through seeds, links, sitemaps and feeds."


def host_router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get(
        "/host",
        response_class=HTMLResponse,
        summary="One host: its fetches, the gaps between them, and what it is waiting for",
    )
    async def host(request: Request, name: str = "") -> Response:
        known = await run_in_threadpool(found_host, rooms, name)
        if known is None or not known.is_known:
            return missing_host(request, show, name)
        return show("page_host.html", host=known)

    @routes.get("/host.json", responses=answers_with(HostWhy), summary="The same as JSON")
    async def host_json(request: Request, name: str = "") -> Response:
        known = await run_in_threadpool(found_host, rooms, name)
        return json_answer(known) if known is not None and known.is_known else missing_host(request, show, name)

    return routes


def found_host(rooms: WebRooms, text: str) -> HostWhy | None:
    """By its name, or by any address there."""
    url = url_of(text.strip() if "://" in text else f"http://{text.strip()}/")
    return rooms.pages.host(url.host.name) if url is not None else None


def missing_host(request: Request, show: Show, name: str) -> Response:
    return fault(request, show, 404, UNKNOWN_HOST) if name.strip() else fault(request, show, 400, NO_NAME)
