"""The formats inside ZIP and OLE files, by content; and directories that lie."""

import pytest
from tests.hostile.spoiled_documents import lying, million_members, ole, overlapping
from tests.parse.documents.samples import epub, letter, mail, mailbox, odt, pptx, rtf, shape, xlsx, zipped

from gossamer.parse.containers import MOST_MEMBERS, local_parts, ole_type, zip_directory, zip_names, zip_type
from gossamer.parse.sniff import media_type_of
from gossamer.values.document import (
    CSV,
    DOC,
    DOCX,
    EPUB,
    MAIL,
    MBOX,
    MSG,
    ODS,
    ODT,
    OLE,
    PPT,
    PPTX,
    RTF,
    XLS,
    XLSX,
    ZIP,
)

ZIPPED = {
    DOCX: letter(),
    XLSX: xlsx(""),
    PPTX: pptx([shape("x")]),
    ODT: odt(""),
    ODS: odt("", "spreadsheet"),
    EPUB: epub("x"),
    ZIP: zipped({"a.txt": "x"}),
}


@pytest.mark.parametrize("kind", ZIPPED)
@pytest.mark.parametrize("label", [None, "application/zip", "application/octet-stream", DOCX, "application/msword"])
def test_the_content_of_a_zip_file_decides(kind: str, label: str | None) -> None:
    expected = DOCX if kind == ZIP and label == DOCX else kind  # perhaps cut off, or of an odd writer
    assert media_type_of(label, ZIPPED[kind]) == expected


def test_a_type_that_is_not_the_first_member_is_found() -> None:
    parts: dict[str, str | bytes] = {"content.xml": "<a/>", "mimetype": ODS, "META-INF/manifest.xml": "<a/>"}
    assert zip_type(zipped(parts)) == ODS
    del parts["mimetype"]
    assert zip_type(zipped(parts)) == ODT


def test_without_a_directory_the_members_are_found_by_their_own_headers() -> None:
    cut = letter()[: letter().rfind(b"PK\x01\x02") - 400]
    assert zip_directory(cut) is None and zip_type(cut) == DOCX
    assert "word/document.xml" in dict(local_parts(cut))


def test_directories_that_lie_or_are_huge_are_not_read() -> None:
    assert zip_directory(million_members()) is None
    assert zip_directory(lying(letter())) is None
    assert len(list(zip_names(overlapping()))) < MOST_MEMBERS
    assert zip_directory(b"PK\x05\x06") is None and list(zip_names(b"")) == []


@pytest.mark.parametrize(
    ("names", "label", "kind"),
    [
        (("WordDocument",), "", DOC),
        (("Workbook",), "", XLS),
        (("Book",), "", XLS),
        (("PowerPoint Document",), "", PPT),
        (("__properties_version1.0",), "", MSG),
        (("WordDocument", "Workbook"), "", DOC),
        (("WordDocument", "Workbook"), "application/vnd.ms-excel", XLS),
        (("Workbook",), "application/msword", XLS),
        (("EncryptedPackage",), DOCX, OLE),
        (("Other",), "", OLE),
    ],
)
def test_the_streams_of_an_ole_file_decide(names: tuple[str, ...], label: str, kind: str) -> None:
    assert ole_type(ole(names=names), label) == kind
    assert media_type_of(label or None, ole(names=names)) == kind


def test_names_in_the_text_of_an_ole_file_are_no_streams() -> None:
    wide = "Workbook".encode("utf-16-le") + b"\x00\x00"
    assert ole_type(ole(b"x" + wide * 100_000, ("WordDocument",))) == DOC


@pytest.mark.parametrize(
    ("label", "body", "name", "kind"),
    [
        (None, mail(), "", MAIL),
        ("application/octet-stream", mail(), "", MAIL),
        ("application/octet-stream", mailbox(), "", MBOX),
        ("text/plain", mail(), "http://a.test/a.eml", MAIL),
        ("text/plain", mail(), "http://a.test/a.txt", "text/plain"),
        ("text/plain", b"a,b\n", "http://a.test/t.csv?x=1", CSV),
        ("text/plain", b"%PDF-1.4\n\x00", "http://a.test/t.csv", "application/pdf"),
        ("application/msword", rtf("x"), "", RTF),
        ("application/vnd.ms-excel", b"<html><table>", "", "text/html"),
        ("application/vnd.ms-excel", b"a\tb\n", "", "text/plain"),
        ("application/pdf", b"\n\n%PDF-1.4", "", "application/pdf"),
        ("application/octet-stream", b"\x00\x01", "http://a.test/x", "application/octet-stream"),
        ("text/html", b"<p>Received: x", "http://a.test/a.eml", "text/html"),
    ],
)
def test_labels_bytes_and_names_together(label: str | None, body: bytes, name: str, kind: str) -> None:
    assert media_type_of(label, body, name) == kind
