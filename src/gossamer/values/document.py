"""The text of a document with its structure, and the media types of documents."""

import re
from typing import Literal, NamedTuple

import msgspec

BlockKind = Literal["heading", "paragraph", "item", "row", "code", "aside"]
"""An aside is a page's header or footer, or a master slide: found by searches, but not part of the text."""


class TextSpan(NamedTuple):
    """A part of a block's text, as offsets."""

    start: int
    end: int
    kind: Literal["bold", "large", "link"]
    target: str = ""
    """Of a link: its URL as written."""


class Block(msgspec.Struct, frozen=True, array_like=True):
    """A paragraph, or what stands in its place."""

    kind: BlockKind
    text: str
    """The cells of a row are separated by tabs."""
    level: int = 0
    """Of a heading, from 1; of a list item, its depth from 0."""
    spans: tuple[TextSpan, ...] = ()


class LinkText(NamedTuple):
    target: str
    """The URL as written, perhaps relative to the document's own."""
    text: str


class Metadata(msgspec.Struct, frozen=True, array_like=True):
    """What the document's properties say about it; empty where they say nothing."""

    title: str = ""
    authors: tuple[str, ...] = ()
    created: str = ""
    """Dates in ISO 8601."""
    modified: str = ""
    language: str = ""
    subject: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    publisher: str = ""
    identifier: str = ""
    xmp: bytes = b""
    """The document's XMP packet, RDF in XML."""


class DocumentText(msgspec.Struct, frozen=True):
    """What a document says."""

    blocks: tuple[Block, ...]
    metadata: Metadata = Metadata()
    links: tuple[LinkText, ...] = ()
    flags: tuple[str, ...] = ()
    """"document-cut": a limit was reached; "document-damaged": a part could not be read; "document-macros"."""


class UnreadableDocument(msgspec.Struct, frozen=True):
    """Why a document has no text."""

    reason: Literal["encrypted", "damaged", "empty", "needs-extra", "too-large"]
    says: str
    """A sentence for people."""


CUT, DAMAGED, MACROS = "document-cut", "document-damaged", "document-macros"

# Media types.

PDF, RTF, EPUB = "application/pdf", "application/rtf", "application/epub+zip"
_OOXML = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_OOXML}wordprocessingml.document"
XLSX = f"{_OOXML}spreadsheetml.sheet"
PPTX = f"{_OOXML}presentationml.presentation"
_ODF = "application/vnd.oasis.opendocument."
ODT, ODS, ODP = f"{_ODF}text", f"{_ODF}spreadsheet", f"{_ODF}presentation"
ODG = f"{_ODF}graphics"
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"
MSG = "application/vnd.ms-outlook"
MAIL, MBOX = "message/rfc822", "application/mbox"
CSV, TSV, JSON, MARKDOWN = "text/csv", "text/tab-separated-values", "application/json", "text/markdown"
NOTEBOOK = "application/x-ipynb+json"
OLE = "application/x-ole-storage"
ZIP, GZIP, TAR = "application/zip", "application/gzip", "application/x-tar"

OF_EXTRA = {PDF: "pypdfium2", DOC: "office_oxide", XLS: "office_oxide", PPT: "office_oxide"}
"""Types that only the packages of the extra `documents` can read, by package; Outlook's messages need olefile."""
OF_EXTRA[MSG] = "olefile"

_VARIANTS = {
    DOCX: ("application/vnd.ms-word.document.macroenabled.12", f"{_OOXML}wordprocessingml.template",
           "application/vnd.ms-word.template.macroenabled.12"),
    XLSX: ("application/vnd.ms-excel.sheet.macroenabled.12", f"{_OOXML}spreadsheetml.template",
           "application/vnd.ms-excel.template.macroenabled.12"),
    PPTX: ("application/vnd.ms-powerpoint.presentation.macroenabled.12", f"{_OOXML}presentationml.slideshow",
           f"{_OOXML}presentationml.template", "application/vnd.ms-powerpoint.slideshow.macroenabled.12"),
    ODT: (f"{_ODF}text-template", f"{_ODF}text-master", "application/vnd.sun.xml.writer", f"{_ODF}text-flat-xml"),
    ODS: (f"{_ODF}spreadsheet-template", "application/vnd.sun.xml.calc"),
    ODP: (f"{_ODF}presentation-template", "application/vnd.sun.xml.impress"),
    ODG: (f"{_ODF}graphics-template",),
    RTF: ("text/rtf", "application/x-rtf"),
    PDF: ("application/x-pdf",),
    DOC: ("application/vnd.msword", "application/x-msword"),
    XLS: ("application/x-msexcel", "application/msexcel"),
    PPT: ("application/mspowerpoint", "application/x-mspowerpoint"),
    MAIL: (), MBOX: (), MSG: (), EPUB: (), TSV: (), NOTEBOOK: (),
    CSV: ("application/csv",), JSON: ("text/json",), MARKDOWN: ("text/x-markdown",),
}  # fmt: skip
ARCHIVES = {
    ZIP: ZIP, "application/x-zip-compressed": ZIP, GZIP: GZIP, "application/x-gzip": GZIP, TAR: TAR,
    "application/x-gtar": TAR,
}  # fmt: skip
"""The kind of each media type of archives, whose members are read if the settings say so."""
FORMAT_OF = {name: kind for kind, others in _VARIANTS.items() for name in (kind, *others)}
"""The format of each media type that is read, by label in lower case."""
ZIPPED = frozenset((DOCX, XLSX, PPTX, ODT, ODS, ODP, ODG, EPUB))
COMPOUND = frozenset((DOC, XLS, PPT, MSG, OLE))

_BY_NAME = {
    "pdf": PDF, "docx": DOCX, "docm": DOCX, "dotx": DOCX, "xlsx": XLSX, "xlsm": XLSX, "xltx": XLSX, "pptx": PPTX,
    "pptm": PPTX, "ppsx": PPTX, "potx": PPTX, "odt": ODT, "ott": ODT, "ods": ODS, "ots": ODS, "odp": ODP, "otp": ODP,
    "odg": ODG, "doc": DOC, "dot": DOC, "xls": XLS, "xlt": XLS, "ppt": PPT, "pps": PPT, "rtf": RTF, "epub": EPUB,
    "eml": MAIL, "mbox": MBOX, "msg": MSG, "csv": CSV, "tsv": TSV, "json": JSON, "md": MARKDOWN, "markdown": MARKDOWN,
    "ipynb": NOTEBOOK,
}  # fmt: skip
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{2,8})(?:[?#].*)?$", re.DOTALL)
UNTYPED = frozenset(
    ("application/octet-stream", "binary/octet-stream", "application/force-download", "application/download",
     "application/x-download", "application/x-octet-stream", "application/save")
)  # fmt: skip
"""Labels of servers that do not know, or do not say, what a file is."""


def type_by_name(name: str) -> str:
    """The media type that a file's name, or the end of a URL, promises; empty if it promises none that is read."""
    found = _SUFFIX.search(name[-300:])
    return _BY_NAME.get(found[1].lower(), "") if found is not None else ""


def suffix_of(media_type: str) -> str:
    """The usual suffix of file names, with its dot; empty for other types."""
    wanted = FORMAT_OF.get(media_type)
    return next((f".{suffix}" for suffix, kind in _BY_NAME.items() if kind == wanted), "")
