"""The work of reader processes.

A capture's text, links and facts, its archive record, and comparisons of captures.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from gossamer.archive.record import metadata_record, response_record, revisit_record, stored
from gossamer.archive.versions import fact_changes, kinds_of, text_changes
from gossamer.base.clock import in_words
from gossamer.extract.jsonld.contexts import add_user_contexts
from gossamer.extract.origins import packed
from gossamer.extract.page import extract, properties_and_entities, unified
from gossamer.extract.rdfa.prefixes import host_of
from gossamer.extract.source import Extraction
from gossamer.extract.terms import RDF_TYPE
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.coding import CodingProblem, decode
from gossamer.parse.content import content_of, exact, first_line, head_of, may_have_nosnippet, near, xml_text, xml_title
from gossamer.parse.documents.converter import is_document
from gossamer.parse.html.links import links_of
from gossamer.parse.html.tree import ParsedHtml, folded, parse_html, scan_html
from gossamer.parse.language import language_of
from gossamer.parse.sitemaps import listing_of
from gossamer.parse.sniff import HTML, is_xml, media_type_of
from gossamer.parse.xml import doctype_of, parse_xml
from gossamer.plugins.code import DECODER, READERS, contexts_in, loaded
from gossamer.reader.conversion import CONVERTED, archive_text, document_page, most_bytes
from gossamer.recrawl.change import compared, modified_at, prints_of
from gossamer.rules.canonical import may_be_marked, stripped
from gossamer.rules.learned.signs import marks_of, what_it_says
from gossamer.rules.robots import directives_of, parse
from gossamer.spool.codec import encode
from gossamer.values.capture import Capture
from gossamer.values.document import ARCHIVES
from gossamer.values.link import Link
from gossamer.values.messages import (
    Difference,
    HistoryDone,
    HistoryJob,
    Listing,
    PageSigns,
    ReadDone,
    ReadJob,
    ReadVersion,
    job_of,
)
from gossamer.values.page import MOST_LINKS, Directives, OwnReader, Page, Reading, Text, ntriples
from gossamer.values.url import Url, admit, url_of

MOST_TEXT = 2_000_000
"""Characters of a page that the views get."""
ROBOTS_LIMIT = 1 << 20
"""Decoded bytes of a robots.txt; the parser stops at 500 KiB (RFC 9309, 2.5)."""
UNREADABLE = frozenset(CodingProblem) - {CodingProblem.CUT}
"""A body whose coding ends early is read as far as possible; with any other problem, not at all."""
NOT_TEXT = "not-text"
LARGEST_LIST = 50 * 1024 * 1024
"""Of a sitemap, decoded (sitemaps.org)."""
Own = Mapping[str, OwnReader]
NO_OWN: Own = {}
_ENCODER = msgspec.msgpack.Encoder()
_HISTORY_JOB = msgspec.msgpack.Decoder(HistoryJob)
STATING_XML = (b"property=", b"typeof=", b"rel=", b"rev=", b"itemscope", b"ld+json")


def job(payload: bytes, own: Own = NO_OWN) -> bytes:
    """One `ReadJob` in (`parts_of`), one `ReadDone` out, as msgpack. `own`: custom readers, by media type."""
    return _ENCODER.encode(done(job_of(payload), own))


def done(asked: ReadJob, own: Own = NO_OWN) -> ReadDone:
    capture = asked.capture
    digest = hashlib.sha256(capture.body).digest()
    if asked.task == "read":
        return _read(asked, digest, own)
    done = stored(capture, digest, asked.original)
    if asked.task == "store":
        return done
    body = decode(capture.body, capture.joined("content-encoding"), ROBOTS_LIMIT)
    robots = parse(body.body, asked.agent)
    flags = (body.problem.value, *robots.flags) if body.problem else robots.flags
    return msgspec.structs.replace(done, flags=flags, robots=robots)


def _read(asked: ReadJob, digest: bytes, own: Own) -> ReadDone:
    capture = asked.capture
    reading, learnt = read_closely(capture, asked.agent, own, asked.converted)
    page = reading.page
    listing = None if learnt is not None else _listing(asked)
    links = tuple([link.url.text for link in page.links if link.may_follow])
    is_kept = asked.keep == "all" or reading.fact_count > 0
    is_map = listing is not None and listing.kind != "feed"
    is_page = is_kept and page.directives.may_index and is_readable(reading) and not is_map
    original = asked.original if is_kept and is_same(asked, digest, is_page) else None
    # a page that asks not to be indexed replaces its earlier version, without text and facts, but with its links
    silent = Page(page.url, page.media_type, page.charset, links=page.links, directives=page.directives)
    shown = reading if is_page else Reading(reading.capture_id, reading.fetched_at, silent)
    return ReadDone(
        record=revisit_record(capture, original)
        if original is not None
        else response_record(capture, digest)
        if is_kept
        else metadata_record(capture, links, digest),
        reading=encode(shown) if is_page or not page.directives.may_index else b"",
        media_type=page.media_type,
        digest=digest,
        is_page=is_page,
        links=links,
        fact_count=reading.fact_count,
        title=page.title,
        may_follow=page.directives.may_follow,
        flags=reading.flags if listing is None else (*reading.flags, *listing.flags),
        listing=listing,
        signs=learnt,
        prints=prints_of(reading, capture.body) if asked.prints else None,
        modified_at=modified_at(reading.facts, capture.fetched_at) if asked.prints else None,
        is_whole=is_kept,
        refers_at=original.fetched_at if original is not None else None,
        size=len(capture.body),
        charset=page.charset,
        charset_from=page.charset_from,
    )


def is_same(asked: ReadJob, digest: bytes, is_page: bool) -> bool:
    """Whether an earlier capture has the same body and is treated the same by the views."""
    original = asked.original
    if original is None or asked.capture.truncated is not None:
        return False
    return original.digest == digest and original.is_page == is_page


def _listing(asked: ReadJob) -> Listing | None:
    """Its entries, if it is a sitemap or feed."""
    capture = asked.capture
    decoded = decode(capture.body, capture.joined("content-encoding"), LARGEST_LIST)
    if decoded.problem in UNREADABLE:
        return None
    return listing_of(decoded.body, capture.url, capture.header("content-type"), asked.how, capture.fetched_at)


def is_readable(reading: Reading) -> bool:
    """Whether the capture has text. Images and the like are archived, but are not in the views."""
    return NOT_TEXT not in reading.flags and UNREADABLE.isdisjoint(reading.flags)


def read(capture: Capture, agent: str = "") -> Reading:
    """A page and its facts. The same capture always gives the same result, and no content makes this raise."""
    return read_closely(capture, agent)[0]


def read_closely(
    capture: Capture, agent: str = "", own: Own = NO_OWN, converted: bytes = b""
) -> tuple[Reading, PageSigns | None]:
    """The same; for HTML pages also what they show about their host. `converted`: see `ReadJob`."""
    content_type = capture.header("content-type")
    decoded = decode(capture.body, capture.joined("content-encoding"), most_bytes(content_type))
    flags = ["truncated"] if capture.truncated or decoded.truncated else []
    if capture.distrust:
        flags.append("tls-unverified")
    if decoded.problem is not None:
        flags.append(decoded.problem.value)
    body = b"" if decoded.problem in UNREADABLE else decoded.body
    media_type = media_type_of(content_type, body, capture.url.text)
    if converted:
        return _document(capture, agent, media_type, CONVERTED, converted, flags), None
    if own and media_type in own:
        return _own(capture, agent, media_type, body, flags, own[media_type]), None
    if media_type in HTML:
        return _html(capture, agent, media_type, content_type, body, flags)
    if media_type == "text/plain" or is_xml(media_type):
        return _text(capture, agent, media_type, content_type, body, flags), None
    if is_document(media_type):
        return _document(capture, agent, media_type, content_type, body, flags), None
    return _textless(capture, agent, media_type, (*flags, NOT_TEXT)), None


def _document(
    capture: Capture, agent: str, media_type: str, content_type: str | None, body: bytes, flags: list[str]
) -> Reading:
    """A document that is neither HTML nor XML nor plain text."""
    directives = _directives(capture, agent)
    found = document_page(capture, media_type, content_type, body, directives)
    if isinstance(found, str):
        return _textless(capture, agent, media_type, (*flags, found, NOT_TEXT))
    page = msgspec.structs.replace(found.page, links=plain_links(found.page.links, capture.url))
    facts, lines, sources = _for_views(found.facts, directives.may_index)
    return _reading(capture, page, facts, (*flags, *found.flags, *facts.flags), lines, sources)


def _textless(capture: Capture, agent: str, media_type: str, flags: tuple[str, ...]) -> Reading:
    page = Page(capture.url, media_type, "", directives=_directives(capture, agent))
    return Reading(capture.id, capture.fetched_at, page, flags=flags)


def _own(capture: Capture, agent: str, media_type: str, body: bytes, flags: list[str], reader: OwnReader) -> Reading:
    """The result of a custom reader."""
    said = reader(body, capture.url.text, media_type)
    if said is None:
        return _textless(capture, agent, media_type, (*flags, "reader-failed", NOT_TEXT))
    directives = _directives(capture, agent)
    text = folded(said.content)
    if len(text) > MOST_TEXT:
        flags.append("clipped")
    urls = dict.fromkeys([url for link in said.links if (url := url_of(link, capture.url)) is not None])
    links = tuple([Link(url, "", directives.may_follow) for url in islice(urls, MOST_LINKS) if url != capture.url])
    page = Page(
        url=capture.url,
        media_type=media_type,
        charset="utf-8",
        title=folded(said.title),
        headings=tuple([folded(heading) for heading in said.headings]),
        content=text[:MOST_TEXT],
        language=language_of(said.language or None, text),
        links=plain_links(links, capture.url),
        directives=directives,
        exact=exact(text),
        near=near(text),
        charset_from="reader",
    )
    return _reading(capture, page, _NO_FACTS, tuple(flags), b"", b"")


def _html(
    capture: Capture, agent: str, media_type: str, content_type: str | None, body: bytes, flags: list[str]
) -> tuple[Reading, PageSigns]:
    charset = charset_of(content_type, body)
    if charset.conflict:
        flags.append("charset-conflict")
    markup = as_utf8(body, charset.encoding)
    parsed = parse_html(markup)
    seen = scan_html(parsed.tree)
    head = head_of(seen)
    directives = _directives(capture, agent, head.metas)
    found = links_of(seen, capture.url, directives.may_follow)
    facts, lines, sources = _for_views(_facts(capture, media_type, markup, found.base, seen), directives.may_index)
    blocks = content_of(seen, may_have_nosnippet(markup))  # it takes the tree apart, which must not be used afterwards
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
        bold=blocks.bold,
        charset_from=charset.how,
    )
    flags += (*parsed.flags, *found.flags, *facts.flags)
    marks = marks_of(text, page.near, facts.triples)
    says = what_it_says(page.title, page.headings, text, marks.words)
    canonical = page.canonical.host.name if page.canonical is not None else ""
    signs = PageSigns(marks, page.exact, says, canonical)
    return _reading(capture, page, facts, tuple(flags), lines, sources), signs


def plain_links(links: tuple[Link, ...], page: Url) -> tuple[Link, ...]:
    """Links without session ids and tracking parameters; of those that are then equal, the first."""
    if not may_be_marked(" ".join([link.url.text for link in links])):
        return links
    urls = [stripped(link.url) for link in links]
    if all(url is link.url for url, link in zip(urls, links, strict=True)):
        return links
    found: dict[str, Link] = {}
    for url, link in zip(urls, links, strict=True):
        if url != page:
            found.setdefault(url.text, msgspec.structs.replace(link, url=url))
    return tuple(found.values())


def _facts(capture: Capture, media_type: str, markup: bytes, base: Url, seen: ParsedHtml | None) -> Extraction:
    """The facts; of well-formed XHTML by the rules of XML, which has other prefixes, bases and languages. `seen` None:
    of SVG or other XML, most of which has no facts, as a search of its bytes shows."""
    may_have_facts = seen is not None or any(sign in markup for sign in STATING_XML)
    survey = parse_xml(markup) if may_have_facts and media_type != "text/html" else None
    if survey is not None:
        host = host_of(media_type, survey, doctype_of(markup))
        return extract(survey, base, capture.id, markup, capture.url, host=host)
    return _NO_FACTS if seen is None else extract(seen.survey(), base, capture.id, markup, capture.url)


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
        facts = _facts(capture, media_type, markup, capture.url, None)
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
        directives=_directives(capture, agent),
        exact=exact(text),
        near=near(text),
        charset_from=charset.how,
    )
    facts, lines, sources = _for_views(facts, page.directives.may_index)
    return _reading(capture, page, facts, (*flags, *facts.flags), lines, sources)


def _for_views(stated: Extraction, may_index: bool) -> tuple[Extraction, bytes, bytes]:
    """The facts with canonical names, the same as N-Triples, and the record of their origins."""
    lines = ntriples(stated.triples)
    facts, spelt = unified(stated, lines)
    if facts is not stated:
        lines = ntriples(facts.triples)
    return facts, lines, packed(facts, lines, spelt) if may_index else b""


_NO_FACTS = Extraction([], [], [], (), ())


def _reading(
    capture: Capture, page: Page, facts: Extraction, flags: tuple[str, ...], lines: bytes, sources: bytes
) -> Reading:
    properties, entities = properties_and_entities(facts.triples)
    return Reading(
        capture_id=capture.id,
        fetched_at=capture.fetched_at,
        page=page,
        facts=lines,
        fact_count=len(facts.triples),
        types=tuple(dict.fromkeys([o[1:-1] for _, p, o in facts.triples if p == RDF_TYPE and o.startswith("<")])),
        syntaxes=facts.syntaxes,
        flags=tuple(dict.fromkeys(flags)),
        sources=sources,
        properties=properties,
        things=entities,
    )


def _directives(capture: Capture, agent: str, metas: Iterable[tuple[str, str]] = ()) -> Directives:
    fields = [value for name, value in capture.headers if name.lower() == "x-robots-tag"]
    return directives_of(metas, fields, agent, capture.fetched_at)


def reader(argument: str) -> Callable[[bytes], bytes]:
    """`job` with plugins. Their code runs here for the first time, before the sandbox is closed."""
    return partial(job, own=_plugged(argument))


def version_reader(argument: str) -> Callable[[bytes], bytes]:
    """`version_job` with plugins."""
    return partial(version_job, own=_plugged(argument))


def _plugged(argument: str) -> Own:
    plugged = DECODER.decode(argument)
    for scheme, port in plugged.schemes:
        admit(scheme, port)
    if plugged.contexts:
        add_user_contexts(contexts_in(Path(plugged.contexts)))
    own = {media_type: safe(loaded("reader", READERS, name, Path())) for media_type, name in plugged.readers}
    return dict.fromkeys(ARCHIVES, archive_text) | own if plugged.archives else own


def safe(read: Callable[..., object]) -> OwnReader:
    """A custom reader whose errors only cost the page its text."""

    def guarded(body: bytes, url: str, media_type: str) -> Text | None:
        try:
            text = read(body, url, media_type)
            return None if text is None else msgspec.convert(text, Text, from_attributes=True)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - third-party code: it may raise anything
            return None

    return guarded


# Captures read again, and compared.

MOST_FACTS = 5_000
MOST_LINES = 2_000


def version_job(payload: bytes, own: Own = NO_OWN) -> bytes:
    """One `HistoryJob` in, one `HistoryDone` out, both as msgpack."""
    return _ENCODER.encode(version_done(_HISTORY_JOB.decode(payload), own))


def version_done(asked: HistoryJob, own: Own = NO_OWN) -> HistoryDone:
    if asked.before is not None and asked.after is not None:
        return HistoryDone(difference=_difference(asked.before, asked.after))
    assert asked.capture is not None, "there is nothing to read"
    if asked.task == "body":
        most = most_bytes(asked.capture.header("content-type"))
        decoded = decode(asked.capture.body, asked.capture.joined("content-encoding"), most)
        return HistoryDone(body=None if decoded.problem in UNREADABLE else decoded.body)
    return HistoryDone(version=_version_of(asked.capture, asked.agent, own))


def _version_of(capture: Capture, agent: str, own: Own) -> ReadVersion:
    reading, _ = read_closely(capture, agent, own)
    page = reading.page
    may_index = page.directives.may_index
    return ReadVersion(
        url=capture.url.text,
        fetched_at=capture.fetched_at,
        status=capture.status,
        prints=prints_of(reading, capture.body),
        title=page.title,
        description=page.description,
        text=page.content,
        language=page.language,
        facts=reading.facts if may_index else b"",
        fact_count=reading.fact_count if may_index else 0,
        sources=reading.sources if may_index else b"",
        is_readable=is_readable(reading),
        may_index=may_index,
        may_cache=page.directives.may_cache,
    )


def _difference(before: ReadVersion, after: ReadVersion) -> Difference:
    lines, is_cut = text_changes(before.words, after.words)
    facts = fact_changes(before.facts, after.facts)
    is_long = max(len(facts.added), len(facts.removed)) > MOST_FACTS or len(lines) > MOST_LINES
    return Difference(
        after.url,
        in_words(before.fetched_at),
        in_words(after.fetched_at),
        kinds_of(compared(before.prints, after.prints)),
        lines[:MOST_LINES],
        msgspec.structs.replace(facts, added=facts.added[:MOST_FACTS], removed=facts.removed[:MOST_FACTS]),
        is_cut or is_long,
    )
