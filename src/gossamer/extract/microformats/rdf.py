"""Microformats as facts (docs/formats.md, docs/decisions/0007-microformats-as-rdf.md)."""

import re

from gossamer.extract.microformats.reader import Microformat, MicroformatProperty, PageMicroformats, items_of
from gossamer.extract.microformats.tree import resolved
from gossamer.extract.microformats.values import Html, Image, Value
from gossamer.extract.source import FoundFacts, HostLanguage, Notice, Source
from gossamer.extract.terms import (
    HTML_LITERAL,
    LONGEST_IRI,
    LONGEST_LITERAL,
    RDF_TYPE,
    UNKNOWN_TERM,
    iri_term,
    quoted,
    time_datatype,
    typed_literal,
)

# The names of microformats in facts: those of schema.org where it has one that means the same, else their own.
# docs/formats.md, "Microformats as facts", has the same table; a test compares the two.

SCHEMA = "http://schema.org/"
OWN = "http://microformats.org/profile/specs#"
"""The combined profile of all microformats, which covers classes and properties of any name."""
XFN = "http://gmpg.org/xfn/11#"
LICENSE = "<http://www.w3.org/1999/xhtml/vocab#license>"
"""The name that RDFa uses, so that both state the same fact."""
CLASSES = {
    "h-adr": "PostalAddress", "h-card": "Person", "h-cite": "CreativeWork", "h-entry": "Article", "h-event": "Event",
    "h-feed": "Collection", "h-geo": "GeoCoordinates", "h-item": "Thing", "h-listing": "Offer",
    "h-news": "NewsArticle", "h-product": "Product", "h-recipe": "Recipe", "h-review": "Review",
    "h-review-aggregate": "AggregateRating",
}  # fmt: skip
"""An h-card whose organisation is also its name is an Organization (microformats.org/wiki/hcard, organisation
contact info)."""
KNOWN = CLASSES.keys() | {"h-resume", "h-app", "h-x-app", "h-org", "h-rating", "h-measure"}
PROPERTIES = {
    "additional-name": "additionalName", "adr": "address", "altitude": "elevation", "attendee": "attendee",
    "audio": "audio", "author": "author", "bday": "birthDate", "best": "bestRating", "brand": "brand",
    "category": "keywords", "children": "hasPart", "comment": "comment", "content": "text", "count": "reviewCount",
    "country-name": "addressCountry", "description": "description", "duration": "duration", "email": "email",
    "end": "endDate", "family-name": "familyName", "geo": "geo", "given-name": "givenName",
    "honorific-prefix": "honorificPrefix", "honorific-suffix": "honorificSuffix", "identifier": "identifier",
    "ingredient": "recipeIngredient", "instructions": "recipeInstructions", "item": "itemReviewed",
    "job-title": "jobTitle", "latitude": "latitude", "locality": "addressLocality", "location": "location",
    "logo": "logo", "longitude": "longitude", "name": "name", "nickname": "alternateName", "note": "description",
    "nutrition": "nutrition", "organizer": "organizer", "photo": "image", "post-office-box": "postOfficeBoxNumber",
    "postal-code": "postalCode", "price": "price", "published": "datePublished", "rating": "ratingValue",
    "region": "addressRegion", "review": "review", "start": "startDate", "street-address": "streetAddress",
    "summary": "abstract", "tel": "telephone", "uid": "identifier", "updated": "dateModified", "url": "url",
    "video": "video", "votes": "ratingCount", "worst": "worstRating", "yield": "recipeYield",
}  # fmt: skip
_XFN_WORDS = """
    acquaintance child co-resident co-worker colleague contact crush date friend kin me met muse neighbor parent sibling
    spouse sweetheart
"""
RELATIONS = {"license": LICENSE, "tag": f"<{OWN}tag>", **{word: f"<{XFN}{word}>" for word in _XFN_WORDS.split()}}
"""@rel, on pages that have a microformat."""


def property_term(name: str) -> str:
    """The IRI of a property, given without its prefix."""
    known = PROPERTIES.get(name)
    return f"<{SCHEMA}{known}>" if known else f"<{OWN}{name}>"


ALT = f"<{OWN}alt>"

_SIGN_WORDS = """
    bookmark email entry-title fn h-adr h-card h-cite h-entry h-event h-feed h-geo h-item h-product h-recipe
    h-resume h-review h-review-aggregate hentry include p-author p-category p-location p-name p-org tag u-email
    u-in-reply-to u-like-of u-photo u-repost-of u-syndication u-uid u-url url vcard vevent
"""
_SIGNS = frozenset(_SIGN_WORDS.split())
_ROOT = re.compile(rb"h-(?:adr|card|cite|entry|event|feed|geo|item|product|recipe|resume|review)(?![a-z])")
_OLD_ROOTS = ".adr,.geo,.hentry,.hfeed,.hproduct,.hrecipe,.hresume,.hreview,.vevent"
_DATE_AND_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*(?:([Zz])|([+-]\d\d):?(\d\d)?)?", re.ASCII
)


def read_microformats(source: Source) -> FoundFacts:
    if not may_have_microformats(source):
        return FoundFacts()
    gathered = items_of(source.survey.every(), source.base)
    stating = _Writer(source)
    stating.state_all(gathered)
    return stating.found


def may_have_microformats(source: Source) -> bool:
    """Whether the page may have microformats, so that reading all its elements is worth while.

    Current root classes are searched for in the bytes. Nearly every old one has its root or a property on a link, and
    links are in the survey; only vcard often has neither. The other old roots are searched for only if `is_thorough`.
    """
    root = source.survey.root
    if _ROOT.search(source.body) is not None:
        return True
    if source.is_thorough and root is not None and (source.host is not HostLanguage.HTML or root.css(_OLD_ROOTS)):
        return True
    stated = [attributes for _, _, attributes in source.survey.elements]
    words = [one[name] or "" for one in stated for name in ("class", "rel") if name in one]
    return not _SIGNS.isdisjoint(" ".join(words).split()) or b"vcard" in source.body


class _Writer:
    def __init__(self, source: Source) -> None:
        self.found = FoundFacts()
        self._source = source
        self._subjects: dict[int, str] = {}

    def state_all(self, gathered: PageMicroformats) -> None:
        self.found.flags.extend(gathered.flags)
        stated = [item for item in gathered.every if not item.is_cut and self._is_microformat(item)]
        for item in stated:
            self._subjects[id(item)] = self._subject(item)
        for item in stated:
            self._state_item(item)
            if len(self.found.triples) >= self._source.at_most:
                self.found.flag("too-many-facts")
                break
        if stated:
            self._state_relations()
        del self.found.triples[self._source.at_most :], self.found.places[self._source.at_most :]

    def _is_microformat(self, item: Microformat) -> bool:
        """Whether it is a microformat: many style sheets use class names with `h-`, so an unknown class counts only if
        it has properties of its own elements, and an old root only if it has any."""
        if any(one.number != item.number or one.region is not item.region for one in item.properties) or item.children:
            return True
        if not item.old and not KNOWN.isdisjoint(item.types):
            return bool(item.properties)
        if self._source.collects_notices:
            says = f"This {' '.join(item.types)} has no properties, so it is left out."
            self.found.notices.append(Notice("warning", "microformat-without-properties", says, item.element))
        return False

    def _subject(self, item: Microformat) -> str:
        """Its u-uid, or else a blank node. Not its u-url: the URL of a person's page is not the person."""
        for one in item.properties:
            if one.prefix == "u" and one.name == "uid" and one.nested is None:
                iri = self._iri(one.value)
                if iri[0] == "<" or iri == UNKNOWN_TERM:
                    return iri
        return self._source.labels.new()

    def _state_item(self, item: Microformat) -> None:
        subject, element, state = self._subjects[id(item)], item.element, self.found.state
        for kind in item.types:
            state(element, subject, RDF_TYPE, f"<{OWN}{kind}>")
        for kind in item.types:
            name = _card_type(item) if kind == "h-card" else CLASSES.get(kind)
            if name:
                state(element, subject, RDF_TYPE, f"<{SCHEMA}{name}>")
        if self._source.collects_notices and item.old:
            says = f"Class names of the first microformats ({', '.join(item.old)}), read as {' '.join(item.types)}."
            self.found.notices.append(Notice("info", "microformat-of-old", says, element))
        for one in item.properties:
            self._state_property(subject, one)
        for child in item.children:
            if id(child) in self._subjects:
                state(child.element, subject, property_term("children"), self._subjects[id(child)])

    def _state_property(self, subject: str, one: MicroformatProperty) -> None:
        if one.nested is not None and one.nested.is_cut:
            return
        if one.nested is not None and id(one.nested) in self._subjects:
            value = self._subjects[id(one.nested)]
        elif one.prefix == "u":
            value = self._iri(one.value)
        elif isinstance(one.value, Html):
            value = typed_literal(one.value.html, HTML_LITERAL)
        else:
            value = (time_literal if one.prefix == "dt" else quoted)(_text(one.value))
        if value == '""':
            return
        if len(value) > LONGEST_LITERAL:
            self.found.flags.append("literal-too-long")
            return
        self.found.state(one.element, subject, property_term(one.name), value)
        if isinstance(one.value, Image) and one.value.alt and value[0] == "<":
            self.found.state(one.element, value, ALT, quoted(one.value.alt))

    def _iri(self, value: Value) -> str:
        """Text that is no IRI even after repair stays a literal."""
        text = _text(value)
        return UNKNOWN_TERM if len(text) > LONGEST_IRI else iri_term(text) or quoted(text)

    def _state_relations(self) -> None:
        for element, tag, attributes in self._source.survey.elements:
            rel = attributes.get("rel")
            if not rel or "href" not in attributes or tag not in ("a", "area", "link"):
                continue
            for word in dict.fromkeys(rel.lower().split()):
                iri = iri_term(resolved(attributes["href"] or "", self._source.base)) if word in RELATIONS else None
                if iri is not None:
                    self.found.state(element, f"<{self._source.address}>", RELATIONS[word], iri)


def _card_type(item: Microformat) -> str | None:
    """The class of an h-card; None if a limit cut the name that shows whether it is a person or an organization."""
    if any(one.nested is not None and one.nested.is_cut and one.name in ("name", "org") for one in item.properties):
        return None
    name, organization = item.first("p", "name"), item.first("p", "org")
    return "Organization" if name is not None and name == organization else CLASSES["h-card"]


def _text(value: Value) -> str:
    return value if isinstance(value, str) else value.value


def time_literal(text: str) -> str:
    """A literal with the XML Schema type whose form `text` has, perhaps after normalising: authors of microformats may
    leave out the T, the seconds, and the colon and minutes of an offset."""
    whole = text
    if found := _DATE_AND_TIME.fullmatch(text):
        date, time, seconds, universal, hours, minutes = found.groups()
        zone = "Z" if universal else f"{hours}:{minutes or '00'}" if hours else ""
        whole = f"{date}T{time}{seconds or ':00'}{zone}"
    datatype = time_datatype(whole)
    return quoted(text) if datatype is None else typed_literal(whole, datatype)
