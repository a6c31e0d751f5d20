"""The fields of a sitemap's entries: addresses, and what the extensions for news, images, videos and languages say."""

import msgspec
from lxml import etree

from gossamer.base.clock import Instant
from gossamer.parse.dates import instant_of
from gossamer.parse.html.text import folded
from gossamer.parse.lists.lenient_xml import name_of, text_of
from gossamer.values.url import LONGEST_URL, Url, url_of

MOST_EXTRAS = 1_000
"""Images, videos and translations of one entry (Google's bound for images)."""
BLANK = " \t\r\n\f\v\ufeff\u200b"


class News(msgspec.Struct, frozen=True):
    title: str = ""
    published_at: Instant | None = None
    publication: str = ""
    language: str = ""


class Translation(msgspec.Struct, frozen=True):
    url: Url
    language: str


class Extras:
    """What the extensions say about one entry."""

    def __init__(self) -> None:
        self.images: list[Url] = []
        self.videos: list[Url] = []
        self.translations: list[Translation] = []
        self.news: News | None = None

    def take(self, name: str, element: etree._Element, base: Url) -> None:
        if name == "image":
            self._addresses(self.images, element, ("loc",), base)
        elif name == "video":
            self._addresses(self.videos, element, ("content_loc", "player_loc"), base)
        elif name == "news":
            self.news = _news(element)
        elif name == "link" and len(self.translations) < MOST_EXTRAS:
            language = element.get("hreflang")
            if language and (found := address_in(element.get("href") or "", base)) is not None:
                self.translations.append(Translation(found, language.strip()))

    def _addresses(self, into: list[Url], element: etree._Element, names: tuple[str, ...], base: Url) -> None:
        for child in element:
            if local_name(child) in names and len(into) < MOST_EXTRAS and (found := address_in(text_in(child), base)):
                into.append(found)


def _news(element: etree._Element) -> News:
    told: dict[str, str] = {}
    for child in element.iter():
        if not len(child) and len(told) < 32:
            told.setdefault(local_name(child), folded((child.text or "")[:1024]))
    return News(
        told.get("title", ""),
        instant_of(told.get("publication_date", "")),
        told.get("name", ""),
        told.get("language", ""),
    )


def address_in(text: str, base: Url) -> Url | None:
    """Addresses in maps are absolute; those that begin with a slash are forgiven, other words are none."""
    text = text.strip().strip(BLANK)
    if not text or len(text) > LONGEST_URL:
        return None
    return url_of(text, base) if text[0] == "/" else url_of(text)


def local_name(element: etree._Element) -> str:
    return name_of(element)[1]


def text_in(element: etree._Element) -> str:
    return text_of(element)[: 4 * LONGEST_URL]
