"""The type of a document from its bytes, not its label.

WHATWG MIME Sniffing, as far as a reader needs it.
"""

import re
from functools import lru_cache

from gossamer.parse.charset import EBCDIC, decode, encoding_by_mark, encoding_by_zeros, encoding_in
from gossamer.parse.containers import ole_type, zip_type
from gossamer.values.document import COMPOUND, FORMAT_OF, MAIL, MBOX, OLE, PDF, RTF, UNTYPED, ZIP, ZIPPED, type_by_name

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
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE), (b"{\\rtf", RTF),
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


def media_type_of(content_type: str | None, body: bytes, name: str = "") -> str:
    """`name`: the URL, or the name of a file, which decides between kinds of text."""
    label = essence(content_type)
    found = _labelled(label, _narrow(content_type, body[:_LOOKED_AT]))
    if found in _OF_DOCUMENTS:
        found = _document(found, label, body, type_by_name(name) if name else "")
    if found in _TEXTS and name and (named := type_by_name(name)) in _BY_NAME_ONLY:
        return named
    return found


def _labelled(label: str, head: bytes) -> str:
    """By the label, and the beginning of the body."""
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


_BY_CONTENT = ZIPPED | COMPOUND | {PDF, RTF}
"""Formats whose files cannot be anything else: their content decides."""
_OF_DOCUMENTS = (
    UNTYPED
    | _BY_CONTENT
    | {ZIP, "application/x-zip-compressed"}
    | {name for name, kind in FORMAT_OF.items() if kind in _BY_CONTENT}
)
_BY_NAME_ONLY = frozenset(FORMAT_OF.values()) - _BY_CONTENT
_TEXTS = UNTYPED | {"text/plain", "application/json"}
_PDF_WITHIN = 1024
"""Readers of PDF accept other bytes before its signature."""
_FIELD = rb"(?:Received|Return-Path|Delivered-To|Message-ID|MIME-Version|Date|From|To|Subject|X-[\w-]{1,60}):[ \t]"
_MAIL = re.compile(rb"(?:" + _FIELD + rb"[^\n]*\n(?:[ \t][^\n]*\n)*){3}", re.IGNORECASE)
_MBOX = re.compile(rb"From \S{1,200} [^\n]{0,80}\d{4}[^\n]{0,20}\n")


def _document(found: str, label: str, body: bytes, named: str) -> str:
    """The format of a document by its content; by its label or name if that shows nothing, as of a file cut off."""
    if body.startswith(b"PK\x03\x04"):
        kind, wanted = zip_type(body), FORMAT_OF.get(found, named)
        return wanted if kind == ZIP and wanted in ZIPPED else kind
    if body.startswith(b"\xd0\xcf\x11\xe0"):
        return ole_type(body, label)
    if b"%PDF-" in body[:_PDF_WITHIN]:
        return PDF
    if body.startswith(b"{\\rtf"):
        return RTF
    head = body[:_LOOKED_AT]
    if found in UNTYPED:
        return MBOX if _MBOX.match(head) else MAIL if _MAIL.match(head) else found
    start = head.removeprefix(_MARK).lstrip(_BLANK)
    if _HTML_START.match(start):
        return "text/html"  # spreadsheet programs read tables of HTML under any name
    if start.startswith(b"<?xml"):
        return "text/xml" if FORMAT_OF.get(found) not in ZIPPED else found
    return "text/plain" if FORMAT_OF.get(found) in COMPOUND and start and _is_text(head) else found


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
    if (kind := _magic(head)) is not None:
        return kind
    if _MBOX.match(head):
        return MBOX
    return MAIL if _MAIL.match(head) else "text/plain" if _is_text(head) else "application/octet-stream"


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
