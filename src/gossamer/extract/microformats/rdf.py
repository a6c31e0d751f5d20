"""Microformats as facts; how and why is in docs/formats.md and docs/decisions/0007-microformats-as-rdf.md."""

import re

from gossamer.extract.microformats.reader import Gathered, Microformat, MicroformatProperty, items_of
from gossamer.extract.microformats.tree import resolved
from gossamer.extract.microformats.values import Html, Image, Value
from gossamer.extract.source import FoundFacts, HostLanguage, Notice, Source
from gossamer.extract.terms import (
    LONGEST_IRI,
    LONGEST_LITERAL,
    RDF,
    RDF_TYPE,
    UNNAMED,
    iri_term,
    kind_of_moment,
    quoted,
    typed_literal,
)
from gossamer.values.tree import Element

# What microformats are called as facts: schema.org where it has a name that means the same, else their own.
# The same names are in docs/formats.md, "Microformats as facts"; a test compares the two.

SCHEMA = "http://schema.org/"
OWN = "http://microformats.org/profile/specs#"
"""The combined profile of all microformats; classes and properties of any name live in it."""
XFN = "http://gmpg.org/xfn/11#"
LICENSE = "<http://www.w3.org/1999/xhtml/vocab#license>"
"""As RDFa calls it, so that both say the same."""
CLASSES = {
    "h-adr": "PostalAddress",
    "h-card": "Person",
    "h-cite": "CreativeWork",
    "h-entry": "Article",
    "h-event": "Event",
    "h-feed": "Collection",
    "h-geo": "GeoCoordinates",
    "h-item": "Thing",
    "h-listing": "Offer",
    "h-news": "NewsArticle",
    "h-product": "Product",
    "h-recipe": "Recipe",
    "h-review": "Review",
    "h-review-aggregate": "AggregateRating",
}
"""An h-card whose organisation is also its name is an Organization (microformats.org/wiki/hcard, organisation
contact info)."""
KNOWN = CLASSES.keys() | {"h-resume", "h-app", "h-x-app", "h-org", "h-rating", "h-measure"}
PROPERTIES = {
    "additional-name": "additionalName",
    "adr": "address",
    "altitude": "elevation",
    "attendee": "attendee",
    "audio": "audio",
    "author": "author",
    "bday": "birthDate",
    "best": "bestRating",
    "brand": "brand",
    "category": "keywords",
    "children": "hasPart",
    "comment": "comment",
    "content": "text",
    "count": "reviewCount",
    "country-name": "addressCountry",
    "description": "description",
    "duration": "duration",
    "email": "email",
    "end": "endDate",
    "family-name": "familyName",
    "geo": "geo",
    "given-name": "givenName",
    "honorific-prefix": "honorificPrefix",
    "honorific-suffix": "honorificSuffix",
    "identifier": "identifier",
    "ingredient": "recipeIngredient",
    "instructions": "recipeInstructions",
    "item": "itemReviewed",
    "job-title": "jobTitle",
    "latitude": "latitude",
    "locality": "addressLocality",
    "location": "location",
    "logo": "logo",
    "longitude": "longitude",
    "name": "name",
    "nickname": "alternateName",
    "note": "description",
    "nutrition": "nutrition",
    "organizer": "organizer",
    "photo": "image",
    "post-office-box": "postOfficeBoxNumber",
    "postal-code": "postalCode",
    "price": "price",
    "published": "datePublished",
    "rating": "ratingValue",
    "region": "addressRegion",
    "review": "review",
    "start": "startDate",
    "street-address": "streetAddress",
    "summary": "abstract",
    "tel": "telephone",
    "uid": "identifier",
    "updated": "dateModified",
    "url": "url",
    "video": "video",
    "votes": "ratingCount",
    "worst": "worstRating",
    "yield": "recipeYield",
}
RELATIONS = {
    "license": LICENSE,
    "tag": f"<{OWN}tag>",
    **{
        word: f"<{XFN}{word}>"
        for word in [
            "acquaintance",
            "child",
            "co-resident",
            "co-worker",
            "colleague",
            "contact",
            "crush",
            "date",
            "friend",
            "kin",
            "me",
            "met",
            "muse",
            "neighbor",
            "parent",
            "sibling",
            "spouse",
            "sweetheart",
        ]
    },
}
"""@rel, where the page has a microformat at all."""


def class_term(kind: str) -> str:
    """REQUIRES: a root class name."""
    return f"<{OWN}{kind}>"


def property_term(name: str) -> str:
    """REQUIRES: a property's name, without its prefix."""
    known = PROPERTIES.get(name)
    return f"<{SCHEMA}{known}>" if known else f"<{OWN}{name}>"


HTML_LITERAL = f"<{RDF}HTML>"
ALT = f"<{OWN}alt>"

_SIGNS = frozenset(
    [
        "bookmark",
        "email",
        "entry-title",
        "fn",
        "h-adr",
        "h-card",
        "h-cite",
        "h-entry",
        "h-event",
        "h-feed",
        "h-geo",
        "h-item",
        "h-product",
        "h-recipe",
        "h-resume",
        "h-review",
        "h-review-aggregate",
        "hentry",
        "include",
        "p-author",
        "p-category",
        "p-location",
        "p-name",
        "p-org",
        "tag",
        "u-email",
        "u-in-reply-to",
        "u-like-of",
        "u-photo",
        "u-repost-of",
        "u-syndication",
        "u-uid",
        "u-url",
        "url",
        "vcard",
        "vevent",
    ]
)
_ROOT = re.compile(rb"h-(?:adr|card|cite|entry|event|feed|geo|item|product|recipe|resume|review)(?![a-z])")
_OLD_ROOTS = ".adr,.geo,.hentry,.hfeed,.hproduct,.hrecipe,.hresume,.hreview,.vevent"
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*(?:([Zz])|([+-]\d\d):?(\d\d)?)?", re.ASCII)


def read_microformats(source: Source) -> FoundFacts:
    if not may_hold(source):
        return FoundFacts()
    gathered = items_of(source.survey.every(), source.base)
    stating = _Stating(source)
    stating.state_all(gathered)
    return stating.found


def may_hold(source: Source) -> bool:
    """Whether a look at all elements is worth its price. The roots of today are searched for in the bytes; nearly every
    one of old has a property, or its root, on a link, and those are at hand; the one that often has none is vcard. Who
    asks for a page alone (`is_thorough`) has the other old roots searched for as well."""
    if _ROOT.search(source.body) is not None or (source.is_thorough and _has_old_root(source)):
        return True
    said: list[str] = []
    for _, _, attributes in source.survey.elements:
        if "class" in attributes:
            said.append(attributes["class"] or "")
        if "rel" in attributes:
            said.append(attributes["rel"] or "")
    return not _SIGNS.isdisjoint(" ".join(said).split()) or b"vcard" in source.body


def _has_old_root(source: Source) -> bool:
    root = source.survey.root
    return root is not None and (source.host is not HostLanguage.HTML or bool(root.css(_OLD_ROOTS)))


class _Stating:
    def __init__(self, source: Source) -> None:
        self.found = FoundFacts()
        self._source = source
        self._subjects: dict[int, str] = {}

    def state_all(self, gathered: Gathered) -> None:
        self.found.flags.extend(gathered.flags)
        stated = [item for item in gathered.every if not item.is_cut and self._is_meant(item)]
        for item in stated:
            self._subjects[id(item)] = self._subject(item)
        for item in stated:
            self._state_item(item)
            if len(self.found.triples) >= self._source.at_most:
                self.found.flags.append("too-many-facts")
                break
        if stated:
            self._state_relations()
        del self.found.triples[self._source.at_most :], self.found.places[self._source.at_most :]

    def _is_meant(self, item: Microformat) -> bool:
        """`h-` begins the names of many style sheets: a class that no microformat has is one only when properties
        are stated in it, and an old root only when it has any."""
        if any(one.number != item.number or one.region is not item.region for one in item.properties) or item.children:
            return True
        if not item.old and not KNOWN.isdisjoint(item.types):
            return bool(item.properties)
        if self._source.takes_notes:
            says = f"Nothing is said of this {' '.join(item.types)}, so it is left out."
            self.found.notices.append(Notice("warning", "microformat-without-properties", says, item.element))
        return False

    def _subject(self, item: Microformat) -> str:
        """Its u-uid, which is there to say what it is; else a blank node. Not its u-url: the URL of a person's
        page is not the person."""
        for one in item.properties:
            if one.prefix == "u" and one.name == "uid" and one.nested is None:
                named = self._address(one.value)
                if named[0] == "<" or named == UNNAMED:
                    return named
        return self._source.labels.new()

    def _state_item(self, item: Microformat) -> None:
        subject, element, state = self._subjects[id(item)], item.element, self.found.state
        for kind in item.types:
            state(element, subject, RDF_TYPE, class_term(kind))
        for kind in item.types:
            if kind == "h-card" and _is_half_known(item):
                continue
            if kind in CLASSES:
                name = "Organization" if kind == "h-card" and _is_organization(item) else CLASSES[kind]
                state(element, subject, RDF_TYPE, f"<{SCHEMA}{name}>")
        if self._source.takes_notes and item.old:
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
            thing = self._subjects[id(one.nested)]
        elif one.prefix == "u":
            thing = self._address(one.value)
        elif isinstance(one.value, Html):
            thing = typed_literal(one.value.html, HTML_LITERAL)
        else:
            thing = moment_term(_words(one.value)) if one.prefix == "dt" else quoted(_words(one.value))
        if thing == '""':
            return
        if len(thing) > LONGEST_LITERAL:
            self.found.flags.append("literal-too-long")
            return
        self.found.state(one.element, subject, property_term(one.name), thing)
        if isinstance(one.value, Image) and one.value.alt and thing[0] == "<":
            self.found.state(one.element, thing, ALT, quoted(one.value.alt))

    def _address(self, value: Value) -> str:
        """What is no IRI even when repaired stays what it was written as."""
        words = _words(value)
        return UNNAMED if len(words) > LONGEST_IRI else iri_term(words) or quoted(words)

    def _state_relations(self) -> None:
        for element, tag, attributes in self._source.survey.elements:
            rel = attributes.get("rel")
            if not rel or "href" not in attributes or tag not in ("a", "area", "link"):
                continue
            for word in dict.fromkeys(rel.lower().split()):
                if word in RELATIONS:
                    self._state_relation(element, RELATIONS[word], attributes["href"] or "")

    def _state_relation(self, element: Element, predicate: str, address: str) -> None:
        thing = iri_term(resolved(address, self._source.base))
        if thing is not None:
            self.found.state(element, f"<{self._source.address}>", predicate, thing)


def _is_half_known(item: Microformat) -> bool:
    """Whether it cannot be told a person from an organization, because a limit cut its name."""
    cut = [one.name for one in item.properties if one.nested is not None and one.nested.is_cut]
    return "name" in cut or "org" in cut


def _is_organization(item: Microformat) -> bool:
    name, organization = item.first("p", "name"), item.first("p", "org")
    return name is not None and name == organization


def _words(value: Value) -> str:
    return value if isinstance(value, str) else value.value


def moment_term(text: str) -> str:
    """A literal with the XML Schema type whose form `text` has, or has once its parts are spelled as the type wants:
    authors of microformats may leave out the T, the seconds, and the colon and minutes of an offset."""
    found = _MOMENT.fullmatch(text)
    if found:
        date, time, seconds, universal, hours, minutes = found.groups()
        zone = "Z" if universal else f"{hours}:{minutes or '00'}" if hours else ""
        whole = f"{date}T{time}{seconds or ':00'}{zone}"
    else:
        whole = text
    kind = kind_of_moment(whole)
    return quoted(text) if kind is None else typed_literal(whole, kind)
