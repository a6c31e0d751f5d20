"""JSON Feed 1.0 and 1.1 (jsonfeed.org): the same values as `feeds` gives, from an object."""

from typing import Any

import msgspec

from gossamer.base.clock import Instant
from gossamer.parse.charset import as_utf8
from gossamer.parse.dates import instant_of
from gossamer.parse.html.text import folded
from gossamer.parse.lists.feed_text import plain
from gossamer.parse.lists.feeds import (
    LONGEST_ID,
    LONGEST_SUMMARY,
    MOST_ITEMS,
    MOST_LINKS,
    NOT_A_FEED,
    Feed,
    FeedLink,
    Item,
    joined,
)
from gossamer.values.url import Url, url_of

MARK = b"jsonfeed.org/version/1"
_LOOKED_AT = 4096


def is_json_feed(body: bytes) -> bool:
    """Cheap: the version must be named near the start, where everybody writes it."""
    return MARK in body[:_LOOKED_AT].replace(b"\\/", b"/")


def parse_json_feed(body: bytes, url: Url) -> Feed:
    try:
        told = msgspec.json.decode(as_utf8(body, "utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NOT_A_FEED
    if not isinstance(told, dict) or MARK.decode() not in _text(told, "version"):
        return NOT_A_FEED
    given = told.get("items")
    items = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    flags = ("too-many-items",) if len(items) > MOST_ITEMS else ()
    links = [FeedLink(joined(home, url))] if (home := _text(told, "home_page_url")) else []
    return Feed(
        "json",
        title=folded(_text(told, "title")),
        url=url_of(links[0].href) if links else None,
        links=tuple(links),
        entries=tuple([_item(one, url) for one in items[:MOST_ITEMS]]),
        flags=flags,
    )


def _item(told: dict[str, Any], base: Url) -> Item:
    address = _text(told, "url") or _text(told, "external_url")
    given = told.get("attachments")
    attached = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    links = [FeedLink(joined(address, base), media_type="text/html")] if address else []
    links += [
        FeedLink(joined(where, base), "enclosure", _text(one, "mime_type"), _text(one, "title"))
        for one in attached[:MOST_LINKS]
        if (where := _text(one, "url"))
    ]
    summary = _text(told, "summary") or _text(told, "content_text") or plain(_text(told, "content_html")[: 1 << 16])
    return Item(
        _name(told)[:LONGEST_ID],
        url_of(links[0].href) if address else None,
        folded(_text(told, "title")),
        _moment(told, "date_published"),
        _moment(told, "date_modified"),
        summary=folded(summary[:LONGEST_SUMMARY]),
        links=tuple(links),
    )


def _text(told: dict[str, Any], name: str) -> str:
    found = told.get(name)
    return found.strip() if isinstance(found, str) else ""


def _name(told: dict[str, Any]) -> str:
    """An id ought to be a string; numbers are met, and taken as written (version 1.1, "id")."""
    found = told.get("id")
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return str(found) if is_number else _text(told, "id")


def _moment(told: dict[str, Any], name: str) -> Instant | None:
    text = _text(told, name)
    return instant_of(text) if text else None
