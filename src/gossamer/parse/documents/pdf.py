"""PDF files, with pdfium: the text of each page, headings by the size of letters, links and metadata."""

import ctypes
import re
from collections import Counter
from itertools import groupby
from typing import Any, NamedTuple

from gossamer.parse.documents.draft import Draft, NoText
from gossamer.parse.documents.package import PROTECTED
from gossamer.values.document import CUT, DAMAGED

MOST_PAGES = 2_000
MOST_LINKS_A_PAGE = 200
LONGEST_XMP = 256 * 1024
PAGE_COST = 500
"""Work counted for a page, in addition to its lines."""
BOLD = 600
"""Weight of a font; 400 is regular."""
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?|Z)?")
_XMP = re.compile(rb"<x:xmpmeta.*?</x:xmpmeta>|<rdf:RDF.*?</rdf:RDF>", re.DOTALL)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_XMP_START, _XMP_END = b"<?xpacket begin", b"<?xpacket end"
_HYPHENS = ("\x02", "\ufffe")
"""What pdfium returns for a hyphen at the end of a line."""
_STATED = {"Title": "title", "Subject": "subject"}
_FAULTS = (ValueError, TypeError, AttributeError, OverflowError, RuntimeError, AssertionError, LookupError)


class _Line(NamedTuple):
    text: str
    size: float
    is_bold: bool


def add_pdf(body: bytes, draft: Draft) -> None:
    """The text of a PDF file."""
    try:
        import pypdfium2
        import pypdfium2.raw as raw
    except ImportError:
        raise NoText("needs-extra", "PDF files are read with the extra `documents`.") from None
    try:
        file = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as trouble:
        if "assword" in str(trouble) or "ecurity" in str(trouble):
            raise NoText("encrypted", PROTECTED) from trouble
        raise NoText("damaged", "The PDF file is damaged.") from trouble
    try:
        _state(file, raw, body, draft)
        count = len(file)
        if count > MOST_PAGES:
            draft.flag(CUT)
        for number in range(min(count, MOST_PAGES)):
            draft.spend(PAGE_COST)
            try:
                _add_page(file, raw, number, draft)
            except (pypdfium2.PdfiumError, *_FAULTS):
                draft.flag(DAMAGED)
                draft.end()
    finally:
        file.close()


def _state(file: Any, raw: Any, body: bytes, draft: Draft) -> None:
    try:
        said: dict[str, str] = file.get_metadata_dict()
    except _FAULTS:
        said = {}
    said = {name: value.replace("\x00", "") for name, value in said.items()}
    authors = [one.strip() for one in re.split(r"[;\n]", said.get("Author", ""))]
    keywords = [one.strip() for one in re.split(r"[;,]", said.get("Keywords", ""))]
    draft.state(
        **{name: said.get(key, "") for key, name in _STATED.items()},
        authors=authors,
        keywords=keywords,
        created=iso_date(said.get("CreationDate", "")),
        modified=iso_date(said.get("ModDate", "")),
        language=_language(file, raw),
        xmp=_xmp(body),
    )


def _language(file: Any, raw: Any) -> str:
    length = raw.FPDFCatalog_GetLanguage(file, None, 0)
    if not 2 < length <= 200:
        return ""
    buffer = bytearray(length)
    held = (raw.FPDF_WCHAR * (length // 2)).from_buffer(buffer) if hasattr(raw, "FPDF_WCHAR") else None
    if held is None:
        return ""
    raw.FPDFCatalog_GetLanguage(file, held, length)
    return bytes(buffer).decode("utf-16-le", "ignore").rstrip("\x00")


def _xmp(body: bytes) -> bytes:
    """The last XMP packet that is not compressed: packets are meant to be found by scanning (XMP, part 1)."""
    start = body.rfind(_XMP_START)
    end = body.find(_XMP_END, start) if start >= 0 else -1
    if not 0 <= end - start <= LONGEST_XMP:
        return b""
    found = _XMP.search(body, start, end)
    return _COMMENT.sub(b"", found[0]) if found is not None else b""


def iso_date(text: str) -> str:
    """A date of PDF as ISO 8601; empty if it is none."""
    found = _DATE.match(text.strip())
    if found is None:
        return ""
    year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    date = "-".join([one for one in (year, month, day if month else None) if one])
    if not hour or not day:
        return date
    zone = f"{sign}{hours}:{minutes or '00'}" if sign else "Z"
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"


def _add_page(file: Any, raw: Any, number: int, draft: Draft) -> None:
    page = file[number]
    try:
        text = page.get_textpage()
        try:
            for block in _paragraphs(_lines(text, raw, draft)):
                for line in block:
                    draft.run(line.text, is_bold=line.is_bold, size=line.size)
                draft.end()
            _add_links(page, text, raw, file, draft)
        finally:
            text.close()
    finally:
        page.close()


def _lines(text: Any, raw: Any, draft: Draft) -> list[_Line]:
    """The lines of a page; each with the size and weight of its first letter."""
    found = []
    at = 0
    for line in text.get_text_range().split("\n"):
        draft.spend()
        clean = line.rstrip("\r")
        shown = clean.lstrip()
        if shown:
            index = raw.FPDFText_GetCharIndexFromTextIndex(text, at + len(clean) - len(shown))
            size = round(float(raw.FPDFText_GetFontSize(text, index)), 1) if index >= 0 else 0.0
            weight = raw.FPDFText_GetFontWeight(text, index) if index >= 0 else 0
            joined = clean[:-1] if clean.endswith(_HYPHENS) else f"{clean} "
            found.append(_Line(joined, size if 0 < size < 1_000 else 0.0, weight >= BOLD))
        elif found:
            found.append(_Line("", 0.0, False))
        at += len(line) + 1
    return found


def _paragraphs(lines: list[_Line]) -> list[list[_Line]]:
    """Neighbouring lines of one size and weight; a line that ends early and with a full stop ends a paragraph."""
    lengths = Counter([len(line.text) // 8 * 8 for line in lines if line.text])
    usual = max(lengths, key=lambda one: (lengths[one] * one, one), default=0)
    found: list[list[_Line]] = []
    for _, group in groupby(lines, key=lambda line: (line.size, line.is_bold) if line.text else None):
        block: list[_Line] = []
        for line in group:
            if line.text:
                block.append(line)
                if len(line.text) < usual * 0.8 and line.text.rstrip().endswith((".", ":", "!", "?", "。")):
                    found.append(block)
                    block = []
        if block:
            found.append(block)
    return found


def _add_links(page: Any, text: Any, raw: Any, file: Any, draft: Draft) -> None:
    """Links that point out of the document, and URLs in the text that pdfium recognises."""
    place, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(MOST_LINKS_A_PAGE):
        if not raw.FPDFLink_Enumerate(page, place, link):
            break
        draft.spend()
        action = raw.FPDFLink_GetAction(link)
        length = raw.FPDFAction_GetURIPath(file, action, None, 0) if action else 0
        if not 1 < length <= 4_096:
            continue
        buffer = ctypes.create_string_buffer(length)
        raw.FPDFAction_GetURIPath(file, action, buffer, length)
        box = raw.FS_RECTF()
        says = ""
        if raw.FPDFLink_GetAnnotRect(link, box):
            says = text.get_text_bounded(left=box.left, bottom=box.bottom, right=box.right, top=box.top)
        draft.link(buffer.value.decode("utf-8", "replace"), " ".join(says.split())[:500])
