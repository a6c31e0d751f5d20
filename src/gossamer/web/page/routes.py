"""What is known of one address: its facts, copy, text, links, words and versions, and why it is as it is."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from gossamer.collection.collection import Collection
from gossamer.values.url import Url, url_of
from gossamer.views.words.searcher import WordCount
from gossamer.web.crawl.forms import LONGEST_FORM, FormNotice, Notices, change, field, then, told
from gossamer.web.entities.facts import things_of
from gossamer.web.page import copy
from gossamer.web.page import history as page_history
from gossamer.web.page.copy import place_of
from gossamer.web.page.known import (
    MOST_LINKS,
    HostWhy,
    PageJson,
    WhyAnswer,
    chosen,
    gathered,
    host_of,
    instant_of,
    version_of,
    with_facts,
)
from gossamer.web.responses import Show, WebError, json_answer
from gossamer.web.routes import Routes, answers_with, form_of
from gossamer.web.site import WebSite
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


NO_HOST_NAME = "Which host? Put its name after /host?name= or open it from a page on that host."
UNKNOWN_HOST = "No URL on that host is known. Hosts are found through seeds, links, sitemaps and feeds."


class PageWords(msgspec.Struct, frozen=True):
    """The forward index of a page."""

    url: str
    words: list[WordCount]


class PageParameters(msgspec.Struct, frozen=True):
    url: str = ""
    tab: str = msgspec.field(name="show", default="")
    at: str = ""
    fact: str = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    said: Annotated[str, Meta(max_length=20)] = ""


class UrlParameters(msgspec.Struct, frozen=True):
    url: str = ""


class HostParameters(msgspec.Struct, frozen=True):
    name: str = ""


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes, notices = Routes(), Notices()
    for part in (copy.router(site, show), page_history.router(site, show), host_router(collection, show)):
        routes.include(part)
    routes.include(for_programs(collection))

    @routes.get("/page")
    async def page(wanted: PageParameters) -> Response:
        return await shown(collection, partial(show, said=notices.named(wanted.said)), wanted)

    @routes.post("/page/again", summary="Fetch a page again", **change(url=field("Its URL.", needed=True)))
    async def again(request: Request) -> Response:
        url = (await form_of(request, LONGEST_FORM)).get("url", "")
        notice = (
            await told(collection.control.fetch_again(url))
            if url
            else FormNotice("Say which page: send its URL.", "bad")
        )
        return then(request, notices, notice, "/page", url=url, show="why")

    @routes.get("/page/words")
    async def words(wanted: UrlParameters) -> Response:
        return await shown(collection, show, PageParameters(wanted.url, "words"))

    @routes.get("/page/why")
    async def why(wanted: UrlParameters) -> Response:
        return await shown(collection, show, PageParameters(wanted.url, "why"))

    return routes


def for_programs(collection: Collection) -> Routes:
    routes = Routes()

    @routes.get("/page.json", answers_with(PageJson), "What is known about one page")
    async def page_json(wanted: UrlParameters) -> Response:
        known = await run_in_threadpool(gathered, collection, wanted.url)
        if known is None or not is_known(known):
            raise missing(wanted.url)
        return json_answer(await with_facts(collection, known))

    @routes.get("/page/words.json", answers_with(PageWords), "The words of a page and their counts")
    async def words_json(wanted: UrlParameters) -> Response:
        known = await run_in_threadpool(gathered, collection, wanted.url, wants_words=True)
        if known is None or not is_known(known):
            raise missing(wanted.url)
        return json_answer(PageWords(known.url, known.words or []))

    @routes.get("/page/why.json", answers_with(WhyAnswer), "Why a page is, or is not, in the collection")
    async def why_json(wanted: UrlParameters) -> Response:
        known = await run_in_threadpool(gathered, collection, wanted.url)
        if known is None or known.why is None:
            raise missing(wanted.url)
        return json_answer(known.why)

    return routes


def host_router(collection: Collection, show: Show) -> Routes:
    """One host: what it was promised and what it got, and why nothing is being fetched there."""
    routes = Routes()

    @routes.get("/host")
    def host(wanted: HostParameters) -> Response:
        return show("page_host.html", host=known_host(collection, wanted.name))

    @routes.get("/host.json", answers_with(HostWhy), "One host: its fetches, the gaps, and what it is waiting for")
    def host_json(wanted: HostParameters) -> Response:
        return json_answer(known_host(collection, wanted.name))

    return routes


def known_host(collection: Collection, text: str) -> HostWhy:
    """By its name, or by any URL there. Raises WebError."""
    url = url_of(text.strip() if "://" in text else f"http://{text.strip()}/")
    known = host_of(collection, url.host.name) if url is not None else None
    if known is not None and known.is_known:
        return known
    raise WebError(404, UNKNOWN_HOST) if text.strip() else WebError(400, NO_HOST_NAME)


def is_known(known: PageJson) -> bool:
    return bool(known.versions) or (known.why is not None and known.why.is_known)


def missing(text: str) -> WebError:
    return WebError(404, UNKNOWN) if text.strip() else WebError(400, NO_ADDRESS)


async def shown(collection: Collection, show: Show, wanted: PageParameters) -> Response:
    known = await run_in_threadpool(gathered, collection, wanted.url, wanted.tab == "words")
    if known is None or (known.why is None and not known.versions):
        raise missing(wanted.url)
    try:
        moment = instant_of(wanted.at)
    except ValueError:
        raise WebError(400, copy.NO_MOMENT) from None
    tab = wanted.tab if wanted.tab in TABS else "facts" if known.versions else "why"
    if tab in ("facts", "copy"):
        known = await with_facts(collection, known)
    history = None
    if tab == "versions":
        history = await page_history.history_of(collection, Url(known.url), wanted.since, wanted.until)

    def drawn() -> Response:
        kept = chosen(collection.versions(Url(known.url)), moment) if tab == "copy" else None
        values: dict[str, Any] = {
            "page": known,
            "known": is_known(known),
            "unknown": UNKNOWN,
            "tab": tab,
            "tabs": TABS,
            "here_href": f"/page?url={quote(known.url, safe='')}",
            "states": STATES,
            "things": things_of(known.facts or [], known.graph, pages_in(collection, known.facts or [])),
            "place_of": place_of,
            "version": version_of(kept) if kept is not None else None,
            "fact": wanted.fact if len(wanted.fact) == 16 and wanted.fact.isalnum() else "",
            "host": Url(known.url).host.name,
            "most_links": MOST_LINKS,
            "most_words": MOST_WORDS,
            **(page_history.drawing(known, history) if history is not None else {}),
        }
        return show("page.html", 200 if is_known(known) else 404, **values)

    return await run_in_threadpool(drawn)
