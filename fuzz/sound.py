"""What must hold for the facts of any page. Used by the fuzzer, the property tests and the hostile tests."""

import re
from collections.abc import Collection

import pyoxigraph as ox

from gossamer.extract.page import READERS, extract
from gossamer.extract.source import SYNTAXES, Extraction, FoundFacts, Source
from gossamer.extract.terms import Labels
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.values.page import MOST_TRIPLES, Triple, ntriples
from gossamer.values.tree import Survey
from gossamer.values.url import Url, url_of

ADDRESS = "https://page.example/dir/page.html?q=1"
CAPTURE = 0xABCDEF
_OURS = re.compile(r"_:c0000000000abcdefn[1-9][0-9]*")


class Unsound(AssertionError):
    """A page made an extractor return something it must not."""


def survey_of(body: bytes) -> Survey:
    """REQUIRES: UTF-8; other bytes become U+FFFD."""
    return scan_html(parse_html(body).tree).survey()


def page_address() -> Url:
    url = url_of(ADDRESS)
    assert url is not None
    return url


def read(name: str, body: bytes, survey: Survey | None = None, collects_notices: bool = True) -> FoundFacts:
    """What one syntax finds, with all options switched on."""
    source = Source(
        survey or survey_of(body),
        ADDRESS,
        ADDRESS,
        Labels(CAPTURE),
        body,
        reads_roles=True,
        collects_notices=collects_notices,
    )
    return READERS[name](source)


def check_reader(name: str, body: bytes) -> FoundFacts:
    """Read a page in one syntax and check everything it returns."""
    survey = survey_of(body)
    found = read(name, body, survey)
    _check(found.triples, len(found.places), f"{name}")
    again = read(name, body, survey, collects_notices=False)
    if (again.triples, again.flags) != (found.triples, found.flags):
        raise Unsound(f"{name}: a second reading finds other facts")
    if again.notices:
        raise Unsound(f"{name}: notices that were not requested")
    for notice in found.notices:
        if notice.level not in ("error", "warning", "info") or not notice.says or " " in notice.kind:
            raise Unsound(f"{name}: a notice without content: {notice}")
    return found


def check_page(body: bytes, syntaxes: Collection[str] = SYNTAXES) -> Extraction:
    """Read a page in all syntaxes together."""
    address = page_address()
    found = extract(survey_of(body), address, CAPTURE, body, address, syntaxes=syntaxes, collects_notices=True)
    _check(found.triples, len(found.places), "page")
    if len(found.stated_in) != len(found.triples):
        raise Unsound("page: the facts and their syntaxes differ in number")
    if len(set(found.triples)) != len(found.triples):
        raise Unsound("page: a fact twice")
    if len(found.triples) > MOST_TRIPLES or (len(found.triples) == MOST_TRIPLES and not found.flags):
        raise Unsound("page: too many facts, or cut without a flag")
    every = (1 << len(SYNTAXES)) - 1
    if not all(0 < bits <= every for bits in found.stated_in):
        raise Unsound("page: a fact of no syntax")
    return found


def _check(triples: list[Triple], places: int, who: str) -> None:
    if places != len(triples):
        raise Unsound(f"{who}: {len(triples)} facts, {places} places")
    try:
        parsed = list(ox.parse(ntriples(triples), format=ox.RdfFormat.N_TRIPLES))
    except (SyntaxError, UnicodeEncodeError) as trouble:
        raise Unsound(f"{who}: not N-Triples: {trouble}") from trouble
    if len(parsed) != len(triples):
        raise Unsound(f"{who}: {len(triples)} facts were written, {len(parsed)} are read")
    for triple, again in zip(triples, parsed, strict=True):
        if (str(again.subject), str(again.predicate)) != triple[:2]:
            raise Unsound(f"{who}: {triple} reads as {again}")
    for subject, _, value in triples:
        for term in (subject, value):
            if term[0] == "_" and not _OURS.fullmatch(term):
                raise Unsound(f"{who}: a label taken from the page: {term}")
