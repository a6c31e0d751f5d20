"""Short names for IRIs and readable values of query results. Templates escape these texts."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

_LAST = re.compile(r"[^/#:]+(?=[/#]?$)")
_LOCAL = re.compile(r"\w[\w.-]*")
PREFIXES = {
    "http://schema.org/": "schema",
    "http://ogp.me/ns#": "og",
    "http://ogp.me/ns/article#": "article",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/ns/rdfa#": "rdfa",
    "http://www.w3.org/2001/XMLSchema#": "xsd",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2004/02/skos/core#": "skos",
    "http://www.w3.org/1999/xhtml/vocab#": "xhv",
    "http://www.w3.org/ns/prov#": "prov",
    "http://www.w3.org/ns/dcat#": "dcat",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/goodrelations/v1#": "gr",
    "http://xmlns.com/foaf/0.1/": "foaf",
}


class ShortName(NamedTuple):
    iri: str
    name: str


@lru_cache(maxsize=4_000)
def named(iri: str) -> ShortName:
    """The last part of an IRI, by which vocabularies name their terms."""
    match = _LAST.search(iri)
    return ShortName(iri, match.group() if match else iri)


@lru_cache(maxsize=4_000)
def short(iri: str) -> str:
    """With a well-known prefix (`schema:name`); the whole IRI if there is none."""
    local = named(iri).name
    prefix = PREFIXES.get(iri[: -len(local)]) if iri.endswith(local) else None
    return f"{prefix}:{local}" if prefix and _LOCAL.fullmatch(local) else iri


LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish",
    "ta": "Tamil", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def language(tag: str) -> str:
    """`German (de-AT)`; the tag alone if its name is not in the table."""
    name = LANGUAGES.get(tag.partition("-")[0].lower())
    return tag if name is None else name if "-" not in tag else f"{name} ({tag})"


_NUMBER = re.compile(r"[+-]?\d[\d.]*([eE][+-]?\d+)?")
_NUMERIC = re.compile(r"http://www\.w3\.org/2001/XMLSchema#(integer|decimal|double|float|int|long)")
_WHOLE_IRI = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]*:[^<>"{}|^`\\\x00-\x20\ud800-\udfff]*""")
"""A valid IRIREF (SPARQL 1.1, 19.8); nothing else is put into a query."""
_WEB = re.compile(r"https?://[^/?#@]+(?:[/?#]|$)", re.IGNORECASE)
_STRING = "http://www.w3.org/2001/XMLSchema#string"


class TermView(NamedTuple):
    text: str
    title: str = ""
    """The full text, if `text` is an abbreviation."""
    href: str = ""
    """A page of this site, never a URL from a fact: an IRI may be `javascript:`."""
    note: str = ""
    language: str = ""
    is_number: bool = False


def term_of(cell: Mapping[str, str], pages: Collection[str] = ()) -> TermView:
    """`cell` as in SPARQL 1.1 Query Results JSON, 3.2.2; `pages`: the IRIs that are URLs of stored pages."""
    match cell.get("type"):
        case "uri":
            iri = cell["value"]
            return TermView(short(iri), iri, page_href(iri) if iri in pages else entity_href(iri))
        case "bnode":
            return TermView("_:" + cell["value"])
        case "literal" | "typed-literal":
            return _literal(cell)
        case "triple":
            return TermView(str(cell["value"]))
        case _:
            return TermView("")


def page_href(url: str) -> str:
    return f"/page?url={quote(url, safe='')}"


def entity_href(iri: str) -> str:
    """The page of an entity, class or property; empty for an invalid IRI, which no query can contain."""
    return f"/entity?iri={quote(iri, safe='')}" if is_whole_iri(iri) else ""


def outside_href(iri: str) -> str:
    """For a link to another site; empty unless it is an HTTP URL.

    REQUIRES: the link has rel="noopener noreferrer nofollow external".
    """
    return iri if _WEB.match(iri) and is_whole_iri(iri) else ""


def named_in(iri: str) -> str:
    """The label of an entity without a name, from its class: `(Person)`."""
    return f"({named(iri).name})" if iri else ""


def is_whole_iri(text: str) -> bool:
    return _WHOLE_IRI.fullmatch(text) is not None


def facts_about(iri: str) -> str:
    """REQUIRES: a whole IRI."""
    return (
        "# Its properties, and the pages that state them\n"
        f"SELECT ?property ?value ?page\nWHERE {{ GRAPH ?page {{ <{iri}> ?property ?value }} }}\nLIMIT 100"
    )


def _literal(cell: Mapping[str, str]) -> TermView:
    text, language, datatype = cell["value"], cell.get("xml:lang", ""), cell.get("datatype", "")
    is_number = bool(_NUMERIC.fullmatch(datatype) and _NUMBER.fullmatch(text))
    note = language if language else named(datatype).name if datatype not in ("", _STRING) and not is_number else ""
    return TermView(text, note=note, language=language, is_number=is_number)
