"""From the bytes of a document to its text: the converter for each media type, with limits.

Converters and the libraries they need are imported on first use: most crawls see few formats.
"""

import importlib
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache

import msgspec
from lxml import etree

from gossamer.parse.containers import ole_type, zip_type
from gossamer.parse.documents.draft import MOST_DEPTH, Draft, DraftFull, NoText
from gossamer.parse.sniff import HTML, is_xml, media_type_of
from gossamer.values.document import (
    ARCHIVES,
    CSV,
    DAMAGED,
    DOC,
    DOCX,
    EPUB,
    FORMAT_OF,
    JSON,
    MAIL,
    MARKDOWN,
    MBOX,
    MSG,
    NOTEBOOK,
    ODG,
    ODP,
    ODS,
    ODT,
    OLE,
    PDF,
    PPT,
    PPTX,
    RTF,
    TSV,
    XLS,
    XLSX,
    DocumentText,
    UnreadableDocument,
    type_by_name,
)

_CONVERTERS = {
    DOCX: "gossamer.parse.documents.word:add_word",
    PPTX: "gossamer.parse.documents.slides:add_slides",
    XLSX: "gossamer.parse.documents.sheets:add_workbook",
    **dict.fromkeys((ODT, ODS, ODP, ODG), "gossamer.parse.documents.opendocument:add_opendocument"),
    EPUB: "gossamer.parse.documents.opendocument:add_book",
    PDF: "gossamer.parse.documents.pdf:add_pdf",
    RTF: "gossamer.parse.documents.rtf:add_rtf",
    MSG: "gossamer.parse.documents.compound:add_outlook",
}
_OFFICE97 = "gossamer.parse.documents.compound:add_office97"
_ARCHIVE = "gossamer.parse.documents.archives:add_archive"
_MAILS = {MAIL: "gossamer.parse.documents.mail:add_mail", MBOX: "gossamer.parse.documents.mail:add_mailbox"}
_LABELLED = {
    CSV: "gossamer.parse.documents.plain:add_table",
    TSV: "gossamer.parse.documents.plain:add_table",
    JSON: "gossamer.parse.documents.plain:add_json",
    NOTEBOOK: "gossamer.parse.documents.plain:add_notebook",
    MARKDOWN: "gossamer.parse.documents.plain:add_markdown",
}
_INNER = {
    "text/html": "gossamer.parse.documents.plain:add_html",
    "text/plain": "gossamer.parse.documents.plain:add_text",
}
_FOREIGN = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError, struct.error, zlib.error, etree.LxmlError, msgspec.MsgspecError,
)  # fmt: skip
"""What converters and their libraries raise for damaged files."""
_ENCRYPTED = "The document is protected with a password."


def is_document(media_type: str) -> bool:
    """Whether there is a converter for this type."""
    return media_type in FORMAT_OF or media_type == OLE


def convert(body: bytes, media_type: str, content_type: str = "") -> DocumentText | UnreadableDocument:
    """The text of a document, or why there is none. Never raises, for any bytes, except MemoryError.

    REQUIRES: `is_document(media_type)`, or an archive. `content_type`: the whole label, with the encoding of texts."""
    draft = Draft()
    if not body.strip():
        return UnreadableDocument("empty", "The file is empty.")
    try:
        _add(body, FORMAT_OF.get(media_type, media_type), draft, content_type or media_type)
    except DraftFull:
        pass
    except NoText as trouble:
        if draft.is_empty or trouble.reason == "encrypted":
            return UnreadableDocument(trouble.reason, trouble.says)
        draft.flag(DAMAGED)
    except _FOREIGN:
        if draft.is_empty:
            return UnreadableDocument("damaged", "The file is damaged.")
        draft.flag(DAMAGED)
    found = _finished(draft)
    if found.blocks:
        return found
    if DAMAGED in found.flags:
        return UnreadableDocument("damaged", "The file is damaged.")
    if found.metadata.title or found.metadata.subject or found.metadata.description:
        return found
    return UnreadableDocument("empty", "The document has no text; it may hold only pictures.")


def _finished(draft: Draft) -> DocumentText:
    try:
        return draft.finish()
    except DraftFull:
        return draft.finish()


def _add(body: bytes, kind: str, draft: Draft, content_type: str) -> None:
    if kind == OLE:
        raise NoText("encrypted", _ENCRYPTED) if _is_encrypted(body) else NoText("damaged", "The file is damaged.")
    if kind in ARCHIVES:
        draft.reads_archives = True
        _named(_ARCHIVE)(body, draft, ARCHIVES[kind], _add_member)
    elif kind in _MAILS:
        _named(_MAILS[kind])(body, draft, _add_inner)
    elif kind in _LABELLED:
        _named(_LABELLED[kind])(body, draft, content_type)
    elif kind in _INNER:
        _named(_INNER[kind])(body, draft, content_type)
    elif kind in (DOC, XLS, PPT):
        _named(_OFFICE97)(body, draft, kind)
    else:
        _named(_CONVERTERS[kind])(body, draft)


def _is_encrypted(body: bytes) -> bool:
    return "EncryptedPackage".encode("utf-16-le") in body


def _add_member(body: bytes, name: str, draft: Draft) -> None:
    """Adds a member of an archive, by its content and its name."""
    kind = media_type_of(None, body, name)
    if kind == "application/octet-stream":
        kind = type_by_name(name)
    _add_inner(body, "text/html" if is_xml(kind) or kind in HTML else kind, draft)


def _add_inner(body: bytes, media_type: str, draft: Draft) -> None:
    """Adds a document inside another; one that cannot be read costs only itself."""
    if draft.depth >= MOST_DEPTH:
        return
    kind = FORMAT_OF.get(media_type, media_type)
    if body.startswith(b"PK\x03\x04"):
        kind = zip_type(body)
    elif body.startswith(b"\xd0\xcf\x11\xe0"):
        kind = ole_type(body, kind)
    is_archive = kind in ARCHIVES and draft.reads_archives
    if kind not in FORMAT_OF and kind not in _INNER and not is_archive:
        return
    held = draft.metadata
    draft.depth += 1
    try:
        _inner(kind)(body, draft, media_type)
    except NoText:
        pass
    except _FOREIGN:
        draft.flag(DAMAGED)
    finally:
        draft.depth -= 1
        draft.metadata = held
    draft.end()


def _inner(kind: str) -> Callable[[bytes, Draft, str], None]:
    if kind in _INNER:
        return _named(_INNER[kind])
    return lambda body, draft, content_type: _add(body, kind, draft, content_type)


@lru_cache(maxsize=64)
def _named(name: str) -> Callable[..., None]:
    module, _, function = name.partition(":")
    found: Callable[..., None] = getattr(importlib.import_module(module), function)
    return found
