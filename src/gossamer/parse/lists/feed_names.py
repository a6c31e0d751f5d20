"""The names that feeds use, over all dialects: whose an element is, and what it stands for."""

from functools import lru_cache

from lxml import etree

from gossamer.parse.lists.lenient_xml import split_name

_SPACES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://search.yahoo.com/mrss": "media",
    "http://search.yahoo.com/mrss/": "media",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "dc": "dc",
    "dcterms": "dcterms",
    "media": "media",
    "sy": "sy",
    "itunes": "itunes",
}
_OWN = (
    "http://www.w3.org/2005/atom",
    "http://purl.org/atom/",
    "http://purl.org/net/rss",
    "http://purl.org/rss/1.0/",
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://my.netscape.com/publish/formats/rss",
    "http://channel.netscape.com/rdf/simple/0.9/",
    "http://backend.userland.com/",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://example.com/newformat#",
    "http://example.com/necho",
    "http://purl.org/echo/",
    "http://purl.org/pie/",
    "uri/of/echo/namespace#",
)
"""How the namespaces of feeds themselves begin, small letters; the module namespaces of RSS 1.0 are none of them."""
DATES = {
    ("", "pubdate"): "published",
    ("", "published"): "published",
    ("", "issued"): "published",
    ("dcterms", "issued"): "published",
    ("", "updated"): "updated",
    ("", "modified"): "updated",
    ("", "lastbuilddate"): "updated",
    ("dc", "date"): "updated",
    ("dcterms", "modified"): "updated",
    ("", "created"): "created",
    ("dcterms", "created"): "created",
    ("", "expirationdate"): "expires",
}
TITLES = {("", "title"): 0, ("dc", "title"): 1, ("media", "title"): 2, ("itunes", "title"): 3}
"""Which title is believed when there are several: the lowest."""
NO_RANK = 9
SUMMARIES = {
    ("", "summary"): 0, ("", "description"): 1, ("dc", "description"): 2, ("", "abstract"): 2, ("itunes", "summary"): 3,
    ("media", "description"): 4, ("content", "encoded"): 5, ("", "content"): 5,
}  # fmt: skip


def module_and_name(element: etree._Element) -> tuple[str, str]:
    """("", local) for the feed's own elements, else the module's short name; ("?", local) for those of strangers."""
    tag: object = element.tag
    return _known(tag) if isinstance(tag, str) else ("?", "")


@lru_cache(maxsize=512)
def _known(tag: str) -> tuple[str, str]:
    space, local = split_name(tag)
    short = _SPACES.get(space)
    if short is not None:
        return short, local
    is_own = space == "" or (space.startswith(_OWN) and not space.startswith("http://purl.org/rss/1.0/modules/"))
    return ("" if is_own else "?"), local
