"""A readable, harmless page of a document's text: headings, lists, tables and links, nothing else.

Every text is escaped, every element is written here, and links lead where the caller says.
"""

from collections.abc import Callable, Iterator
from html import escape
from itertools import groupby, pairwise

from gossamer.parse.safe_copy import POLICY
from gossamer.values.document import CUT, DAMAGED, Block, BlockKind, DocumentText, TextSpan
from gossamer.values.url import Url, url_of

LONGEST = 2_000_000
"""Characters of the text; the rest is left out."""
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 1rem; color: #111;
  background: #fff; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }
td { border: 1px solid #bbb; padding: 2px 6px; vertical-align: top; }
pre { background: #f4f4f4; padding: .5rem; white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; color: #333; margin: 0 0 1rem; }
dd { margin: 0; } .aside { color: #555; font-size: .9em; } .large { font-size: 1.15em; }
.note { border: 1px solid #8a6100; background: #fff3c4; padding: 4px 10px; }
"""
_NOTES = {
    CUT: "The document is longer than what is read of it: the rest is not shown.",
    DAMAGED: "A part of the document is damaged and is not shown.",
}
_INNER = {"bold": "b", "large": 'span class="large"'}
_AROUND: dict[BlockKind, tuple[str, str]] = {
    "paragraph": ("<p>", "</p>"),
    "aside": ('<p class="aside">', "</p>"),
    "item": ("<li>", "</li>"),
}


def document_copy(found: DocumentText, title: str, url: Url, link: Callable[[Url], str]) -> str:
    """The whole page. `link`: the target of a link to that URL."""
    shown, length = [], 0
    for block in found.blocks:
        length += len(block.text)
        if length > LONGEST:
            break
        shown.append(block)
    notes = [f'<p class="note">{says}</p>' for flag, says in _NOTES.items() if flag in found.flags]
    name = escape(title or url.text)
    return "".join(
        [
            '<!doctype html><html><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">',
            f"<title>{name}</title><style>{STYLE}</style></head><body>",
            *_properties(found),
            *notes,
            *_written(shown, url, link),
            *_more_links(found, url, link),
            "</body></html>",
        ]
    )


def _properties(found: DocumentText) -> Iterator[str]:
    said = found.metadata
    values = {
        "Title": said.title,
        "Author": ", ".join(said.authors),
        "Created": said.created,
        "Modified": said.modified,
        "Subject": said.subject,
        "Keywords": ", ".join(said.keywords),
    }
    lines = [f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in values.items() if value]
    if lines:
        yield f"<dl>{''.join(lines)}</dl>"


def _written(blocks: list[Block], url: Url, link: Callable[[Url], str]) -> Iterator[str]:
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        if kind == "row":
            yield "<table>"
            for block in group:
                yield f"<tr>{''.join(_cells(block, url, link))}</tr>"
            yield "</table>"
        elif kind == "item":
            yield "<ul>"
            for block in group:
                indent = f' style="margin-left: {min(block.level, 8) * 1.5}em"' if block.level else ""
                yield f"<li{indent}>{_inline(block.text, block.spans, url, link)}</li>"
            yield "</ul>"
        else:
            for block in group:
                yield _block(block, url, link)


def _block(block: Block, url: Url, link: Callable[[Url], str]) -> str:
    if block.kind == "code":
        return f"<pre>{escape(block.text)}</pre>"
    text = _inline(block.text, block.spans, url, link)
    if block.kind == "heading":
        level = min(max(block.level, 1), 6)
        return f"<h{level}>{text}</h{level}>"
    start, end = _AROUND[block.kind]
    return f"{start}{text}{end}"


def _cells(block: Block, url: Url, link: Callable[[Url], str]) -> Iterator[str]:
    at = 0
    for cell in block.text.split("\t"):
        end = at + len(cell)
        spans = tuple(
            [
                one._replace(start=one.start - at, end=min(one.end, end) - at)
                for one in block.spans
                if at <= one.start < end
            ]
        )
        yield f"<td>{_inline(cell, spans, url, link)}</td>"
        at = end + 1


def _inline(text: str, spans: tuple[TextSpan, ...], url: Url, link: Callable[[Url], str]) -> str:
    """The text with its spans. Where they overlap, it is cut at each of their ends, so that elements nest."""
    if not spans:
        return escape(text)
    ends = sorted({0, len(text), *[min(max(at, 0), len(text)) for span in spans for at in (span.start, span.end)]})
    parts = []
    for start, end in pairwise(ends):
        piece = escape(text[start:end])
        over = [span for span in spans if span.start <= start and end <= span.end]
        for span in over:
            if span.kind == "link":
                piece = _linked(piece, span.target, url, link)
            elif (tag := _INNER.get(span.kind)) is not None:
                piece = f"<{tag}>{piece}</{tag.partition(' ')[0]}>"
        parts.append(piece)
    return "".join(parts)


def _linked(piece: str, target: str, url: Url, link: Callable[[Url], str]) -> str:
    found = url_of(target.strip(), url) if target and not target.startswith("#") else None
    if found is None:
        return piece
    return f'<a href="{escape(link(found))}" target="_top" rel="noreferrer">{piece}</a>'


def _more_links(found: DocumentText, url: Url, link: Callable[[Url], str]) -> Iterator[str]:
    """Those whose place in the text is unknown."""
    shown = {span.target for block in found.blocks for span in block.spans if span.kind == "link"}
    more = dict.fromkeys([one for one in found.links if one.target not in shown])
    lines = [_linked(escape(one.text or one.target), one.target, url, link) for one in more]
    items = [f"<li>{line}</li>" for line in lines if line.startswith("<a ")]
    if items:
        yield f"<h2>Links</h2><ul>{''.join(items)}</ul>"
