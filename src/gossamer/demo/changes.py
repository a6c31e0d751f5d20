"""A demonstration web that changes: what becomes of a page as time passes, by the clock and nothing else.

Some pages change an advertisement or a date line only, some a price in RDFa or JSON-LD, some their text; some vanish,
and new ones appear. Time is counted in turns, which last as long as the web is told.
"""

from datetime import UTC, datetime
from enum import StrEnum
from html import escape

from gossamer.base.clock import SECOND, Instant
from gossamer.demo.draw import Draw
from gossamer.demo.sites import Site

LONGEST = 4
"""Turns between two changes of a page, at the most."""
VANISHES = (2, 6)
"""Turns after which a page that vanishes does so, at the earliest and the latest."""
NEWS_AT_ONCE = 12
"""Links to news on a start page: the newest."""


class Fate(StrEnum):
    """What becomes of a page."""

    STILL = "still"
    ADVERTISES = "advertises"
    DATED = "dated"
    PRICED = "priced"
    PRICED_JSON = "priced-json"
    WRITTEN = "written"
    VANISHES = "vanishes"


_FATES = (
    *[Fate.STILL] * 8, Fate.ADVERTISES, Fate.ADVERTISES, Fate.DATED, Fate.PRICED, Fate.PRICED_JSON, Fate.WRITTEN,
    Fate.VANISHES,
)  # fmt: skip


def fate_of(seed: int, host: str, target: str) -> Fate:
    """Of an item's page."""
    return Draw(seed, host, target, "fate").one(_FATES)


def version_of(seed: int, host: str, target: str, turn: int) -> int:
    """How often the page has changed by then."""
    every = Draw(seed, host, target, "every").between(1, LONGEST)
    return turn // every


def is_there(seed: int, host: str, target: str, turn: int) -> bool:
    if fate_of(seed, host, target) is not Fate.VANISHES:
        return True
    return turn < Draw(seed, host, target, "end").between(*VANISHES)


def price_of(version: int) -> str:
    return f"{19 + version}.90"


def changed(html: str, seed: int, host: str, target: str, turn: int, now: Instant) -> str:
    """The page as it is in that turn."""
    version = version_of(seed, host, target, turn)
    match fate_of(seed, host, target):
        case Fate.ADVERTISES:
            words = f"<p>Offer of the hour, number {version}: buy two, pay for three.</p>"
            return _before(html, "</body>", f'<div class="advertisement" role="complementary">{words}</div>')
        case Fate.DATED:
            today = datetime.fromtimestamp(now // SECOND, UTC)
            return _before(html, "</footer>", f"<p>Printed on {today:%d %B %Y, %H:%M:%S}</p>")
        case Fate.PRICED:
            words = f'Price: <span property="price">{price_of(version)}</span>'
            return _before(html, "</body>", f'<p vocab="http://schema.org/" typeof="Offer">{words}</p>')
        case Fate.PRICED_JSON:
            fact = f'{{"@context":"http://schema.org/","@type":"Offer","price":"{price_of(version)}"}}'
            return _before(html, "</head>", f'<script type="application/ld+json">{fact}</script>')
        case Fate.WRITTEN:
            words = f"Since then a paragraph was written anew, for the {version}. time; nobody knows who asked for it."
            return html.replace('<p class="lead">', f'<p class="lead">{words} ', 1)
        case _:
            return html


def with_news(html: str, turn: int) -> str:
    """A start page, which leads to the newest pages."""
    links = [f'<li><a href="/news/{number}">News {number}</a></li>' for number in newest(turn)]
    return _before(html, "</main>", f"<ul>{''.join(links)}</ul>") if links else html


def newest(turn: int) -> range:
    return range(max(1, turn - NEWS_AT_ONCE + 1), turn + 1)


def news_page(site: Site, target: str, turn: int) -> str | None:
    """`/news/N` is there from turn N on."""
    number = target.removeprefix("/news/")
    if not target.startswith("/news/") or not (number.isascii() and number.isdigit() and 1 <= int(number) <= turn):
        return None
    title = f"News {int(number)} of {escape(site.title)}"
    words = f"This is what happened in turn {int(number)}, and it will not be told again in other words."
    head = f"<!DOCTYPE html><html lang=en><head><title>{title}</title></head>"
    return f"{head}<body><main><p>{words}</p></main></body></html>"


def _before(html: str, mark: str, addition: str) -> str:
    return html.replace(mark, f"{addition}\n{mark}", 1)
