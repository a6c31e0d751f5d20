"""Short names for IRIs, for people."""

import re
from functools import lru_cache
from typing import NamedTuple

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
    """The last part of an IRI is what vocabularies name things by."""
    match = _LAST.search(iri)
    return ShortName(iri, match.group() if match else iri)


@lru_cache(maxsize=4_000)
def short(iri: str) -> str:
    """With a prefix that everybody knows (`schema:name`); the whole IRI when there is none."""
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
    """`German (de-AT)`; the tag alone when we have no name for it."""
    name = LANGUAGES.get(tag.partition("-")[0].lower())
    return tag if name is None else name if "-" not in tag else f"{name} ({tag})"
