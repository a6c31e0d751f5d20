"""A document as a page: its text, headings, links and metadata, as the views take them."""

from typing import NamedTuple

import msgspec

from gossamer.extract.document import document_facts
from gossamer.extract.source import Extraction
from gossamer.parse.content import (
    LONGEST_BOLD,
    LONGEST_DESCRIPTION,
    LONGEST_HEADING,
    LONGEST_TITLE,
    MOST_BOLD,
    MOST_HEADINGS,
    exact,
    near,
)
from gossamer.parse.documents.converter import convert, is_document
from gossamer.parse.html.tree import LARGEST
from gossamer.parse.language import language_of
from gossamer.parse.sniff import essence
from gossamer.values.capture import Capture
from gossamer.values.document import ARCHIVES, UNTYPED, DocumentText, Metadata, UnreadableDocument
from gossamer.values.link import Link
from gossamer.values.page import MOST_LINKS, Directives, Page, Text
from gossamer.values.url import Url, url_of

LONGEST_ANCHOR = 200
CONVERTED = "text/html; charset=utf-8; converted"
UNREADABLE_FLAG = "document-{}"
"""With the reason of `UnreadableDocument`: "document-encrypted", "document-damaged", ..."""


LARGEST_DOCUMENT = 64 * 1024 * 1024
"""Decoded bytes, as of a PDF file that is fetched."""


def most_bytes(content_type: str | None) -> int:
    """How many decoded bytes of a response are read."""
    label = essence(content_type)
    return LARGEST_DOCUMENT if is_document(label) or label in UNTYPED or label in ARCHIVES else LARGEST


class DocumentPage(NamedTuple):
    page: Page
    facts: Extraction
    flags: tuple[str, ...]


def document_page(
    capture: Capture, media_type: str, content_type: str | None, body: bytes, directives: Directives
) -> DocumentPage | str:
    """The page; or a flag that says why the document has no text. `content_type`: CONVERTED for text that another
    program made of the body."""
    found = convert(body, "text/html" if content_type == CONVERTED else media_type, content_type or "")
    if isinstance(found, UnreadableDocument):
        return UNREADABLE_FLAG.format(found.reason)
    content = " ".join([block.text.replace("\t", " ") for block in found.blocks if block.kind != "aside"])
    rest = " ".join([block.text for block in found.blocks if block.kind == "aside"])
    content, rest = " ".join(content.split()), " ".join(rest.split())
    said = found.metadata
    page = Page(
        url=capture.url,
        media_type=media_type,
        charset="utf-8",
        title=title_of(found),
        description=(said.description or said.subject)[:LONGEST_DESCRIPTION],
        headings=_headings(found),
        content=content,
        rest=" ".join([rest, *said.authors, said.subject, *said.keywords]).strip(),
        language=language_of(said.language or None, content),
        links=_links(found, capture.url, directives.may_follow),
        directives=directives,
        exact=exact(content),
        near=near(content),
        bold=_bold(found),
        charset_from="reader",
    )
    return DocumentPage(page, document_facts(_for_facts(said, page), capture.url, capture.id), found.flags)


def archive_text(body: bytes, url: str, media_type: str) -> Text | None:
    """The members of an archive; None if none of it can be read."""
    found = convert(body, media_type)
    if isinstance(found, UnreadableDocument):
        return None
    return Text(
        content=" ".join([block.text.replace("\t", " ") for block in found.blocks]),
        title=url.partition("?")[0].rpartition("/")[2],
        headings=_headings(found),
        links=tuple([target for target, _ in found.links if not target.startswith("#")]),
    )


def title_of(found: DocumentText) -> str:
    """As the metadata has it, or else the first heading, or the first words."""
    if found.metadata.title:
        return found.metadata.title[:LONGEST_TITLE]
    headings = [block for block in found.blocks if block.kind == "heading"]
    first = headings[:1] or [block for block in found.blocks if block.kind in ("paragraph", "item", "row")][:1]
    return " ".join(first[0].text.split())[:LONGEST_HEADING] if first else ""


def _for_facts(said: Metadata, page: Page) -> Metadata:
    """Without a language that the text contradicts."""
    primary = said.language.replace("_", "-").partition("-")[0].lower()
    return said if not said.language or primary == page.language else msgspec.structs.replace(said, language="")


def _headings(found: DocumentText) -> tuple[str, ...]:
    texts = [block.text[:LONGEST_HEADING] for block in found.blocks if block.kind == "heading"]
    return tuple(dict.fromkeys(texts))[:MOST_HEADINGS]


def _bold(found: DocumentText) -> tuple[str, ...]:
    texts: dict[str, None] = {}
    for block in found.blocks:
        for span in block.spans if block.kind != "aside" else ():
            if span.kind == "bold" and 1 < span.end - span.start <= LONGEST_BOLD:
                texts[" ".join(block.text[span.start : span.end].split())] = None
        if len(texts) >= MOST_BOLD:
            break
    return tuple(texts)[:MOST_BOLD]


def _links(found: DocumentText, base: Url, may_follow: bool) -> tuple[Link, ...]:
    """Each URL once, with the first text that links to it."""
    links: dict[str, Link] = {}
    for target, text in found.links:
        url = url_of(target.strip(), base) if not target.startswith("#") else None
        if url is not None and url != base and url.text not in links:
            links[url.text] = Link(url, text[:LONGEST_ANCHOR], may_follow)
            if len(links) == MOST_LINKS:
                break
    return tuple(links.values())
