"""The links of one page, and what the rules of a crawl say of each."""

import os
from contextlib import closing

import msgspec

from gossamer.archive.catalogue import Catalogue
from gossamer.base.environment import Outside
from gossamer.base.tell import silent
from gossamer.collection.single_page import (
    NOWHERE,
    NotRead,
    OnePage,
)
from gossamer.collection.why.answer import WhyQuery, crew_of
from gossamer.collection.why.trail import RuleVerdict
from gossamer.config.load import FILE_NAME, load
from gossamer.crawler.rules_file import RulesFile
from gossamer.crawler.seeds import checked_seeds
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.coding import decode
from gossamer.parse.content import head_of
from gossamer.parse.html.links import links_of
from gossamer.parse.html.tree import LARGEST, ParsedHtml, parse_html, seen_in
from gossamer.plugins.filters import filters_to_ask
from gossamer.rules.canonical import stripped
from gossamer.rules.learned.traps import judge_shape
from gossamer.rules.robots import directives_of
from gossamer.store.directory import Directory
from gossamer.store.state import open_snapshot
from gossamer.values.link import Link
from gossamer.values.outcome import Denied
from gossamer.values.url import Url, url_of


class LinkTold(msgspec.Struct, frozen=True):
    """One link of the page."""

    url: str
    """Where it leads: made absolute, without session ids and tracking parameters."""
    text: str
    rel: tuple[str, ...]
    is_followed: bool | None
    """Whether a crawl goes there; None: it cannot be said yet."""
    rule: str
    """The rule that decides; empty when none is against it."""
    says: str


def archived(target: str, directory: Directory, outside: Outside) -> OnePage:
    """The newest capture of the address. Raises NotRead."""
    (url,) = checked_seeds([target])
    with Catalogue(directory, outside.files) as catalogue:
        capture = catalogue.capture(url)
    if capture is None:
        raise NotRead(f"{url.text} is not in the archive of {directory.root}; without --dir it is fetched")
    body = decode(capture.body, capture.joined("content-encoding"), LARGEST).body
    return OnePage(url.text, body, capture.url.text, capture.header("content-type") or "")


def links_in(page: OnePage) -> tuple[tuple[Link, ...], dict[str, tuple[str, ...]]]:
    """Each once, as a crawl would read them; and the `rel` values of each, by address."""
    url = url_of(page.address) or Url(NOWHERE)
    seen = seen_in(parse_html(as_utf8(page.body, charset_of(page.media_type, page.body).encoding)).tree)
    directives = directives_of(head_of(seen).metas, (), "", 0)
    found = links_of(seen, url, directives.may_follow)
    return found.links, rels_in(seen, found.base)


def rels_in(seen: ParsedHtml, base: Url) -> dict[str, tuple[str, ...]]:
    rels: dict[str, dict[str, None]] = {}
    for _, _, attributes in seen.elements:
        if attributes.get("rel") and attributes.get("href") and (url := url_of(attributes["href"] or "", base)):
            rels.setdefault(url.text, {}).update(dict.fromkeys((attributes["rel"] or "").lower().split()))
    return {url: tuple(values) for url, values in rels.items()}


def judged(
    found: tuple[Link, ...], rels: dict[str, tuple[str, ...]], directory: Directory | None, outside: Outside
) -> list[LinkTold]:
    if directory is None:
        return [told_of(link, rels, shape_of(stripped(link.url))) for link in found]
    settings = load(directory.root / FILE_NAME, os.environ, {}).settings
    with closing(open_snapshot(directory)) as state:
        book = RulesFile(outside.files, directory.root, silent).book()
        own = filters_to_ask(settings.crawl.filters, directory.root)
        asking = WhyQuery(state, settings, crew_of(directory, outside), outside.clock.now(), book, own)
        return [told_of(link, rels, asking.trail(stripped(link.url).text).rulings) for link in found]


def shape_of(url: Url) -> tuple[RuleVerdict, ...]:
    """What can be said without a collection: its shape."""
    verdict = judge_shape(url)
    return (RuleVerdict("shape", False, verdict.rule),) if isinstance(verdict, Denied) else ()


def told_of(link: Link, rels: dict[str, tuple[str, ...]], rulings: tuple[RuleVerdict, ...]) -> LinkTold:
    url, rel = stripped(link.url).text, rels.get(link.url.text, ())
    if not link.may_follow:
        says = "the link says nofollow" if "nofollow" in rel else "the page asks that its links are not followed"
        return LinkTold(url, link.text, rel, False, "nofollow", says)
    against = next((one for one in rulings if one.lets_in is False), None)
    unsure = next((one for one in rulings if one.lets_in is None), None)
    decides = against or unsure
    if decides is None:
        return LinkTold(url, link.text, rel, True, "", "no rule excludes it")
    return LinkTold(url, link.text, rel, decides.lets_in, decides.rule, decides.says)
