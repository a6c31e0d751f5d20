"""Which encoding the bytes are in, by the rules browsers follow (WHATWG HTML, "determining the character encoding").

In order: byte order mark, Content-Type header, declaration in the first 1,024 bytes, UTF-8 when the bytes are valid
UTF-8, and at last a guess. UTF-7 is never believed.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from gossamer.parse.guess import guessed
from gossamer.parse.labels import decode, encoding_named

PRESCANNED = 1024
_LATE = 1 << 16
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_IN_HEADER = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"?|([^;\s]+))", re.IGNORECASE)
_IN_CONTENT = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"'][^\t\n\f\r ;]*))"
)
_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
# One step of the prescan: a comment, a meta tag's start, another tag's start, or markup to be skipped to its ">".
_STEP = re.compile(
    rb"<!--(?P<comment>)|<meta(?=[\t\n\f\r /])(?P<meta>)|</?[a-z][^\t\n\f\r >]*+(?P<tag>)|<[!/?][^>]*+>?", re.IGNORECASE
)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)[\t\n\f\r ]*+"
    rb"(?:=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f\r >\"'][^\t\n\f\r >]*+|(?=[\t\n\f\r >]))))?+"
)


class Charset(NamedTuple):
    encoding: str
    """A name of the WHATWG standard, lower case."""
    how: str
    """Who said so: "bom", "header", "meta", "utf-8" (the bytes are), "zeros" or "guess"."""
    conflict: bool = False
    """Two declarations disagree, and the stronger one was believed."""


def charset_of(content_type: str | None, body: bytes) -> Charset:
    head = body[:PRESCANNED]
    marked = next((name for mark, name in _BOMS if head.startswith(mark)), None)
    in_header = _from_header(content_type)
    # Reading the declaration only to see it agree with the header is the usual case: then its name is enough.
    is_repeated = in_header is not None and in_header.encode() in head.lower()
    in_meta = in_header if is_repeated else prescan(head)
    declared = [name for name in (marked, in_header, in_meta) if name is not None]
    conflict = len(set(declared)) > 1
    if declared:
        how = "bom" if marked else "header" if in_header else "meta"
        return Charset(declared[0], how, conflict)
    if (wide := _wide(head)) is not None:
        return Charset(wide, "zeros")
    if is_utf8(body):
        return Charset("utf-8", "utf-8")
    # A browser that meets a declaration further down begins again with it.
    late = prescan(body[:_LATE])
    return Charset(late, "meta") if late is not None else Charset(guessed(body), "guess")


def as_utf8(body: bytes, encoding: str) -> bytes:
    """The same text in UTF-8, without its byte order mark. UTF-8 is passed on as it is, faults and all."""
    if encoding == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return decode(body, encoding).removeprefix("\ufeff").encode("utf-8", "replace")


def is_utf8(body: bytes) -> bool:
    """A character cut off at the very end is forgiven: bodies are cut at a limit."""
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError as broken:
        return broken.reason == "unexpected end of data" and not body[: broken.start].isascii()
    return True


@lru_cache(maxsize=256)
def _from_header(content_type: str | None) -> str | None:
    if content_type is None or not (found := _IN_HEADER.search(content_type)):
        return None
    return encoding_named(found[1] if found[1] is not None else found[2])


def prescan(head: bytes) -> str | None:
    """The declaration inside the page, if there is one that may be believed."""
    if b"harset" not in head and b"HARSET" not in head and b"encoding" not in head:
        return None
    if (xml := _XML.match(head)) is not None and (named := encoding_named(xml[1].decode("latin-1"))) is not None:
        return _believable(named)
    at = 0
    while (step := _STEP.search(head, at)) is not None:
        at = step.end()
        if step["comment"] is not None:
            # "<!-->" is a whole comment: the two dashes may be those of the opening.
            if (end := head.find(b"-->", at - 2)) < 0:
                return None
            at = end + 3
        elif step["meta"] is not None or step["tag"] is not None:
            attributes, at = _attributes(head, at)
            if step["meta"] is not None and (found := _declared(attributes)) is not None:
                return found
    return None


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    found: dict[bytes, bytes] = {}
    while (each := _ATTRIBUTE.match(head, at)) is not None and each.end() > at:
        at = each.end()
        if at >= len(head):
            return {}, at  # the tag is not whole within the prescanned bytes
        found.setdefault(each[1].lower(), next((v for v in each.groups()[1:] if v is not None), b""))
    return found, at


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None:
        if attributes.get(b"http-equiv", b"").lower() != b"content-type":
            return None
        inside = _IN_CONTENT.search(attributes.get(b"content", b"").lower())
        label = next((g for g in inside.groups() if g is not None), b"") if inside else b""
    named = encoding_named(label.decode("latin-1"))
    return None if named is None else _believable(named)


def _believable(named: str) -> str:
    """A declaration that could be read as ASCII cannot be in UTF-16; and nobody means x-user-defined."""
    return {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(named, named)


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark: nearly every second byte is zero."""
    pairs = len(head) // 2
    if pairs < 2 or b"\0" not in head:
        return None
    even, odd = head[: pairs * 2 : 2].count(0), head[1 : pairs * 2 : 2].count(0)
    if odd > 0.6 * pairs and even < 0.1 * pairs:
        return "utf-16le"
    return "utf-16be" if even > 0.6 * pairs and odd < 0.1 * pairs else None
