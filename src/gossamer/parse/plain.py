"""Text out of what is not HTML: plain text, and XML whose elements we do not know."""

import html
import re

from gossamer.parse.html.text import folded

LONGEST_TITLE = 512
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(.*?)(?:\]\]>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>|<[^>]*(?:>|\Z)", re.DOTALL
)
_TITLE = re.compile(r"<(?:\w+:)?title\b[^>]*>(.*?)</", re.DOTALL | re.IGNORECASE)


def first_line(text: str) -> str:
    """A plain text's title."""
    start = text.lstrip()[: LONGEST_TITLE * 2]
    return folded(start.partition("\n")[0])[:LONGEST_TITLE]


def xml_text(text: str) -> str:
    """The character data, without a parser: no entity but the predefined and numeric ones is ever expanded."""
    return folded(html.unescape(_MARKUP.sub(lambda m: f" {html.escape(m[1])} " if m[1] else " ", text)))


def xml_title(text: str) -> str:
    found = _TITLE.search(text)
    return xml_text(found[1])[:LONGEST_TITLE] if found else ""
