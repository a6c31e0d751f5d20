"""JSON-LD contexts of the user, by URL. Contexts are never fetched, so what is not held here is unknown."""

import re
from collections.abc import Mapping

import msgspec

from gossamer.base.errors import ConfigError

MOST = 100
LARGEST = 1 << 20
"""Contexts, and bytes of one."""

Contexts = Mapping[str, bytes]
"""The documents, by `key_of` their URL."""

HELD: dict[str, bytes] = {}
"""Those of this process; `hold` fills it when a reader process starts."""


def key_of(url: str) -> str:
    """http and https are one, and so is a URL with or without a fragment or a final slash: pages write all of them."""
    plain = url.strip().partition("#")[0].rstrip("/")
    return plain.removeprefix("https:").removeprefix("http:")


def checked(documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contexts that can be used. Raises ConfigError, which names the one that cannot."""
    if len(documents) > MOST:
        raise ConfigError(f"there are {len(documents):,} contexts; at most {MOST} are held")
    for url, document in documents.items():
        if len(document) > LARGEST:
            raise ConfigError(f"the context for {url} is longer than {LARGEST:,} bytes")
        try:
            found = msgspec.json.decode(document)
        except (msgspec.DecodeError, RecursionError) as trouble:
            raise ConfigError(f"the context for {url} is not JSON: {trouble}") from None
        if not isinstance(found, dict) or "@context" not in found:
            raise ConfigError(f"the context for {url} is a JSON document without @context at its top")
    return {key_of(url): document for url, document in documents.items()}


def hold(contexts: Contexts) -> None:
    """From now on this process knows them. For the start of a reader process."""
    HELD.update(contexts)


ACTIVITY_STREAMS = "https://www.w3.org/ns/activitystreams#"
XSD = "http://www.w3.org/2001/XMLSchema#"

IS_ACTIVITY_STREAMS = re.compile(
    r"\s*(?:https?:)?//(?:www\.)?w3\.org/ns/activitystreams(?:\.jsonld)?[#/]?\s*", re.IGNORECASE
).fullmatch

ACTIVITY_PREFIXES = {
    "as": ACTIVITY_STREAMS,
    "xsd": XSD,
    "ldp": "http://www.w3.org/ns/ldp#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "id": "@id",
    "type": "@type",
}

_ACTIVITY_PLAIN = """
    Accept Activity Add Announce Application Arrive Article Audio Block Collection CollectionPage Create Delete Dislike
    Document Event Flag Follow Group Ignore Image IntransitiveActivity Invite IsContact IsFollowedBy IsFollowing
    IsMember Join Leave Like Link Listen Mention Move Note Object Offer OrderedCollection OrderedCollectionPage
    Organization Page Person Place Profile Public Question Read Reject Relationship Remove Service TentativeAccept
    TentativeReject Tombstone Travel Undo Update Video View
    content hreflang mediaType name preferredUsername rel source summary units
"""
_ACTIVITY_LINKS = """
    actor alsoKnownAs anyOf attachment attributedTo audience bcc bto cc context current describes endpoints first
    followers following formerType generator href icon image inReplyTo instrument items last liked likes location next
    oauthAuthorizationEndpoint oauthTokenEndpoint object oneOf origin outbox partOf prev preview provideClientKey
    proxyUrl relationship replies result sharedInbox shares signClientKey streams subject tag target to uploadMedia url
"""
_ACTIVITY_TYPED = {
    "dateTime": "closed deleted endTime published startTime updated",
    "float": "accuracy altitude latitude longitude radius",
    "nonNegativeInteger": "height startIndex totalItems width",
    "duration": "duration",
}

ACTIVITY_TERMS: dict[str, object] = {
    **{term: ACTIVITY_STREAMS + term for term in _ACTIVITY_PLAIN.split()},
    **{term: {"@id": ACTIVITY_STREAMS + term, "@type": "@id"} for term in _ACTIVITY_LINKS.split()},
    **{
        term: {"@id": ACTIVITY_STREAMS + term, "@type": XSD + kind}
        for kind, terms in _ACTIVITY_TYPED.items()
        for term in terms.split()
    },
    **{
        f"{term}Map": {"@id": ACTIVITY_STREAMS + term, "@container": "@language"}
        for term in ("content", "name", "summary")
    },
    "inbox": {"@id": "http://www.w3.org/ns/ldp#inbox", "@type": "@id"},
    "orderedItems": {"@id": ACTIVITY_STREAMS + "items", "@type": "@id", "@container": "@list"},
}


SCHEMA_ORG = "http://schema.org/"

IS_SCHEMA_ORG = re.compile(
    r"\s*(?:https?:?)?/{0,3}(?:(?:www|[a-z]{3,8}(?:-lifesci)?)\.)?schema\.org\.?(?::\d{1,5})?(?:[/#?].*|\s*)",
    re.IGNORECASE | re.DOTALL,
).fullmatch
"""Every way in which pages spell a reference to the schema.org context, wrong ones and those of its sections included
(`pending.schema.org`)."""

SCHEMA_ALIASES = {"type": "@type", "id": "@id", "HTML": "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML"}

SCHEMA_PREFIXES = {
    "brick": "https://brickschema.org/schema/Brick#",
    "csvw": "http://www.w3.org/ns/csvw#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcam": "http://purl.org/dc/dcam/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcmitype": "http://purl.org/dc/dcmitype/",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "dctype": "http://purl.org/dc/dcmitype/",
    "doap": "http://usefulinc.com/ns/doap#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prof": "http://www.w3.org/ns/dx/prof/",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "vann": "http://purl.org/vocab/vann/",
    "void": "http://rdfs.org/ns/void#",
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_SCHEMA_LINKS = """
    acquireLicensePage actionableFeedbackPolicy afterMedia archivedAt associatedDisease beforeMedia
    benefitsSummaryUrl codeRepository colleague colorSwatch constraintProperty contentUrl correctionsPolicy
    discussionUrl diseasePreventionInfo diseaseSpreadStatistics diversityPolicy diversityStaffingReport
    documentation downloadUrl duringMedia embedUrl ethicsPolicy gameLocation gettingTestedInfo hasGS1DigitalLink
    hasMap hasMolecularFunction healthPlanMarketingUrl image inCodeSet inDefinedTermSet installUrl isBasedOn
    isBasedOnUrl isInvolvedInBiologicalProcess isLocatedInSubcellularLocation isPartOf labelDetails layoutImage
    license logo mainEntityOfPage map maps masthead merchantReturnLink missionCoveragePrioritiesPolicy
    newsUpdatesAndGuidelines noBylinesPolicy originalMediaLink paymentUrl prescribingInfo
    publicTransportClosuresInfo publishingPrinciples quarantineGuidelines relatedLink replyToUrl sameAs
    schoolClosuresInfo screenshot sdLicense season serviceUrl significantLink significantLinks speakable target
    targetUrl thumbnailUrl tourBookingPage trackingUrl travelBans unnamedSourcesPolicy url usageInfo
    verificationFactCheckingPolicy webFeed
"""
_SCHEMA_DATES = """
    applicationStartDate auditDate availabilityEnds availabilityStarts birthDate commentTime dateCreated
    dateDeleted dateIssued dateModified datePosted datePublished dateRead dateVehicleFirstRegistered deathDate
    dissolutionDate endDate exceptDate expectedArrivalFrom expectedArrivalUntil expires foundingDate guidelineDate
    lastReviewed legislationDate legislationDateOfApplicability legislationDateVersion merchantReturnDays
    modelDate observationDate orderDate paymentDueDate previousStartDate priceValidUntil productionDate
    purchaseDate releaseDate scheduledPaymentDate scheduledTime sdDatePublished startDate uploadDate validFrom
    validThrough validUntil vehicleModelDate
"""

SCHEMA_LINKS = frozenset(_SCHEMA_LINKS.split())
SCHEMA_DATES = frozenset(_SCHEMA_DATES.split())

SCHEMA_TYPED = {**dict.fromkeys(SCHEMA_LINKS, "@id"), **dict.fromkeys(SCHEMA_DATES, SCHEMA_ORG + "Date")}
"""Properties whose plain values have a type."""

SCHEMA_TERMS = {term: {"@id": SCHEMA_ORG + term, "@type": kind} for term, kind in SCHEMA_TYPED.items()}
