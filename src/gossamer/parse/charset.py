"""Which encoding the bytes are in, by the rules browsers follow (WHATWG HTML, "determining the character encoding").

In order: byte order mark, Content-Type header, declaration in the first 1,024 bytes, the zeros of UTF-16 and UTF-32,
the escapes of ISO-2022-JP, UTF-8 when the bytes are valid UTF-8, and at last a guess. UTF-7 is never believed.
"""

import re
from typing import Literal, NamedTuple

from chardetng_py.detector import EncodingDetector

from gossamer.parse.labels import EBCDIC, decode, encoding_in, encoding_named

# UTF-16 and UTF-32, told by their byte order mark or by where the zeros are. Every other encoding of the web is ASCII
# in its lower half, EBCDIC apart.

_MARKS = (
    (b"\0\0\xfe\xff", "utf-32be"),
    (b"\xff\xfe\0\0", "utf-32le"),  # before the shorter mark of UTF-16 that it begins with
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)
_HIGHEST_PLANE = 0x10


def marked_wide(head: bytes) -> str | None:
    """The encoding that a byte order mark names."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def unmarked_wide(head: bytes) -> str | None:
    """UTF-32 has a zero and a plane in every unit; in UTF-16 nearly every second byte of a page is zero."""
    if b"\0" not in head:
        return None
    units = len(head) // 4 * 4
    columns = [head[at:units:4] for at in range(4)]
    if units >= 8:
        if not any(columns[3]) and max(columns[2]) <= _HIGHEST_PLANE:
            return "utf-32le"
        if not any(columns[0]) and max(columns[1]) <= _HIGHEST_PLANE:
            return "utf-32be"
    pairs = len(head) // 2
    if pairs < 2:
        return None
    even, odd = head[: pairs * 2 : 2].count(0), head[1 : pairs * 2 : 2].count(0)
    if odd > 0.6 * pairs and even < 0.1 * pairs:
        return "utf-16le"
    return "utf-16be" if even > 0.6 * pairs and odd < 0.1 * pairs else None


# The last resort for bytes that declare nothing and are not UTF-8: the detector that Firefox uses (chardetng), and two
# Cyrillic code pages that it does not know.

FALLBACK = "windows-1252"
_SAMPLE = 1 << 20
_WORD = re.compile(r"[^\x00-\x40\[-`{-~]{3,}")
_CYRILLIC = re.compile("[\u0400-\u042f\u0490]?[\u0430-\u045f\u0491]+|[\u0400-\u042f\u0490]+")
"""A word as it is written: in small letters, perhaps with a capital first, or in capitals. Read in another code page,
the capitals and some of the letters are symbols, Latin, or capitals inside a word."""
_LEAST_WORDS = 5
_LEAST_SHARE = 0.9


def guessed(body: bytes) -> str:
    detector = EncodingDetector()
    detector.feed(body[:_SAMPLE], last=len(body) <= _SAMPLE)
    label = detector.guess(tld=None, allow_utf8=False)
    found = encoding_named("windows-874" if label == "cp874" else label) or FALLBACK
    if found not in ("windows-1252", "windows-1251"):
        return found
    shares = {name: _cyrillic(body[:_SAMPLE], name) for name in ("windows-1251", "x-mac-cyrillic", "ibm855")}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > _LEAST_SHARE else found


def _cyrillic(sample: bytes, encoding: str) -> float:
    """The share of well-formed Cyrillic words among those that are not ASCII."""
    words = [word for word in _WORD.findall(decode(sample, encoding)) if not word.isascii()]
    if len(words) < _LEAST_WORDS:
        return 0.0
    return sum(_CYRILLIC.fullmatch(word) is not None for word in words) / len(words)


PRESCANNED = 1024
_LATE = 1 << 16
_IN_CONTENT = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"'][^\t\n\f\r ;]*))"
)
_ESCAPES = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")
_EBCDIC_XML = "<?xml".encode("cp037")
_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
# One step of the prescan: a comment, a meta tag's start, another tag's start, or markup to be skipped to its ">".
_STEP = re.compile(
    rb"<!--(?P<comment>)|<meta(?=[\t\n\f\r /])(?P<meta>)|</?[a-z][^\t\n\f\r >]*+(?P<tag>)|<[!/?][^>]*+>?", re.IGNORECASE
)
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)[\t\n\f\r ]*+"
    rb"(?:=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f\r >\"'][^\t\n\f\r >]*+|(?=[\t\n\f\r >]))))?+"
)
How = Literal["bom", "header", "meta", "zeros", "escapes", "utf-8", "guess"]
"""Byte order mark, Content-Type, declaration in the page, the zeros of UTF-16 and UTF-32, the escapes of ISO-2022-JP,
bytes that are valid UTF-8, or none of these."""


class Charset(NamedTuple):
    encoding: str
    """A name of the WHATWG standard, lower case; or "utf-32le", "utf-32be", "ibm" and the number of a code page."""
    how: How
    """What told it."""
    conflict: bool = False
    """Two declarations disagree, and the stronger one was believed."""


def charset_of(content_type: str | None, body: bytes) -> Charset:
    head = body[:PRESCANNED]
    marked = "utf-8" if head.startswith(b"\xef\xbb\xbf") else marked_wide(head)
    in_header = encoding_in(content_type)
    if in_header in EBCDIC and is_utf8(body):
        in_header = None  # a gateway translated the page and left its label as it was
    # Reading the declaration only to see it agree with the header is the usual case: then its name is enough.
    is_repeated = in_header is not None and in_header.encode() in head.lower()
    in_meta = in_header if is_repeated else prescan(head)
    declared = [name for name in (marked, in_header, in_meta) if name is not None]
    conflict = len(set(declared)) > 1
    if declared:
        how: How = "bom" if marked else "header" if in_header else "meta"
        return Charset(declared[0], how, conflict)
    if (wide := unmarked_wide(head)) is not None:
        return Charset(wide, "zeros")
    if b"\x1b" in body and _ESCAPES.search(body):
        return Charset("iso-2022-jp", "escapes")  # before UTF-8: its bytes are ASCII
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


def prescan(head: bytes) -> str | None:
    """The declaration inside the page, if there is one that may be believed."""
    if head.startswith(_EBCDIC_XML):
        # All EBCDIC code pages agree on the characters of a declaration (XML, appendix F).
        xml = _XML.match(head.decode("cp037").encode("latin-1"))
        named = encoding_named(xml[1].decode()) if xml else None
        return named if named in EBCDIC else None
    if b"harset" not in head and b"HARSET" not in head and b"encoding" not in head:
        return None
    if (xml := _XML.match(head)) is not None and (named := _believable(xml[1])) is not None:
        return named
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
    return _believable(label)


def _believable(label: bytes) -> str | None:
    """A declaration that could be read as ASCII is neither in UTF-16 nor in EBCDIC; nobody means x-user-defined."""
    named = encoding_named(label.decode("latin-1"))
    if named is None or named in EBCDIC:
        return None
    return {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(named, named)
