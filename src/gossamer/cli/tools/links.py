"""`gossamer links`: the links of one page, where each leads, and whether a crawl would follow it."""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from gossamer.cli.flags import NO_FETCH_FLAGS, FetchFlags, Json, PageSource, folder_given
from gossamer.cli.output import console, table
from gossamer.cli.tools.single_page import NOWHERE, NotRead, OnePage, page_of
from gossamer.collection.state import CollectionState
from gossamer.collection.why.trail import RuleVerdict
from gossamer.crawler.seeds import checked_seeds
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.coding import decode
from gossamer.parse.content import head_of
from gossamer.parse.html.links import links_of
from gossamer.parse.html.tree import LARGEST, ParsedHtml, parse_html, scan_html
from gossamer.rules.canonical import stripped
from gossamer.rules.learned.traps import judge_shape
from gossamer.rules.robots import directives_of
from gossamer.store.address import shown
from gossamer.values.format import as_json, counted, harmless
from gossamer.values.link import Link
from gossamer.values.outcome import Denied
from gossamer.values.url import Url, url_of


class LinkVerdict(msgspec.Struct, frozen=True):
    """One link of the page."""

    url: str
    """Its target: absolute, without session ids and tracking parameters."""
    text: str
    rel: tuple[str, ...]
    is_followed: bool | None
    """Whether a crawl follows it; None: not known yet."""
    rule: str
    """The rule that decides; empty when none excludes it."""
    says: str


def links(
    page: PageSource,
    *,
    base: Annotated[str | None, Parameter(help="The page's URL, for a file: links are relative to it.")] = None,
    dir: Annotated[
        Path | None,
        Parameter(
            help="A collection: the page is read from its archive, and its rules decide.", converter=folder_given
        ),
    ] = None,
    json: Json = False,
    web: FetchFlags = NO_FETCH_FLAGS,
) -> int:
    collection = CollectionState.open(dir) if dir is not None else None
    if collection is not None and "://" in page:
        one = archived(page, collection)
    else:
        one = page_of(page, base, None, web.settings)
    found, rels = links_in(one)
    verdicts = judged(found, rels, collection)
    if json:
        print(as_json(verdicts))
    else:
        show(verdicts)
    return 0 if verdicts else 1


def archived(target: str, collection: CollectionState) -> OnePage:
    """The newest capture of the URL. Raises NotRead."""
    (url,) = checked_seeds([target])
    capture = collection.capture(url)
    if capture is None:
        raise NotRead(
            f"{url.text} is not in the archive of {shown(collection.directory.root)}; without --dir it is fetched"
        )
    body = decode(capture.body, capture.joined("content-encoding"), LARGEST).body
    return OnePage(url.text, body, capture.url.text, capture.header("content-type") or "")


def links_in(page: OnePage) -> tuple[tuple[Link, ...], dict[str, tuple[str, ...]]]:
    """Each link once, as a crawl would read it, and the `rel` values of each, by URL."""
    url = url_of(page.url) or Url(NOWHERE)
    seen = scan_html(parse_html(as_utf8(page.body, charset_of(page.media_type, page.body).encoding)).tree)
    found = links_of(seen, url, directives_of(head_of(seen).metas, (), "", 0).may_follow)
    return found.links, rels_in(seen, found.base)


def rels_in(seen: ParsedHtml, base: Url) -> dict[str, tuple[str, ...]]:
    rels: dict[str, dict[str, None]] = {}
    for _, _, attributes in seen.elements:
        if attributes.get("rel") and attributes.get("href") and (url := url_of(attributes["href"] or "", base)):
            rels.setdefault(url.text, {}).update(dict.fromkeys((attributes["rel"] or "").lower().split()))
    return {url: tuple(values) for url, values in rels.items()}


def judged(
    found: tuple[Link, ...], rels: dict[str, tuple[str, ...]], collection: CollectionState | None
) -> list[LinkVerdict]:
    """By the rules of a collection; without one only the shape of a URL is judged."""
    urls = [stripped(link.url) for link in found]
    rulings = [shape_of(url) for url in urls] if collection is None else collection.rulings(urls)
    return [verdict_on(link, url, rels, each) for link, url, each in zip(found, urls, rulings, strict=True)]


def shape_of(url: Url) -> tuple[RuleVerdict, ...]:
    verdict = judge_shape(url)
    return (RuleVerdict("shape", False, verdict.rule),) if isinstance(verdict, Denied) else ()


def verdict_on(link: Link, url: Url, rels: dict[str, tuple[str, ...]], rulings: tuple[RuleVerdict, ...]) -> LinkVerdict:
    rel = rels.get(link.url.text, ())
    if not link.may_follow:
        says = "the link says nofollow" if "nofollow" in rel else "the page asks that its links are not followed"
        return LinkVerdict(url.text, link.text, rel, False, "nofollow", says)
    against = next((one for one in rulings if one.lets_in is False), None)
    decides = against or next((one for one in rulings if one.lets_in is None), None)
    if decides is None:
        return LinkVerdict(url.text, link.text, rel, True, "", "no rule excludes it")
    return LinkVerdict(url.text, link.text, rel, decides.lets_in, decides.rule, decides.says)


def show(verdicts: list[LinkVerdict]) -> None:
    drawn = table("link", "text", "rel", "followed", "why")
    for column in drawn.columns:
        column.overflow = "fold"
    words = {True: "yes", False: "no", None: "unknown"}
    for one in verdicts:
        why = f"{one.rule}: {one.says}" if one.rule else one.says
        drawn.add_row(harmless(one.url), harmless(one.text), " ".join(one.rel), words[one.is_followed], why)
    console().print(drawn)
    followed = sum(one.is_followed is True for one in verdicts)
    print(f"{counted(len(verdicts), 'link')}, {followed:,} followed")
