"""The reader's work, done in a worker process: what a capture says and means, and its record for the archive."""

import hashlib
from typing import Literal

import msgspec

from gossamer.archive.record import metadata_record, response_record
from gossamer.extract.hosts import host_of
from gossamer.extract.page import Extraction, extract
from gossamer.extract.places import packed
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.coding import Problem, decode
from gossamer.parse.content import blocks_of, head_of
from gossamer.parse.fingerprints import exact, near
from gossamer.parse.html import LARGEST, Seen, parse_html, seen_in
from gossamer.parse.language import language_of
from gossamer.parse.links import links_of
from gossamer.parse.listings import Listing, listing_of
from gossamer.parse.plain import first_line, xml_text, xml_title
from gossamer.parse.sniff import HTML, is_xml, media_type_of
from gossamer.parse.text import folded
from gossamer.parse.xml import doctype_of, parse_xml
from gossamer.rules.canonical import stripped
from gossamer.rules.directives import directives_of
from gossamer.rules.marks import Marks, marks_of
from gossamer.rules.robots import ParsedRobots, parse
from gossamer.rules.soft404 import Says, what_it_says
from gossamer.spool.codec import encode
from gossamer.values.capture import Capture, Kept, Place
from gossamer.values.link import How, Link
from gossamer.values.page import Page, Reading, Triple, ntriples
from gossamer.values.url import Url

MOST_TEXT = 2_000_000
"""Characters of a page that the views get; nobody reads further, and no snippet comes from there."""
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ROBOTS_LIMIT = 1 << 20
"""Decoded bytes of a robots.txt; the parser itself stops at 500 KiB (RFC 9309, 2.5)."""
UNREADABLE = frozenset(Problem) - {Problem.CUT}
"""A coding that merely ends early is read as far as it goes; bytes under any other problem are nobody's words."""
NOT_TEXT = "not-text"
LARGEST_LIST = 50 * 1024 * 1024
"""Of a sitemap, decoded (sitemaps.org)."""
STATING_XML = (b"property=", b"typeof=", b"rel=", b"rev=", b"itemscope", b"ld+json")

Task = Literal["read", "robots", "store"]
Keep = Literal["all", "structured"]


class ReadJob(msgspec.Struct, frozen=True):
    capture: Capture
    task: Task = "read"
    """What to do beside making the record: read a page, parse a robots.txt, or nothing."""
    keep: Keep = "all"
    """Which pages are kept whole: all, or only those that state facts."""
    agent: str = ""
    """Our product name, as pages and robots.txt would call us."""
    how: How = How.LINK
    """How its address was come by: plain text that was named as a sitemap is one."""


class Learnt(msgspec.Struct, frozen=True, array_like=True):
    """What tells a page that brings something from one of an endless series, or from one that says it is none."""

    marks: Marks
    exact: bytes
    says: Says = Says.NOTHING


class ReadDone(msgspec.Struct, frozen=True):
    record: bytes
    reading: bytes
    """For the spool; empty when there is nothing for the views."""
    media_type: str
    digest: bytes
    """SHA-256 of the body as received."""
    is_page: bool = False
    """Whether the views hold it."""
    links: tuple[str, ...] = ()
    """Addresses that may be followed."""
    fact_count: int = 0
    title: str = ""
    may_follow: bool = True
    flags: tuple[str, ...] = ()
    robots: ParsedRobots | None = None
    listing: Listing | None = None
    """What it lists, when it is a sitemap or a feed."""
    learnt: Learnt | None = None
    """Of HTML pages."""


def kept_at(place: Place, capture: Capture, done: ReadDone) -> Kept:
    """What the catalogue holds of it, once its record lies at `place`."""
    return Kept(
        capture.id,
        capture.url,
        capture.fetched_at,
        place,
        capture.status,
        done.media_type,
        done.digest,
        len(capture.body),
        done.is_page,
    )


def job(payload: bytes) -> bytes:
    """One `ReadJob` in, one `ReadDone` out, both as msgpack."""
    return _done.encode(done(_job.decode(payload)))


_job = msgspec.msgpack.Decoder(ReadJob)
_done = msgspec.msgpack.Encoder()


def done(asked: ReadJob) -> ReadDone:
    capture = asked.capture
    digest = hashlib.sha256(capture.body).digest()
    if asked.task == "read":
        return _read(asked, digest)
    record = response_record(capture, digest)
    media_type = media_type_of(capture.header("content-type"), capture.body)
    if asked.task == "store":
        return ReadDone(record, b"", media_type, digest)
    body = decode(capture.body, capture.joined("content-encoding"), ROBOTS_LIMIT)
    robots = parse(body.body, asked.agent)
    flags = (body.problem.value, *robots.flags) if body.problem else robots.flags
    return ReadDone(record, b"", media_type, digest, flags=flags, robots=robots)


def _read(asked: ReadJob, digest: bytes) -> ReadDone:
    capture = asked.capture
    reading, learnt = read_closely(capture, asked.agent)
    page = reading.page
    listing = None if learnt is not None else _listing(asked)
    links = tuple([link.url.text for link in page.links if link.may_follow])
    is_kept = asked.keep == "all" or reading.fact_count > 0
    is_map = listing is not None and listing.kind != "feed"
    is_page = is_kept and page.directives.may_index and is_readable(reading) and not is_map
    return ReadDone(
        record=response_record(capture, digest) if is_kept else metadata_record(capture, links, digest),
        reading=encode(reading) if is_page else encode(wordless(reading)) if not page.directives.may_index else b"",
        media_type=page.media_type,
        digest=digest,
        is_page=is_page,
        links=links,
        fact_count=reading.fact_count,
        title=page.title,
        may_follow=page.directives.may_follow,
        flags=reading.flags if listing is None else (*reading.flags, *listing.flags),
        listing=listing,
        learnt=learnt,
    )


def _listing(asked: ReadJob) -> Listing | None:
    """The sitemap or feed that it may be."""
    capture = asked.capture
    decoded = decode(capture.body, capture.joined("content-encoding"), LARGEST_LIST)
    if decoded.problem in UNREADABLE:
        return None
    return listing_of(decoded.body, capture.url, capture.header("content-type"), asked.how, capture.fetched_at)


def wordless(reading: Reading) -> Reading:
    """For a page that asks not to be indexed: it takes the place of what was known of it, and
    says nothing; its links still count."""
    page = reading.page
    silent = Page(page.url, page.media_type, page.charset, links=page.links, directives=page.directives)
    return Reading(reading.capture_id, reading.fetched_at, silent)


def is_readable(reading: Reading) -> bool:
    """Whether the capture holds words at all. Images and the like are kept, not shown in the views."""
    return NOT_TEXT not in reading.flags and UNREADABLE.isdisjoint(reading.flags)


def read(capture: Capture, agent: str = "") -> Reading:
    """What a capture says and means. The same capture always reads the same; nothing it can hold makes this raise."""
    return read_closely(capture, agent)[0]


def read_closely(capture: Capture, agent: str = "") -> tuple[Reading, Learnt | None]:
    """The same, and of an HTML page what can be learnt from it about its host."""
    decoded = decode(capture.body, capture.joined("content-encoding"), LARGEST)
    flags = ["truncated"] if capture.truncated or decoded.truncated else []
    if capture.distrust:
        flags.append("tls-unverified")
    content_type = capture.header("content-type")
    if decoded.problem is not None:
        flags.append(decoded.problem.value)
    body = b"" if decoded.problem in UNREADABLE else decoded.body
    media_type = media_type_of(content_type, body)
    if media_type in HTML:
        return _html(capture, agent, media_type, content_type, body, flags)
    if media_type == "text/plain" or is_xml(media_type):
        return _text(capture, agent, media_type, content_type, body, flags), None
    directives = directives_of((), _robots_tags(capture), agent, capture.fetched_at)
    page = Page(capture.url, media_type, "", directives=directives)
    return Reading(capture.id, capture.fetched_at, page, flags=(*flags, NOT_TEXT)), None


def _html(
    capture: Capture, agent: str, media_type: str, content_type: str | None, body: bytes, flags: list[str]
) -> tuple[Reading, Learnt]:
    charset = charset_of(content_type, body)
    if charset.conflict:
        flags.append("charset-conflict")
    markup = as_utf8(body, charset.encoding)
    parsed = parse_html(markup)
    seen = seen_in(parsed.tree)
    head = head_of(seen)
    directives = directives_of(head.metas, _robots_tags(capture), agent, capture.fetched_at)
    found = links_of(seen, capture.url, directives.may_follow)
    facts = _facts(capture, media_type, markup, found.base, seen)
    lines = ntriples(facts.triples)
    sources = packed(facts, lines) if directives.may_index else b""
    blocks = blocks_of(seen)  # takes the tree apart: nothing may look at it afterwards
    text = blocks.content or blocks.rest
    if len(blocks.content) > MOST_TEXT or len(blocks.rest) > MOST_TEXT:
        flags.append("clipped")
    page = Page(
        url=capture.url,
        media_type=media_type,
        charset=charset.encoding,
        title=head.title,
        description=head.description,
        headings=blocks.headings,
        content=blocks.content[:MOST_TEXT],
        rest=blocks.rest[:MOST_TEXT],
        language=language_of(head.language, text),
        links=plain_links(found.links, capture.url),
        canonical=found.canonical,
        directives=directives,
        exact=exact(text),
        near=near(text),
    )
    flags += (*parsed.flags, *found.flags, *facts.flags)
    return _reading(capture, page, facts, tuple(flags), lines, sources), _learnt(page, text, facts.triples)


def plain_links(links: tuple[Link, ...], page: Url) -> tuple[Link, ...]:
    """Without session ids and tracking parameters; links that are one without them become one, the first."""
    urls = [stripped(link.url) for link in links]
    if all(url is link.url for url, link in zip(urls, links, strict=True)):
        return links
    found: dict[str, Link] = {}
    for url, link in zip(urls, links, strict=True):
        if url != page:
            found.setdefault(url.text, msgspec.structs.replace(link, url=url))
    return tuple(found.values())


def _learnt(page: Page, text: str, triples: list[Triple]) -> Learnt:
    marks = marks_of(text, page.near, triples)
    return Learnt(marks, page.exact, what_it_says(page.title, page.headings, text, marks.words))


def _facts(capture: Capture, media_type: str, markup: bytes, base: Url, seen: Seen) -> Extraction:
    """XHTML that is well-formed states its facts as XML: prefixes, bases and languages follow other rules there."""
    survey = parse_xml(markup) if media_type != "text/html" else None
    if survey is None:
        return extract(seen.survey(), base, capture.id, markup, capture.url)
    host = host_of(media_type, survey, doctype_of(markup))
    return extract(survey, base, capture.id, markup, capture.url, host=host)


def _xml_facts(capture: Capture, media_type: str, markup: bytes) -> Extraction:
    """Of SVG and of XML that is nobody's page: most of it says nothing, which a search of the bytes tells."""
    survey = parse_xml(markup) if any(sign in markup for sign in STATING_XML) else None
    if survey is None:
        return _NO_FACTS
    host = host_of(media_type, survey, doctype_of(markup))
    return extract(survey, capture.url, capture.id, markup, capture.url, host=host)


def _text(
    capture: Capture, agent: str, media_type: str, content_type: str | None, body: bytes, flags: list[str]
) -> Reading:
    charset = charset_of(content_type, body)
    if charset.conflict:
        flags.append("charset-conflict")
    markup = as_utf8(body, charset.encoding)
    written = markup.decode("utf-8", "replace")
    facts = _NO_FACTS
    if is_xml(media_type):
        title, text = xml_title(written), xml_text(written)
        facts = _xml_facts(capture, media_type, markup)
    else:
        title, text = first_line(written), folded(written)
    if len(text) > MOST_TEXT:
        flags.append("clipped")
    page = Page(
        url=capture.url,
        media_type=media_type,
        charset=charset.encoding,
        title=title,
        content=text[:MOST_TEXT],
        language=language_of(None, text),
        directives=directives_of((), _robots_tags(capture), agent, capture.fetched_at),
        exact=exact(text),
        near=near(text),
    )
    lines = ntriples(facts.triples)
    sources = packed(facts, lines) if page.directives.may_index else b""
    return _reading(capture, page, facts, (*flags, *facts.flags), lines, sources)


_NO_FACTS = Extraction([], [], [], (), ())


def _reading(
    capture: Capture, page: Page, facts: Extraction, flags: tuple[str, ...], lines: bytes, sources: bytes
) -> Reading:
    return Reading(
        capture_id=capture.id,
        fetched_at=capture.fetched_at,
        page=page,
        facts=lines,
        fact_count=len(facts.triples),
        types=types_of(facts.triples),
        syntaxes=facts.syntaxes,
        flags=tuple(dict.fromkeys(flags)),
        sources=sources,
    )


def types_of(triples: list[Triple]) -> tuple[str, ...]:
    """IRIs of the classes named by rdf:type; distinct, in document order."""
    return tuple(dict.fromkeys([o[1:-1] for _, p, o in triples if p == RDF_TYPE and o.startswith("<")]))


def _robots_tags(capture: Capture) -> list[str]:
    return [value for name, value in capture.headers if name.lower() == "x-robots-tag"]
