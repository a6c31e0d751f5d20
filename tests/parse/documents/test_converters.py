"""What each converter finds: text, structure, links and metadata."""

import pytest
from tests.parse.documents.samples import (
    DRAWING,
    ROW,
    docx,
    epub,
    letter,
    mail,
    odt,
    pdf,
    pptx,
    relations,
    rtf,
    samples,
    shape,
    words,
    xlsx,
)

from gossamer.parse.documents.converter import convert
from gossamer.parse.documents.labels import written
from gossamer.parse.documents.pdf import iso_date
from gossamer.values.document import (
    CSV,
    DOCX,
    EPUB,
    JSON,
    MAIL,
    MARKDOWN,
    MBOX,
    ODS,
    ODT,
    PDF,
    PPTX,
    RTF,
    XLSX,
    DocumentText,
    LinkText,
    UnreadableDocument,
)


def text_of(body: bytes, media_type: str, content_type: str = "") -> DocumentText:
    found = convert(body, media_type, content_type)
    assert isinstance(found, DocumentText), found
    return found


def blocks(found: DocumentText) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in found.blocks]


@pytest.mark.parametrize("kind", sorted(samples()))
def test_every_kind_has_text(kind: str) -> None:
    media_type, body = samples()[kind]
    assert text_of(body, media_type).blocks


def test_a_letter_has_headings_bold_a_table_links_and_metadata() -> None:
    found = text_of(letter(), DOCX)
    assert blocks(found) == [
        ("heading", 1, "Engines"),
        ("heading", 2, "Of the difference engine"),
        ("paragraph", 0, "A plain paragraph."),
        ("paragraph", 0, "very important"),
        ("paragraph", 0, "the notes"),
        ("row", 0, "one\ttwo"),
    ]
    assert [(span.kind, span.target) for block in found.blocks for span in block.spans] == [
        ("bold", ""),
        ("link", "https://other.test/notes"),
    ]
    assert found.links == (LinkText("https://other.test/notes", "the notes"),)
    said = found.metadata
    assert (said.title, said.authors, said.created) == ("The title", ("Ada Lovelace",), "2020-02-29T10:00:00Z")
    assert (said.keywords, said.language) == (("engines", "numbers"), "en-GB")


def test_paragraphs_in_larger_letters_are_headings_by_size() -> None:
    body = words("Largest", run='<w:sz w:val="48"/>') + words("Large", run='<w:sz w:val="32"/>')
    body += words("most of the text " * 10, run='<w:sz w:val="22"/>') + words("small", run='<w:sz w:val="16"/>')
    assert [(kind, level) for kind, level, _ in blocks(text_of(docx(body), DOCX))] == [
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
        ("paragraph", 0),
    ]


def test_deleted_text_and_the_second_form_of_a_drawing_are_left_out() -> None:
    body = "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>stays</w:t></w:r></w:p>"
    body += "<w:p><w:AlternateContent><w:Choice><w:r><w:t>once</w:t></w:r></w:Choice>"
    body += "<w:Fallback><w:r><w:t>twice</w:t></w:r></w:Fallback></w:AlternateContent></w:p>"
    assert [text for _, _, text in blocks(text_of(docx(body), DOCX))] == ["stays", "once"]


def test_a_field_is_a_link_and_its_code_is_no_text() -> None:
    field = (
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r>'
        '<w:instrText> HYPERLINK "https://b.test/" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        "<w:r><w:t>here</w:t></w:r>"
        '<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>, not there</w:t></w:r></w:p>'
    )
    found = text_of(docx(field), DOCX)
    assert blocks(found) == [("paragraph", 0, "here, not there")] and found.links == (
        LinkText("https://b.test/", "here"),
    )


def test_headers_are_asides_and_notes_are_text() -> None:
    more: dict[str, str | bytes] = {
        "word/_rels/document.xml.rels": relations(("h", "header", "h.xml"), ("f", "footnotes", "f.xml")),
        "word/h.xml": f"<a>{words('on every page').replace('w:', '')}</a>",
        "word/f.xml": f"<a>{words('a note').replace('w:', '')}</a>",
    }
    assert blocks(text_of(docx(words("body"), more), DOCX)) == [
        ("paragraph", 0, "body"),
        ("paragraph", 0, "a note"),
        ("aside", 0, "on every page"),
    ]


def test_a_workbook_has_rows_with_strings_numbers_dates_and_truth_values() -> None:
    found = text_of(xlsx(ROW), XLSX)
    assert blocks(found) == [("heading", 2, "Costs"), ("row", 0, "coal\tsteam\t1.5\t2020-02-29\tby hand\tTRUE")]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("<c><v>123456789012345</v></c>", "123456789012345"),
        ("<c><v>0.1</v></c>", "0.1"),
        ("<c><v>1E-9</v></c>", "1e-09"),
        ("<c><v>-4.0</v></c>", "-4"),
        ('<c t="e"><v>#REF!</v></c>', "#REF!"),
        ('<c s="1"><v>0.5</v></c>', "12:00:00"),
        ('<c s="1"><v>43890.75</v></c>', "2020-02-29 18:00:00"),
        ('<c t="s"><v>99</v></c><c><v>7</v></c>', "\t7"),
    ],
)
def test_values_of_cells(cell: str, shown: str) -> None:
    assert text_of(xlsx(f"<row>{cell}</row>"), XLSX).blocks[-1].text == shown


def test_slides_keep_their_order_and_titles() -> None:
    cell = "<a:tc><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:tc>"
    table = f"<a:tbl><a:tr>{cell.format('left')}{cell.format('right')}</a:tr></a:tbl>"
    found = text_of(pptx([shape("Zuerst", "title") + shape("point", "body"), shape("Dann", "ctrTitle") + table]), PPTX)
    assert blocks(found) == [
        ("heading", 2, "Zuerst"),
        ("item", 0, "point"),
        ("heading", 2, "Dann"),
        ("row", 0, "left\tright"),
    ]


def test_of_a_master_only_its_own_text_is_read() -> None:
    shapes = shape("Click to edit", "title") + shape("Confidential") + shape("Foot", "ftr")
    master = f'<m xmlns:p="p" xmlns:a="{DRAWING}">{shapes}</m>'
    more: dict[str, str | bytes] = {
        "ppt/_rels/presentation.xml.rels": relations(
            ("s0", "slide", "slides/slide0.xml"), ("m", "slideMaster", "m.xml")
        ),
        "ppt/m.xml": master,
    }
    found = text_of(pptx([shape("own words")], more), PPTX)
    assert blocks(found) == [("paragraph", 0, "own words"), ("aside", 0, "Confidential"), ("aside", 0, "Foot")]


def test_opendocument_has_headings_lists_links_and_tables() -> None:
    body = (
        '<text:h text:outline-level="3">Deep</text:h><text:p>See <text:a xlink:href="https://b.test/">this</text:a>.</text:p>'
        "<text:list><text:list-item><text:p>first</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
    )
    found = text_of(odt(body), ODT)
    assert blocks(found) == [
        ("heading", 3, "Deep"),
        ("paragraph", 0, "See this."),
        ("item", 0, "first"),
        ("row", 0, "a\tb"),
    ]
    assert found.links == (LinkText("https://b.test/", "this"),) and found.metadata.title == "Open title"
    assert text_of(odt(body, "spreadsheet"), ODS).blocks == found.blocks


def test_a_book_is_read_in_the_order_of_reading_and_its_inner_links_are_left_out() -> None:
    found = text_of(
        epub("<h1>Last</h1>", '<h1>First</h1><a href="c%200.xhtml">on</a> <a href="https://b.test/">out</a>'), EPUB
    )
    assert [text for kind, _, text in blocks(found) if kind == "heading"] == ["First", "Last"]
    assert found.links == (LinkText("https://b.test/", "out"),)
    assert found.metadata.authors == ("Mary Shelley",)


def test_a_pdf_has_headings_by_size_links_metadata_and_language() -> None:
    page = (
        "BT /F1 24 Tf 72 700 Td (The paper) Tj ET BT /F1 10 Tf 72 650 Td (A long line of ordinary text on this page.)"
        " Tj "
        "0 -12 Td (And a second one.) Tj ET"
    )
    link = "/Annots [<< /Subtype /Link /Rect [70 645 400 662] /A << /S /URI /URI (https://b.test/p) >> >>] /Contents"
    body = pdf([page], "/Lang (de-AT)", "/Title (Paper) /Author (A; B) /CreationDate (D:20200229100000+01'00')")
    found = text_of(body.replace(b"/Contents", link.encode(), 1), PDF)
    assert blocks(found) == [
        ("heading", 1, "The paper"),
        ("paragraph", 0, "A long line of ordinary text on this page. And a second one."),
    ]
    said = found.metadata
    assert (said.title, said.authors, said.created) == ("Paper", ("A", "B"), "2020-02-29T10:00:00+01:00")
    assert said.language == "de-AT"
    assert [one.target for one in found.links] == ["https://b.test/p"]


@pytest.mark.parametrize(
    ("written_as", "iso"),
    [
        ("D:2020", "2020"),
        ("D:202002", "2020-02"),
        ("D:20200229", "2020-02-29"),
        ("D:20200229101112Z", "2020-02-29T10:11:12Z"),
        ("D:20200229101112-05'30'", "2020-02-29T10:11:12-05:30"),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_dates_of_pdf(written_as: str, iso: str) -> None:
    assert iso_date(written_as) == iso


def test_rich_text_has_lines_and_metadata() -> None:
    found = text_of(
        rtf(r"\pard Gr\'fc\'dfe \u8364? {\field{\*\fldinst HYPERLINK \"https://b.test/\"}{\fldrslt here}}\par"), RTF
    )
    assert "Grüße €" in found.blocks[0].text and found.metadata.title == "Rich title"
    assert found.metadata.created == "2021-03-04T05:06:00Z"


def test_rich_text_has_headings_bold_lists_tables_links_and_headers() -> None:
    body = (
        r"{\stylesheet{\s3 heading 2;}{\s4 Normal;}}{\header\pard on top\par}"
        r"\pard\s3 A heading\par\pard\s4 Plain and {\b bold words} and {\v hidden} ones.\par"
        r"{\listtext 1.\tab}First item\par\pard\intbl one\cell two\cell\row\pard "
        r'{\field{\*\fldinst{HYPERLINK "https://b.test/"}}{\fldrslt linked}}\par'
        r"{\*\unknown not shown}{\pict\pngblip 00ff00ff}{\bin4 \par}\par"
    )
    found = text_of(rtf(body), RTF)
    assert blocks(found) == [
        ("aside", 0, "on top"),
        ("heading", 2, "A heading"),
        ("paragraph", 0, "Plain and bold words and ones."),
        ("item", 0, "1. First item"),
        ("row", 0, "one\ttwo"),
        ("paragraph", 0, "linked"),
    ]
    assert found.links == (LinkText("https://b.test/", "linked"),)
    assert [found.blocks[2].text[one.start : one.end] for one in found.blocks[2].spans] == ["bold words"]


@pytest.mark.parametrize(
    ("written_as", "shown"),
    [
        (r"{\fonttbl{\f1\fcharset204 A;}}\f1 \'cf\'f0\'e8", "При"),
        (r"{\fonttbl{\f1\fcharset128 A;}}\f1 \'93\'fa\'96{\f1 }", "日"),
        (r"\uc1\u8364?\u-3?", "€\ufffd"),
        (r"\uc2\u8364 ab c", "€ c"),
        (r"\uc0\u55296\u57138 x", "\U00010332x"),
        (r"a\~b\emdash c\{d\}", "a b—c{d}"),
        (r"caf\'e9", "café"),
    ],
)
def test_characters_of_rich_text(written_as: str, shown: str) -> None:
    found = text_of(rtf(written_as + r"\par"), RTF).blocks[0].text
    assert found.startswith(shown) if "日" in shown else found == shown


def test_mail_has_its_subject_body_and_attachments() -> None:
    found = text_of(mail(html="<p>other</p>", attached=("letter.docx", letter())), MAIL)
    texts = [text for _, _, text in blocks(found)]
    assert texts[0] == "Grüße" and "the engine works." in texts and "other" not in texts
    assert "Attachment: letter.docx" in texts and "A plain paragraph." in texts
    assert found.metadata.title == "Grüße" and found.metadata.created == "2020-02-29T10:00:00+01:00"


def test_mail_that_is_only_html_is_read() -> None:
    body = b"Subject: s\nContent-Type: text/html; charset=iso-8859-1\n\n<h1>Gr\xfc\xdfe</h1><p>aus <b>Wien</b></p>"
    assert blocks(text_of(body, MAIL))[-2:] == [("heading", 1, "Grüße"), ("paragraph", 0, "aus Wien")]


def test_sentences_that_begin_with_from_do_not_end_a_message() -> None:
    box = b"From a@b.test Sat Feb 29 10:00:00 2020\nSubject: one\n\nFrom here on, it\nis one message.\n"
    assert [text for kind, _, text in blocks(text_of(box, MBOX)) if kind == "heading"] == ["one"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_of_a_table_is_found(separator: str) -> None:
    body = (
        separator.join(["name", "age"])
        + "\n"
        + separator.join(["Ada, Lady", "36"] if separator != "," else ["Ada", "36"])
    )
    assert text_of(body.encode(), CSV).blocks[0].text == "name\tage"


def test_the_encoding_of_a_table_is_its_label_or_found() -> None:
    assert (
        text_of("名前,年齢\n佐藤,30\n".encode("cp932"), CSV, "text/csv; charset=shift_jis").blocks[1].text == "佐藤\t30"
    )
    assert text_of("Grüße;1\n".encode("utf-16"), CSV).blocks[0].text == "Grüße\t1"


def test_json_shows_values_after_their_names() -> None:
    assert [text for _, _, text in blocks(text_of(samples()["json"][1], JSON))] == [
        "title: T",
        "name: gear",
        "count: 3",
        "parts: true",
    ]


def test_markdown_underlined_headings_and_code() -> None:
    found = text_of(b"Title\n=====\n\ntext\n\nPart\n---\n\n~~~\n# no heading\n~~~\n", MARKDOWN)
    assert blocks(found) == [
        ("heading", 1, "Title"),
        ("paragraph", 0, "text"),
        ("heading", 2, "Part"),
        ("code", 0, "# no heading"),
    ]


@pytest.mark.parametrize(
    ("number", "form", "shown"),
    [
        (4, "decimal", "4"), (4, "lowerLetter", "d"), (28, "upperLetter", "BB"), (4, "lowerRoman", "iv"),
        (1999, "upperRoman", "MCMXCIX"), (3, "decimalZero", "03"), (2, "ordinal", "2nd"), (12, "ordinal", "12th"),
    ],
)  # fmt: skip
def test_numbers_of_list_items(number: int, form: str, shown: str) -> None:
    assert written(number, form) == shown


@pytest.mark.parametrize(
    ("media_type", "body", "reason"),
    [
        (PDF, b"", "empty"),
        (PDF, b"%PDF-1.7", "damaged"),
        (DOCX, b"PK\x03\x04", "damaged"),
        (DOCX, docx(""), "empty"),
        (MAIL, b"\n\n", "empty"),
    ],
)
def test_a_document_without_text_says_why(media_type: str, body: bytes, reason: str) -> None:
    found = convert(body.replace(b"The title", b"") if reason == "empty" else body, media_type)
    if reason == "empty" and media_type == DOCX:
        assert isinstance(found, DocumentText) and found.metadata.title and not found.blocks
    else:
        assert isinstance(found, UnreadableDocument) and found.reason == reason and found.says.endswith(".")


def test_of_a_document_that_was_cut_off_the_parts_that_are_there_are_read() -> None:
    whole = docx("".join(words(f"paragraph {number}") for number in range(5_000)))
    at = whole.rfind(b"word/document.xml")
    found = text_of(whole[: at - 46], DOCX)  # without the directory
    assert "document-damaged" in found.flags and found.blocks[0].text == "paragraph 0" and len(found.blocks) > 4_000
