"""What the schema.org JSON-LD context says, in short form.

The official context gives every term the name `http://schema.org/<term>`, which `@vocab` does as well; what it adds
are the prefixes, two aliases, and a type for the values of the properties below. It types a property `@id` when its
range holds URL but not Text, and `Date` when its range holds Date but not Text; `dateReceived`, a DateTime, has none.

Source: schema.org 29.3 (schemaorgcontext.jsonld) for prefixes and rule, and the vocabulary as published in
April 2026 (schemaorg-current-http.nt) for the ranges. schema.org's texts are under CC BY-SA 3.0; names and kinds only
are used here.
"""

import re

VERSION = "2026-04"

VOCABULARY = "http://schema.org/"

IS_SCHEMA_ORG = re.compile(
    r"\s*(?:https?:?)?/{0,3}(?:(?:www|[a-z]{3,8}(?:-lifesci)?)\.)?schema\.org\.?(?::\d{1,5})?(?:[/#?].*|\s*)",
    re.IGNORECASE | re.DOTALL,
).fullmatch
"""Every way in which pages spell a reference to the schema.org context, wrong ones and those of its sections included
(`pending.schema.org`)."""

ALIASES = {"type": "@type", "id": "@id", "HTML": "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML"}

PREFIXES = {
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

_LINKS = """
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
_DATES = """
    applicationStartDate auditDate availabilityEnds availabilityStarts birthDate commentTime dateCreated
    dateDeleted dateIssued dateModified datePosted datePublished dateRead dateVehicleFirstRegistered deathDate
    dissolutionDate endDate exceptDate expectedArrivalFrom expectedArrivalUntil expires foundingDate guidelineDate
    lastReviewed legislationDate legislationDateOfApplicability legislationDateVersion merchantReturnDays
    modelDate observationDate orderDate paymentDueDate previousStartDate priceValidUntil productionDate
    purchaseDate releaseDate scheduledPaymentDate scheduledTime sdDatePublished startDate uploadDate validFrom
    validThrough validUntil vehicleModelDate
"""

LINKS = frozenset(_LINKS.split())
DATES = frozenset(_DATES.split())

TYPED = {**dict.fromkeys(LINKS, "@id"), **dict.fromkeys(DATES, VOCABULARY + "Date")}
"""Properties whose plain values have a type."""

TERMS = {term: {"@id": VOCABULARY + term, "@type": kind} for term, kind in TYPED.items()}
