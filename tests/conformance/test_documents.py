"""The test documents of Apache Tika, markitdown and CPython: what their owners find in them, we find as well."""

import json
from collections import Counter
from functools import cache

import pytest
from tests.conformance.suites import HOME

from gossamer.parse.documents.converter import convert, is_document
from gossamer.parse.sniff import media_type_of
from gossamer.values.document import DocumentText, UnreadableDocument

SUITE = HOME / "documents"
MISSED = {
    "doc/tika-testWORD_override_list_numbering.doc": "the numbers of list items, which Word 97 computes",
    "ipynb/markitdown-test_notebook.ipynb": "headings with the signs of Markdown, which are headings here",
}
"""Files with strings that are not found, and why. No others."""
ENCRYPTED = (
    "docx/tika-protected_normal_case.docx", "xlsx/tika-protectedFile.xlsx", "odt/tika-testODTEncrypted.odt",
    "pdf/tika-testPassword4Spaces.pdf", "pdf/tika-testPDF_no_extract_no_accessibility_owner_user.pdf",
)  # fmt: skip
OTHERS = ("html", "txt", "xml")
"""Read by other parts of the reader."""


def folded(text: str) -> str:
    return " ".join(text.split())


@cache
def converted(file: str) -> DocumentText | UnreadableDocument:
    body = (SUITE / file).read_bytes()
    kind = media_type_of("application/octet-stream", body, f"http://a.test/{file}")
    return convert(body, kind) if is_document(kind) else UnreadableDocument("damaged", f"It is {kind}.")


def words_of(file: str) -> str:
    found = converted(file)
    if isinstance(found, UnreadableDocument):
        return ""
    said = found.metadata
    values = [said.title, said.subject, said.description, *said.keywords, *said.authors]
    return folded(" ".join([*[block.text for block in found.blocks], *values]))


MANIFEST = [one for one in json.loads((SUITE / "manifest.json").read_text()) if one["file"].split("/")[0] not in OTHERS]


def test_M_C9_the_strings_of_each_file_are_found() -> None:
    found: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    missed = set()
    for one in MANIFEST:
        kind, words = one["file"].split("/")[0], words_of(one["file"])
        for text in one.get("contains", ()):
            asked[kind] += 1
            found[kind] += folded(text) in words
            if folded(text) not in words:
                missed.add(one["file"])
    assert missed == set(MISSED)
    assert {kind: asked[kind] - found[kind] for kind in asked if asked[kind] > found[kind]} == {"doc": 1, "ipynb": 2}
    assert sum(found.values()) >= 182


def test_M_C9_no_unwanted_string_is_found() -> None:
    unwanted = [(one["file"], text) for one in MANIFEST for text in one.get("not_contains", ()) if text]
    assert len(unwanted) >= 9
    assert [one for one in unwanted if folded(one[1]) in words_of(one[0])] == []


@pytest.mark.parametrize("file", ENCRYPTED)
def test_a_protected_document_says_so(file: str) -> None:
    found = converted(file)
    assert isinstance(found, UnreadableDocument) and found.reason == "encrypted" and "password" in found.says


def test_what_is_text_has_text_and_what_is_not_says_why() -> None:
    reasons = Counter(
        found.reason for one in MANIFEST if isinstance(found := converted(one["file"]), UnreadableDocument)
    )
    assert reasons["needs-extra"] == reasons["too-large"] == 0
    assert reasons["encrypted"] == len(ENCRYPTED) and reasons["damaged"] <= 3
    assert sum(reasons.values()) < len(MANIFEST) * 0.15
