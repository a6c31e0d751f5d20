"""What the Activity Streams 2.0 JSON-LD context says, in short form.

Source: https://www.w3.org/ns/activitystreams (W3C Recommendation of May 2017 and the context published with it). Names
and kinds only. Its `@vocab` names blank nodes, which are no predicates in RDF, so that unknown names say nothing.
"""

import re

VERSION = "2017-05"

NAMESPACE = "https://www.w3.org/ns/activitystreams#"
XSD = "http://www.w3.org/2001/XMLSchema#"

IS_ACTIVITY_STREAMS = re.compile(
    r"\s*(?:https?:)?//(?:www\.)?w3\.org/ns/activitystreams(?:\.jsonld)?[#/]?\s*", re.IGNORECASE
).fullmatch

ALWAYS = {
    "as": NAMESPACE,
    "xsd": XSD,
    "ldp": "http://www.w3.org/ns/ldp#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "id": "@id",
    "type": "@type",
}

_PLAIN = """
    Accept Activity Add Announce Application Arrive Article Audio Block Collection CollectionPage Create Delete Dislike
    Document Event Flag Follow Group Ignore Image IntransitiveActivity Invite IsContact IsFollowedBy IsFollowing
    IsMember Join Leave Like Link Listen Mention Move Note Object Offer OrderedCollection OrderedCollectionPage
    Organization Page Person Place Profile Public Question Read Reject Relationship Remove Service TentativeAccept
    TentativeReject Tombstone Travel Undo Update Video View
    content hreflang mediaType name preferredUsername rel source summary units
"""
_LINKS = """
    actor alsoKnownAs anyOf attachment attributedTo audience bcc bto cc context current describes endpoints first
    followers following formerType generator href icon image inReplyTo instrument items last liked likes location next
    oauthAuthorizationEndpoint oauthTokenEndpoint object oneOf origin outbox partOf prev preview provideClientKey
    proxyUrl relationship replies result sharedInbox shares signClientKey streams subject tag target to uploadMedia url
"""
_TYPED = {
    "dateTime": "closed deleted endTime published startTime updated",
    "float": "accuracy altitude latitude longitude radius",
    "nonNegativeInteger": "height startIndex totalItems width",
    "duration": "duration",
}

TERMS: dict[str, object] = {
    **{term: NAMESPACE + term for term in _PLAIN.split()},
    **{term: {"@id": NAMESPACE + term, "@type": "@id"} for term in _LINKS.split()},
    **{
        term: {"@id": NAMESPACE + term, "@type": XSD + kind} for kind, terms in _TYPED.items() for term in terms.split()
    },
    **{f"{term}Map": {"@id": NAMESPACE + term, "@container": "@language"} for term in ("content", "name", "summary")},
    "inbox": {"@id": "http://www.w3.org/ns/ldp#inbox", "@type": "@id"},
    "orderedItems": {"@id": NAMESPACE + "items", "@type": "@id", "@container": "@list"},
}
