"""Documents that are text: tables with separators, JSON, notebooks, Markdown."""

import csv
import re
from collections.abc import Iterable
from html import unescape
from io import StringIO
from typing import Any

import msgspec

from gossamer.parse.charset import charset_of, decode
from gossamer.parse.documents.draft import MOST_CHARACTERS, Draft, NoText
from gossamer.parse.documents.markup import add_markup
from gossamer.values.document import CUT, TSV

LARGEST = 16 * 1024 * 1024
LONGEST = 2 * MOST_CHARACTERS
"""Characters that are looked at; white space does not count as text, but takes time too."""
MOST_CELLS = 500_000
LONGEST_CELL = 32_767
MOST_JSON_DEPTH = 100
_SNIFFED = 8_192
_SEPARATORS = ",;\t|"


def text_of(body: bytes, content_type: str, draft: Draft) -> str:
    if len(body) > LARGEST:
        draft.flag(CUT)
        body = body[:LARGEST]
    text = decode(body, charset_of(content_type, body).encoding).removeprefix("\ufeff").replace("\x00", "")
    if len(text) > LONGEST:
        draft.flag(CUT)
    return text[:LONGEST]


def add_table(body: bytes, draft: Draft, content_type: str) -> None:
    """The rows of a text with separators."""
    text = text_of(body, content_type, draft)
    separator = "\t" if content_type.startswith(TSV) else _separator(text[:_SNIFFED])
    cells = 0
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator)
    csv.field_size_limit(LONGEST_CELL * 4)
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            draft.flag(CUT)
            continue
        if row is None:
            return
        cells += len(row)
        for cell in row:
            draft.spend()
            draft.run(cell[:LONGEST_CELL])
            draft.end_cell()
        draft.end_row()
        if cells > MOST_CELLS:
            draft.flag(CUT)
            return


def _separator(head: str) -> str:
    """The one that occurs in most lines, most often."""
    lines = [line for line in head.split("\n")[:20] if line.strip()]
    counts = {one: (sum(one in line for line in lines), sum(line.count(one) for line in lines)) for one in _SEPARATORS}
    return max(_SEPARATORS, key=lambda one: counts[one])


def add_json(body: bytes, draft: Draft, content_type: str) -> None:
    """JSON as paragraphs: each value after the names that lead to it."""
    text = text_of(body, content_type, draft)
    try:
        held = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):  # perhaps one value a line
        for line in text.split("\n"):
            draft.spend()
            draft.line(line[:LONGEST_CELL])
        return
    if isinstance(held, dict):
        title = next((held[name] for name in ("title", "name", "headline") if isinstance(held.get(name), str)), "")
        draft.state(title=title)
    stack: list[tuple[str, Any, int]] = [("", held, 0)]
    while stack:
        name, value, depth = stack.pop()
        draft.spend()
        if isinstance(value, dict | list) and depth < MOST_JSON_DEPTH:
            inner = value.items() if isinstance(value, dict) else [(name, one) for one in value]
            stack += reversed([(str(key), one, depth + 1) for key, one in inner])
        elif value is not None:
            said = str(value).lower() if isinstance(value, bool) else str(value)
            draft.line(f"{name}: {said[:LONGEST_CELL]}" if name else said[:LONGEST_CELL])


def add_notebook(body: bytes, draft: Draft, content_type: str) -> None:
    """A Jupyter notebook: its text, its code and what that printed."""
    try:
        held = msgspec.json.decode(text_of(body, content_type, draft).encode("utf-8", "replace"))
        cells = held["cells"]
    except (msgspec.DecodeError, LookupError, TypeError, RecursionError) as trouble:
        raise NoText("damaged", "The file is no notebook.") from trouble
    for cell in cells if isinstance(cells, list) else ():
        if not isinstance(cell, dict):
            continue
        draft.spend(10)
        source = _joined(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            add_marked(source, draft)
        else:
            draft.code(source)
        for output in cell.get("outputs") or ():
            if isinstance(output, dict):
                said = output.get("text") or (output.get("data") or {}).get("text/plain")
                draft.code(_joined(said))


def _joined(source: object) -> str:
    return "".join([str(one) for one in source]) if isinstance(source, list) else str(source or "")


# Markdown, as far as its lines show it.

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-+)\s*")
_ITEM = re.compile(r"(\s{0,12})(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_RULE = re.compile(r"\s*\|?[\s:|-]{3,}\|?\s*")
_INLINE = re.compile(
    r"!?\[(?P<text>[^\[\]\n]{0,1000})\]\((?P<link>[^\s()]{1,2000}(?:\([^\s()]{0,500}\))?)(?:\s+[\"'][^\"'\n]{0,500}[\"'])?\)"
    r"|<(?P<url>https?://[^\s<>]{1,2000})>|(?P<mark>\*\*|__)(?P<bold>[^*_\n]{1,1000})(?P=mark)|`(?P<code>[^`\n]{1,1000})`"
)
_FRONT = re.compile(r"---\r?\n(.{0,20000}?)\r?\n---\r?\n", re.DOTALL)
_FIELD = re.compile(r"^(title|author|date|description|keywords|language|lang)\s*:\s*[\"']?(.*?)[\"']?\s*$", re.M | re.I)


def add_markdown(body: bytes, draft: Draft, content_type: str) -> None:
    text = text_of(body, content_type, draft)
    front = _FRONT.match(text)
    if front is not None:
        said = {name.lower(): value for name, value in _FIELD.findall(front[1])}
        draft.state(
            title=said.get("title", ""),
            authors=[said.get("author", "")],
            created=said.get("date", ""),
            description=said.get("description", ""),
            language=said.get("language", said.get("lang", "")),
            keywords=said.get("keywords", "").strip("[]").split(","),
        )
        text = text[front.end() :]
    add_marked(text, draft)


def add_marked(text: str, draft: Draft) -> None:
    """Markdown as blocks."""
    code: list[str] | None = None
    fence = ""
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        draft.spend()
        opened = _FENCE.match(line)
        if opened is not None and (code is None or opened[1].startswith(fence)):
            if code is None:
                draft.end()
                code, fence = [], opened[1]
            else:
                draft.code("\n".join(code))
                code = None
            continue
        if code is not None:
            code.append(line)
        else:
            _add_line(line, lines[number + 1] if number + 1 < len(lines) else "", draft)
    draft.code("\n".join(code or ()))
    draft.end()


def _add_line(line: str, following: str, draft: Draft) -> None:
    if (heading := _HEADING.fullmatch(line)) is not None:
        draft.end()
        _add_inline(heading[2], draft)
        draft.end("heading", len(heading[1]))
    elif (item := _ITEM.fullmatch(line)) is not None:
        draft.end()
        _add_inline(item[2], draft)
        draft.end("item", len(item[1]) // 2)
    elif line.lstrip().startswith("|") and line.count("|") > 1:
        draft.end()
        if _RULE.fullmatch(line) is None:
            for cell in line.strip().strip("|").split("|"):
                _add_inline(cell, draft)
                draft.end_cell()
            draft.end_row()
    elif not line.strip():
        draft.end()
    elif _UNDERLINE.fullmatch(line) is None:
        _add_inline(line + " ", draft)
        under = _UNDERLINE.fullmatch(following)
        if under is not None:
            draft.end("heading", 1 if "=" in under[1] else 2)


def _add_inline(text: str, draft: Draft) -> None:
    at = 0
    for found in _INLINE.finditer(text):
        draft.run(text[at : found.start()])
        target = found["link"] or found["url"] or ""
        draft.run(_first(found.group("text", "url", "bold", "code")), is_bold=bool(found["bold"]), link=target)
        at = found.end()
    draft.run(text[at:])


def _first(words: Iterable[str | None]) -> str:
    return next(filter(None, words), "")


_HEAD = 1 << 16
_METAS = re.compile(r'<meta name="([\w:-]{1,60})" content="([^"]{1,2000})"\s*/?>')
_STATED = {
    "dc:creator": "authors", "dcterms:created": "created", "dcterms:modified": "modified", "dc:language": "language",
    "dc:description": "description", "dc:subject": "subject", "dc:publisher": "publisher", "dc:title": "title",
}  # fmt: skip
"""As Tika writes the metadata of a document."""


def add_html(body: bytes, draft: Draft, content_type: str) -> None:
    """A page inside a document."""
    draft.state(title=add_markup(body, draft, content_type))
    for name, value in _METAS.findall(body[:_HEAD].decode("utf-8", "replace")):
        if name in _STATED:
            said = unescape(value)
            draft.state(**{_STATED[name]: [said] if _STATED[name] in ("authors", "keywords") else said})


def add_text(body: bytes, draft: Draft, content_type: str) -> None:
    """Plain text inside a document."""
    for line in text_of(body, content_type, draft).split("\n"):
        draft.spend()
        draft.line(line)
