"""The page view of one URL: facts, copy, text, links, words, versions, and why."""

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gossamer.base.errors import GossamerError
from gossamer.collection.collection import Collection
from gossamer.values.document import ARCHIVES, FORMAT_OF
from gossamer.values.url import Url, url_of
from gossamer.views.words.searcher import WordCount
from gossamer.web.crawl.forms import Fields, Notices, add_change, field
from gossamer.web.entities.facts import entities_of
from gossamer.web.names import page_href
from gossamer.web.page import copy
from gossamer.web.page import history as page_history
from gossamer.web.page.copy import place_of
from gossamer.web.page.known import (
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
from gossamer.web.responses import Show, WebError
from gossamer.web.routes import Routes, UrlParameters
from gossamer.web.site import WebSite
from gossamer.web.sparql.console import pages_in

TABS = {name: name.capitalize() for name in ("facts", "copy", "text", "links", "words", "versions", "why")}
BADGES = {"captured": "good", "waiting": "calm", "refused": "warn", "moved": "calm", "gone": "bad", "failed": "bad"}
MOST_WORDS = 300
NO_URL = "Which page? Put its URL after /page?url= or open it from the search results."
UNKNOWN = (
    "No page with that URL is in the collection. It may still be waiting, be outside the scope of the crawl, "
    "or be disallowed by the site's robots.txt. To add it, make it a seed, on the Crawl page or with gossamer crawl."
)
NO_HOST_NAME = "Which host? Put its name after /host?name= or open it from a page on that host."
UNKNOWN_HOST = "No URL on that host is known. Hosts are found through seeds, links, sitemaps and feeds."


class PageWords(msgspec.Struct, frozen=True):
    """The forward index of a page."""

    url: str
    words: list[WordCount]


class PageParameters(UrlParameters, frozen=True):
    tab: str = msgspec.field(name="show", default="")
    at: str = ""
    fact: str = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    said: Annotated[str, Meta(max_length=20)] = ""


class HostParameters(msgspec.Struct, frozen=True):
    name: str = ""


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes, notices = Routes(), Notices()
    routes.include(copy.router(site, show), page_history.router(collection))
    routes.include(host_router(collection, show), json_router(collection))

    @routes.get("/page")
    async def page(params: PageParameters) -> Response:
        return await page_response(collection, partial(show, said=notices.get(params.said)), params)

    @routes.get("/page/words")
    async def words(params: UrlParameters) -> Response:
        return await page_response(collection, show, PageParameters(params.url, "words"))

    @routes.get("/page/why")
    async def why(params: UrlParameters) -> Response:
        return await page_response(collection, show, PageParameters(params.url, "why"))

    async def fetch_again(fields: Fields) -> str:
        if not fields.get("url"):
            raise GossamerError("Say which page: send its URL.")
        return await collection.control.fetch_again(fields["url"])

    add_change(
        routes,
        notices,
        "/page/again",
        "Fetch a page again",
        fetch_again,
        "/page",
        state=lambda fields: {"url": fields.get("url", ""), "show": "why"},
        url=field("Its URL.", needed=True),
    )
    return routes


def json_router(collection: Collection) -> Routes:
    routes = Routes()

    async def known_page(text: str, wants_words: bool = False) -> PageJson:
        """Raises WebError."""
        known = await run_in_threadpool(gathered, collection, text, wants_words=wants_words)
        if known is None or not known.is_known:
            raise missing(text)
        return known

    @routes.get("/page.json", "What is known about one page")
    async def page_json(params: UrlParameters) -> PageJson:
        return await with_facts(collection, await known_page(params.url))

    @routes.get("/page/words.json", "The words of a page and their counts")
    async def words_json(params: UrlParameters) -> PageWords:
        known = await known_page(params.url, wants_words=True)
        return PageWords(known.url, known.words or [])

    @routes.get("/page/why.json", "Why a page is, or is not, in the collection")
    async def why_json(params: UrlParameters) -> WhyAnswer:
        known = await run_in_threadpool(gathered, collection, params.url)
        if known is None or known.why is None:
            raise missing(params.url)
        return known.why

    return routes


def host_router(collection: Collection, show: Show) -> Routes:
    routes = Routes()

    @routes.get("/host.json", "One host: its fetches, the gaps, and what it is waiting for")
    def host_json(params: HostParameters) -> HostWhy:
        name = params.name.strip()  # a URL on the host will do
        url = url_of(name if "://" in name else f"http://{name}/")
        known = host_of(collection, url.host.name) if url is not None else None
        if known is not None and known.is_known:
            return known
        raise WebError(404, UNKNOWN_HOST) if name else WebError(400, NO_HOST_NAME)

    @routes.get("/host")
    def host(params: HostParameters) -> Response:
        return show("page_host.html", host=host_json(params))

    return routes


def missing(text: str) -> WebError:
    return WebError(404, UNKNOWN) if text.strip() else WebError(400, NO_URL)


async def page_response(collection: Collection, show: Show, params: PageParameters) -> Response:
    known = await run_in_threadpool(gathered, collection, params.url, params.tab == "words")
    if known is None or (known.why is None and not known.versions):
        raise missing(params.url)
    try:
        moment = instant_of(params.at)
    except ValueError:
        raise WebError(400, copy.INVALID_TIME) from None
    tab = params.tab if params.tab in TABS else "facts" if known.versions else "why"
    if tab in ("facts", "copy"):
        known = await with_facts(collection, known)
    history = None
    if tab == "versions":
        history = await page_history.history_of(collection, Url(known.url), params.since, params.until)

    def render() -> Response:
        kept = chosen(collection.versions(Url(known.url)), moment) if tab == "copy" else None
        facts = known.facts or []
        values: dict[str, Any] = {
            "page": known,
            "unknown": UNKNOWN,
            "tab": tab,
            "tabs": TABS,
            "here_href": page_href(known.url),
            "badges": BADGES,
            "entities": entities_of(facts, known.graph, pages_in(collection, facts)),
            "place_of": place_of,
            "version": version_of(kept) if kept is not None else None,
            "is_document": kept is not None and kept.media_type in FORMAT_OF | ARCHIVES,
            "fact": params.fact if len(params.fact) == 16 and params.fact.isalnum() else "",
            "host": Url(known.url).host.name,
            "most_words": MOST_WORDS,
            **(page_history.timeline_values(known, history) if history is not None else {}),
        }
        return show("page.html", 200 if known.is_known else 404, **values)

    return await run_in_threadpool(render)
