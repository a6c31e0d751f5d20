"""The known JSON-LD contexts: the user's, by URL, and the bundled ones. Contexts are never fetched."""

import re
from collections.abc import Mapping

import msgspec

from gossamer.base.errors import ConfigError

MOST = 100
LARGEST = 1 << 20
"""Number of contexts, and bytes of one."""

Contexts = Mapping[str, bytes]
"""The documents, by `key_of` their URL."""

USER_CONTEXTS: dict[str, bytes] = {}
"""The user's contexts in this process; `add_user_contexts` adds them when a reader process starts."""


def key_of(url: str) -> str:
    """The URL without scheme, fragment and final slash: pages vary in these."""
    plain = url.strip().partition("#")[0].rstrip("/")
    return plain.removeprefix("https:").removeprefix("http:")


def checked_contexts(documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The usable contexts by key. Raises ConfigError, which names the first that is unusable."""
    if len(documents) > MOST:
        raise ConfigError(f"there are {len(documents):,} contexts; at most {MOST} are allowed")
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


def add_user_contexts(contexts: Contexts) -> None:
    """Make contexts known to this process, when it starts."""
    USER_CONTEXTS.update(contexts)


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
"""Every spelling of a reference to the schema.org context in pages, wrong ones and sections (`pending.schema.org`)
included."""

SCHEMA_ALIASES = {"type": "@type", "id": "@id", "HTML": "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML"}

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
