"""Archives: the text of their members, in order, with their names; and what is not opened."""

import gzip
import io
import tarfile

import pytest
from tests.parse.documents.samples import letter, mail, pdf, zipped

from gossamer.parse.documents.converter import convert
from gossamer.parse.documents.draft import MOST_DEPTH
from gossamer.values.document import GZIP, MAIL, TAR, ZIP, DocumentText, UnreadableDocument

MEMBERS: dict[str, str | bytes] = {
    "letter.docx": letter(),
    "folder/paper.pdf": pdf(["Words on paper"]),
    "page.html": "<title>t</title><h3>A page</h3>",
    "notes.txt": "plain notes",
    "feed.xml": "<?xml version='1.0'?><a><b>inside xml</b></a>",
    "picture.png": b"\x89PNG\r\n\x1a\n" + b"\x00" * 99,
    "table.csv": "a;b\n",
}


def tarred(members: dict[str, str | bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as file:
        for name, content in members.items():
            body = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(body)
            file.addfile(info, io.BytesIO(body))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return held.getvalue()


def text_of(body: bytes, kind: str) -> DocumentText:
    found = convert(body, kind)
    assert isinstance(found, DocumentText), found
    return found


@pytest.mark.parametrize(
    ("kind", "body"),
    [(ZIP, zipped(MEMBERS)), (TAR, tarred(MEMBERS)), (GZIP, gzip.compress(tarred(MEMBERS), mtime=0))],
    ids=["zip", "tar", "tar.gz"],
)
def test_each_member_has_its_name_and_its_text(kind: str, body: bytes) -> None:
    blocks = [(block.kind, block.text) for block in text_of(body, kind).blocks]
    assert [text for how, text in blocks if how == "heading" and "." in text] == list(MEMBERS)
    texts = [text for _, text in blocks]
    for words in ("A plain paragraph.", "Words on paper", "A page", "plain notes", "inside xml", "a\tb"):
        assert words in texts
    assert not any("passwd" in text or "PNG" in text for text in texts)


def test_a_file_in_gzip_is_read_under_its_own_name() -> None:
    held = io.BytesIO()
    with gzip.GzipFile("report.csv", "wb", fileobj=held, mtime=0) as file:
        file.write(b"name,age\nAda,36\n")
    blocks = text_of(held.getvalue(), GZIP).blocks
    assert [(block.kind, block.text) for block in blocks] == [
        ("heading", "report.csv"), ("row", "name\tage"), ("row", "Ada\t36"),
    ]  # fmt: skip


def test_archives_in_archives_are_opened_to_a_depth() -> None:
    held: bytes = b"innermost words"
    name = "notes.txt"
    for level in range(MOST_DEPTH + 2):
        held = zipped({name: held})
        name = f"level{level}.zip"
    texts = [block.text for block in text_of(held, ZIP).blocks]
    assert f"level{MOST_DEPTH}.zip" in texts and "innermost words" not in texts
    shallow = zipped({"a.zip": zipped({"notes.txt": "innermost words"})})
    assert "innermost words" in [block.text for block in text_of(shallow, ZIP).blocks]


def test_what_all_members_inflate_to_has_a_limit() -> None:
    bomb = zipped({f"{number}.txt": b"\n" * (20 << 20) for number in range(6)})
    found = text_of(bomb, ZIP)
    assert "document-cut" in found.flags and {block.kind for block in found.blocks} == {"heading"}


def test_a_member_that_is_damaged_costs_only_itself() -> None:
    found = text_of(zipped({"a.docx": letter()[:300], "b.txt": "still here"}), ZIP)
    assert "still here" in [block.text for block in found.blocks]


@pytest.mark.parametrize(("kind", "body"), [(ZIP, b"PK\x03\x04"), (TAR, b"\x00" * 10_000 + b"x"), (GZIP, b"\x1f\x8b")])
def test_an_archive_that_cannot_be_read_says_so(kind: str, body: bytes) -> None:
    assert isinstance(convert(body, kind), UnreadableDocument | DocumentText)


def test_an_archive_attached_to_a_letter_is_not_opened() -> None:
    found = text_of(mail(attached=("a.zip", zipped({"notes.txt": "hidden words"}))), MAIL)
    assert not any("hidden words" in block.text for block in found.blocks)
