"""N-Triples terms as text: valid IRIs, literals, and blank node labels.

Labels are unique across captures.

Every term is accepted by RDF stores (RFC 3987 for IRIs, BCP 47 for language tags); what cannot be repaired becomes
None, and its fact is not stated.
"""

import re
from functools import lru_cache

import ada_url
from pyoxigraph import Literal, NamedNode

from gossamer.extract.vocabularies import UCS, iri_of

LONGEST_IRI = 8192
LONGEST_LITERAL = 1 << 20
UNKNOWN_TERM = "?"
"""A term that is unknown because a limit was reached: facts with it are not stated. Unlike None, which means that the
page names nothing, so that another subject applies."""

_LONGEST_TAG = 64
UNKNOWN_LANGUAGE = "@?"
"""A language that is unknown for the same reason; no other term ends like this."""
_WHITE = " \t\n\r\f"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_PATH = re.compile(  # nothing to normalise
    r"/(?:[A-Za-z0-9_~.-]+/)*[A-Za-z0-9_~.-]*(?:\?[A-Za-z0-9_~.=&-]*)?(?:#[A-Za-z0-9_~.=&-]*)?"
)
_PLAIN_HOST = re.compile(r"//[a-z0-9.-]*\.[a-z]{2,24}(?::(?!(?:80|443)/)(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?(?=/)")
_HEAD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/?#]*)?")
_NO_HOST = "base.invalid"
_DROPPED = re.compile(r"[\t\n\r]")  # the URL standard removes these first
_NOT_ALLOWED = re.compile(rf"%(?![0-9A-Fa-f]{{2}})|[^A-Za-z0-9._~!$&'()*+,;=:@/?%{UCS}-]")
_ESCAPES = {
    **{code: f"\\u{code:04X}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **dict.fromkeys(range(0xD800, 0xE000), "�"),  # half a surrogate pair is no character
    **{
        ord(char): escape
        for char, escape in zip('\t\b\n\r\f"\\', (r"\t", r"\b", r"\n", r"\r", r"\f", r"\"", r"\\"), strict=True)
    },
}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML_LITERAL = f"<{RDF}XMLLiteral>"
HTML_LITERAL = f"<{RDF}HTML>"
RDF_TYPE = f"<{RDF}type>"
RDF_FIRST = f"<{RDF}first>"
RDF_REST = f"<{RDF}rest>"
RDF_NIL = f"<{RDF}nil>"


class Labels:
    """Blank node labels of one capture: the same on every reading, and unique to the capture."""

    __slots__ = ("_count", "_stem")

    def __init__(self, capture_id: int) -> None:
        self._stem = f"_:c{capture_id & 0xFFFF_FFFF_FFFF_FFFF:016x}n"
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"{self._stem}{self._count}"


def has_scheme(text: str) -> bool:
    return _SCHEME.match(text.strip(_WHITE)) is not None


def absolute(text: str, base: str) -> str | None:
    """`text` as an absolute IRI. REQUIRES: `base` is an http(s) URL without fragment.

    Text with a scheme is unchanged: RDF compares IRIs character by character, so `http://a` is not `http://a/`.
    """
    if _SCHEME.match(text):
        return text
    text = text.strip(_WHITE)
    if not text or text[0] == "#":
        return base + text
    if _SCHEME.match(text):
        return text
    if _PLAIN_PATH.fullmatch(text) and "/." not in text:
        return base[: base.find("/", base.find("//") + 2)] + text
    host = _PLAIN_HOST.match(text)
    if host and "xn--" not in host[0] and _PLAIN_PATH.fullmatch(text, host.end()) and "/." not in text:
        return base[: base.find(":") + 1] + text
    return joined(base, text)


def joined(base: str, text: str) -> str | None:
    """`text` resolved as in browsers, but without encoding what IRIs allow; None if impossible. REQUIRES: `base` is an
    http(s) URL."""
    try:
        return str(ada_url.join_url(base, text)) if base.isascii() and text.isascii() else _joined(base, text)
    except (ValueError, UnicodeEncodeError):
        return None


def _joined(base: str, text: str) -> str:
    """Undoes the parser's encoding of non-ASCII characters. Earlier escapes stay: their percent signs are hidden from
    the parser."""
    start = base.find("/", base.find("//") + 2)
    start = len(base) if start < 0 else start
    scheme = base[: base.find(":")]
    path = base[start:].replace("%", "%25")
    whole = str(ada_url.join_url(f"{scheme}://{_NO_HOST}{path}", text.replace("%", "%25")))
    origin = f"{scheme}://{_NO_HOST}/"
    iri = iri_of(whole).replace("%25", "%")
    return base[:start] + iri[len(origin) - 1 :] if iri.startswith(origin) else iri


def iri_term(text: str) -> str | None:
    """An absolute IRI as `<...>`, with forbidden characters escaped; None if it is still no IRI."""
    if len(text) > LONGEST_IRI:
        return None
    try:
        NamedNode(text)
    except ValueError:
        repaired = repaired_iri(text)
        return None if repaired is None else f"<{repaired}>"
    return f"<{text}>"


def repaired_iri(text: str) -> str | None:
    """Percent-encode what RFC 3987 forbids after the authority; None if that is not enough."""
    text = _DROPPED.sub("", text.strip(_WHITE))
    head = _HEAD.match(text)
    if head is None or len(text) > LONGEST_IRI:
        return None
    path, mark, fragment = text[head.end() :].partition("#")
    repaired = f"{head[0]}{_NOT_ALLOWED.sub(_percent, path)}{mark}{_NOT_ALLOWED.sub(_percent, fragment)}"
    try:
        NamedNode(repaired)
    except ValueError:
        return None
    return repaired


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


def quoted(text: str) -> str:
    """The text of a literal, escaped and in quotation marks."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_ESCAPES)}"'


def literal_text(term: str) -> str:
    """The text of a literal, unescaped. REQUIRES: an N-Triples literal."""
    inside = term[1 : term.rindex('"')]
    return _ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _PLAIN_ESCAPES.get(found[3], found[3])


def typed_literal(text: str, datatype: str) -> str:
    """REQUIRES: `datatype` is an IRI term, as `iri_term` makes them."""
    return f"{quoted(text)}^^{datatype}"


@lru_cache(maxsize=1024)
def _suffix(tag: str) -> str:
    try:
        Literal("", language=tag)
    except ValueError:
        return ""
    return f"@{tag}"


def language_suffix(tag: str) -> str:
    """The suffix of a literal in that language: `@en`, in lower case (RDF 1.1 Concepts, 3.3); empty if the tag is
    invalid (BCP 47), UNKNOWN_LANGUAGE if it is too long."""
    tag = tag.strip(_WHITE).lower()
    if len(tag) > _LONGEST_TAG:
        return UNKNOWN_LANGUAGE
    return _suffix(tag) if tag else ""


# The XML Schema types of times and durations: the forms that both HTML (`<time>`) and XML Schema allow.

_ZONE = r"(?:Z|[+-]\d\d:\d\d)?"
_DATE = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?"
_FORMS = tuple(
    (re.compile(form, re.ASCII), f"<{XSD}{kind}>")
    for form, kind in (
        (f"{_DATE}{_ZONE}", "date"),
        (f"{_DATE}T{_TIME}{_ZONE}", "dateTime"),
        (f"{_TIME}{_ZONE}", "time"),
        (f"-?\\d{{4,}}-(?:0[1-9]|1[0-2]){_ZONE}", "gYearMonth"),
        (f"-?\\d{{4,}}{_ZONE}", "gYear"),
        (r"-?P(?!$)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?", "duration"),
    )
)


def time_datatype(text: str) -> str | None:
    """The datatype of a time or duration, as an IRI term; None for other texts."""
    return next((kind for form, kind in _FORMS if form.fullmatch(text)), None)
