"""The type of a document from its bytes, not its label.

WHATWG MIME Sniffing, as far as a reader needs it.
"""

import re
from functools import lru_cache

from gossamer.parse.charset import EBCDIC, decode, encoding_by_mark, encoding_by_zeros, encoding_in

HTML = ("text/html", "application/xhtml+xml")
UNKNOWN = ("", "unknown/unknown", "application/unknown", "*/*")
_LOOKED_AT = 1445
_ESSENCE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:;|$)")
_BLANK = b"\t\n\x0c\r "
_MAGIC = (
    (b"%PDF-", "application/pdf"), (b"%!PS-Adobe-", "application/postscript"), (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"\xff\xd8\xff", "image/jpeg"), (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"), (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"\x1f\x8b\x08", "application/gzip"), (b"PK\x03\x04", "application/zip"), (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"OggS\x00", "application/ogg"), (b"ID3", "audio/mpeg"), (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"), (b"wOF2", "font/woff2"), (b"\x00asm", "application/wasm"),
)  # fmt: skip
_MAGICS = tuple(magic for magic, _ in _MAGIC)
_MARK = b"\xef\xbb\xbf"
_EBCDIC_XML = "<?xml".encode("cp037")
_HTML_START = re.compile(
    rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)(?=[\s>])|<!--",
    re.IGNORECASE,
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_FEED = re.compile(
    rb"(?:\s+|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>)*<(?:(rss)|(feed)|(rdf:RDF)(?=[^>]*purl\.org/rss/1\.0))[\s>]",
    re.DOTALL,
)

_LIST_LOOKED_AT = 4096
PROLOG = rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?+>)*+"
"""What may come before the first element."""
_SITEMAP = re.compile(PROLOG + rb"<(?:[\w.-]+:)?(urlset|sitemapindex)[\s>/]", re.DOTALL | re.IGNORECASE)
_FEED_TYPES = ("application/rss+xml", "application/atom+xml")


@lru_cache(maxsize=256)
def essence(content_type: str | None) -> str:
    """The type and subtype of a Content-Type field, lower case; empty if unreadable."""
    found = _ESSENCE.match(content_type) if content_type else None
    return found[1].lower() if found else ""


def media_type_of(content_type: str | None, body: bytes) -> str:
    label, head = essence(content_type), _narrow(content_type, body[:_LOOKED_AT])
    if label in UNKNOWN:
        return _unlabelled(head)
    if is_xml(label):
        return label
    if label == "text/html":
        return _feed(head) or _magic(head) or label
    if label == "text/plain":
        # Servers use this label for unknown types: check for bytes that cannot be text, but not for markup.
        return label if _is_text(head) else (_magic(head) or "application/octet-stream")
    if label.startswith(("image/", "audio/", "video/")):
        return _magic(head) or label
    return label


def _narrow(content_type: str | None, head: bytes) -> bytes:
    """The beginning in ASCII for comparison with signatures: UTF-16, UTF-32 and EBCDIC text is converted to UTF-8."""
    marked = encoding_by_mark(head)
    encoding = marked or encoding_by_zeros(head)
    if encoding is None:
        named = encoding_in(content_type)
        encoding = named if named in EBCDIC else "ibm037" if head.startswith(_EBCDIC_XML) else None
    if encoding is None:
        return head
    text = decode(head[: len(head) // 4 * 4], encoding).removeprefix("\ufeff").encode("utf-8", "replace")
    return _MARK + text if marked else head if _BINARY.search(text) else text


def is_xml(media_type: str) -> bool:
    return media_type in ("text/xml", "application/xml") or (
        media_type.endswith("+xml") and media_type != "application/xhtml+xml"
    )


def is_sitemap(body: bytes, media_type: str = "") -> bool:
    """A cheap test for an XML sitemap or index, by its first element. UTF-16 is not recognised."""
    if media_type in _FEED_TYPES:
        return False
    return _SITEMAP.match(body[:_LIST_LOOKED_AT].removeprefix(_MARK)) is not None


def _unlabelled(head: bytes) -> str:
    start = head.removeprefix(_MARK) if head.startswith(_MARK) else head.lstrip(_BLANK)
    if _HTML_START.match(start):
        return "text/html"
    if start.startswith(b"<?xml") or _feed(start):
        is_xhtml = b"http://www.w3.org/1999/xhtml" in start
        return _feed(start) or ("application/xhtml+xml" if is_xhtml else "text/xml")
    return _magic(head) or ("text/plain" if _is_text(head) else "application/octet-stream")


def _feed(head: bytes) -> str | None:
    found = _FEED.match(head.removeprefix(_MARK))
    if found is None:
        return None
    return "application/atom+xml" if found[2] else "application/rss+xml"


def _magic(head: bytes) -> str | None:
    if head.startswith(b"RIFF") and head[8:14] == b"WEBPVP":
        return "image/webp"
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if not head.startswith(_MAGICS):
        return None
    found = next(kind for magic, kind in _MAGIC if head.startswith(magic))
    # Two letters are weak evidence: a text may begin with them.
    return None if found == "image/bmp" and _is_text(head) else found


def _is_text(head: bytes) -> bool:
    return head.startswith(_MARK) or _BINARY.search(head) is None
