"""One name for one thing: the canonical spelling of IRIs, in which the views hold and compare them.

RDF compares IRIs character by character, so two pages that spell a name differently speak of two things. Three kinds of
variants are folded, and nothing else (docs/decisions/0022-canonical-iris.md):

- namespaces that pages spell with http and https, or with `www.`: those of schema.org and Open Graph;
- percent-encoded UTF-8 of characters that an IRI may hold as they are (RFC 3987, 3.2);
- host names in Punycode, which become Unicode.

The readers of pages leave names as the page spells them; `variants.unified` is applied on the way to the views.
"""

import re
from functools import lru_cache

import ada_url

_VARIANT = re.compile(r"https?://(?:(?:www\.)?(?=schema\.org/)|(?=ogp\.me/ns[#/]))([^/]*)", re.IGNORECASE)
"""A namespace that is spelt in several ways; its canonical form is http:// and the host."""
_WEB = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_UTF8 = re.compile(
    r"%[Cc][2-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Dd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}"
    r"|%[Ff][0-4](?:%[89ABab][0-9A-Fa-f]){3}"
)
_PLANES = "".join([f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)])
UCS = f"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef{_PLANES}\U000e1000-\U000efffd"
"""For a character class: what is not ASCII and may stand in an IRI (RFC 3987, 2.2, `ucschar`)."""
_READABLE = re.compile(f"(?![\u200e\u200f\u202a-\u202e\u2066-\u2069])[{UCS}]")
"""Marks of direction stay encoded: they would change how the rest of the IRI is displayed (RFC 3987, 4.1)."""
_LONGEST_HOST = 255


def canonical(iri: str) -> str:
    """The spelling that stands for all variants of this IRI. Idempotent."""
    found = _VARIANT.match(iri)
    if found is not None:
        iri = f"http://{found[1].lower()}{iri[found.end() :]}"
    return iri_of(iri)


def iri_of(url: str) -> str:
    """A URL as the IRI for it (RFC 3987, 3.2), which leads to the same resource; other schemes stay as they are."""
    web = _WEB.match(url)
    if web is None:
        return url
    if "%" in url:
        url = _UTF8.sub(_character, url)
        web = _WEB.match(url) or web
    host = web[1]
    if (not host.isascii() or "xn--" in host.lower()) and len(host) <= _LONGEST_HOST:
        return url[: web.start(1)] + _unicode_host(host) + url[web.end() :]
    return url


def canonical_term(term: str) -> str:
    """The same for an N-Triples term; of a literal, its datatype."""
    if term[0] == "<":
        return f"<{canonical(term[1:-1])}>"
    if term[-1] == ">" and term[0] == '"':
        words, mark, kind = term.rpartition('"^^<')
        return f"{words}{mark}{canonical(kind[:-1])}>"
    return term


def _character(found: re.Match[str]) -> str:
    """The character that the octets stand for, if an IRI may hold it as it is."""
    try:
        character = bytes.fromhex(found[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return found[0]
    return character if _READABLE.fullmatch(character) else found[0]


@lru_cache(maxsize=1024)
def _unicode_host(authority: str) -> str:
    """Unchanged where it is no host name, or where the two forms do not lead to one another."""
    name, colon, port = authority.partition(":")
    try:
        plain = ada_url.idna_to_ascii(name)
        readable = ada_url.idna_to_unicode(plain)
        is_same = bool(plain) and ada_url.idna_to_ascii(readable) == plain
    except (ValueError, UnicodeError):
        return authority
    return f"{readable}{colon}{port}" if is_same else authority


_UNICODE_HOST = re.compile(rb"<https?://[^/?#>\x80-\xff]*[\x80-\xff]", re.IGNORECASE).search
_ESCAPED = re.compile(rb"%[C-Fc-f][0-9A-Fa-f]%").search


def may_vary(lines: bytes) -> bool:
    """Whether facts, as N-Triples, may hold a name that is not canonical: a quick look, which is right for most pages
    and never misses one."""
    if b"%" in lines and _ESCAPED(lines):
        return True
    plain = lines.lower()
    return (
        plain.count(b"schema.org/") != lines.count(b"<http://schema.org/")
        or plain.count(b"//ogp.me/ns") != lines.count(b"<http://ogp.me/ns")
        or b"xn--" in plain
        or (not lines.isascii() and _UNICODE_HOST(lines) is not None)
    )
