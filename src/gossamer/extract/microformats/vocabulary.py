"""What microformats are called as facts: schema.org where it has a name that means the same, else their own.

The same names are in docs/formats.md, "Microformats as facts"; a test compares the two.
"""

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
