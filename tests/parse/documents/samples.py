"""Small documents of every kind, made here; and ways to spoil them."""

import random
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from io import BytesIO

from gossamer.values.document import (
    CSV,
    DOCX,
    EPUB,
    JSON,
    MAIL,
    MARKDOWN,
    MBOX,
    NOTEBOOK,
    ODT,
    PDF,
    PPTX,
    RTF,
    XLSX,
)  # fmt: skip

RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"


def zipped(parts: dict[str, str | bytes], stored: tuple[str, ...] = ("mimetype",)) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            held_as = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            file.writestr(zipfile.ZipInfo(name), content, held_as)  # always of the same date
    return held.getvalue()


def relations(*rows: tuple[str, str, str], external: tuple[str, ...] = ()) -> str:
    found = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if name in external else ''}/>"
        for name, kind, target in rows
    )
    return f'<Relationships xmlns="{RELATIONS}">{found}</Relationships>'


CORE = (
    '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>The title</dc:title><dc:creator>Ada Lovelace</dc:creator>'
    "<cp:keywords>engines; numbers</cp:keywords><dc:language>en-GB</dc:language>"
    "<dcterms:created>2020-02-29T10:00:00Z</dcterms:created></cp:coreProperties>"
)


def docx(body: str, more: dict[str, str | bytes] | None = None, head: str = "") -> bytes:
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(
                ("r1", "officeDocument", "word/document.xml"), ("r2", "core-properties", "core.xml")
            ),
            "core.xml": CORE,
            "word/document.xml": f'{head}<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}"><w:body>{body}</w:body>'
            "</w:document>",
            **(more or {}),
        }
    )


def words(text: str, style: str = "", run: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


STYLES = (
    f'<w:styles xmlns:w="{WORD}"><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="H2"><w:name w:val="Kapitel"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>'
)


def letter() -> bytes:
    """A docx file with headings, bold, a link and a table."""
    body = (
        words("Engines", "H1") + words("Of the difference engine", "H2") + words("A plain paragraph.")
        + words("very important", run="<w:b/>")
        + '<w:p><w:hyperlink r:id="x1"><w:r><w:t>the notes</w:t></w:r></w:hyperlink></w:p>'
        + f"<w:tbl><w:tr><w:tc>{words('one')}</w:tc><w:tc>{words('two')}</w:tc></w:tr></w:tbl>"
    )  # fmt: skip
    rels = relations(("x1", "hyperlink", "https://other.test/notes"), ("x2", "styles", "styles.xml"), external=("x1",))
    return docx(body, {"word/_rels/document.xml.rels": rels, "word/styles.xml": STYLES})


def xlsx(rows: str, more: dict[str, str | bytes] | None = None) -> bytes:
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="Costs" sheetId="1" '
            'r:id="s1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                ("s1", "worksheet", "sheet1.xml"),
                ("s2", "sharedStrings", "strings.xml"),
                ("s3", "styles", "styles.xml"),
            ),
            "xl/strings.xml": f'<sst xmlns="{SHEET}"><si><t>coal</t></si>'
            "<si><r><t>st</t></r><r><t>eam</t></r></si></sst>",
            "xl/styles.xml": f'<styleSheet xmlns="{SHEET}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
            "</styleSheet>",
            "xl/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>',
            **(more or {}),
        }
    )


ROW = (
    '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c><v>1.5</v></c><c s="1"><v>43890</v></c>'
    '<c t="inlineStr"><is><t>by hand</t></is></c><c t="b"><v>1</v></c></row>'
)


def pptx(slides: list[str], more: dict[str, str | bytes] | None = None) -> bytes:
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
    rows = [(f"s{n}", "slide", f"slides/slide{n}.xml") for n in range(len(slides))]
    wrap = f'<p:sld xmlns:p="{SLIDE}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}">{{}}</p:sld>'
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{SLIDE}" xmlns:r="{OFFICE}"><p:sldIdLst>{ids}'
            "</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(*rows),
            **{f"ppt/slides/slide{n}.xml": wrap.format(one) for n, one in enumerate(slides)},
            **(more or {}),
        }
    )


def shape(text: str, place: str = "") -> str:
    named = f'<p:nvPr><p:ph type="{place}"/></p:nvPr>' if place else ""
    return f"<p:sp>{named}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def odt(body: str, kind: str = "text", more: dict[str, str | bytes] | None = None) -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f'<o:document-content xmlns:o="{office}" xmlns:text="{TEXT}" '
            'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:xlink="http://www.w3.org/1999/xlink">'
            f"<o:body><o:text>{body}</o:text></o:body></o:document-content>",
            "meta.xml": '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Open title</dc:title></m>',
            **(more or {}),
        }
    )


def epub(*chapters: str) -> bytes:
    items = "".join(
        f'<item id="c{n}" href="c%20{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in reversed(range(len(chapters))))
    return zipped(
        {
            "mimetype": EPUB,
            "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>A book</dc:title>'
            "<dc:creator>Mary Shelley</dc:creator><dc:language>en</dc:language></metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OPS/c {n}.xhtml": f"<html><body>{one}</body></html>" for n, one in enumerate(chapters)},
        }
    )


def pdf(pages: list[str], more: str = "", info: str = "/Title (Paper) /Author (Grace Hopper)", size: int = 12) -> bytes:
    """Each page: operators of a content stream, or words."""
    objects = [f"<< /Type /Catalog /Pages 2 0 R {more} >>", ""]
    kids = []
    font = 3
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for one in pages:
        stream = one if " Tf" in one else f"BT /F1 {size} Tf 72 700 Td ({one}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< {info} >>")
    return pdf_of(objects, f"/Root 1 0 R /Info {len(objects)} 0 R")


def pdf_of(objects: list[str], trailer: str, head: str = "%PDF-1.7\n") -> bytes:
    held, places = head.encode("latin-1"), []
    for number, one in enumerate(objects, 1):
        places.append(len(held))
        held += f"{number} 0 obj\n{one}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    held += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} {trailer} >>\n".encode()
    return held + f"startxref\n{held.rfind(b'xref' + bytes([10]))}\n%%EOF\n".encode()


def rtf(body: str) -> bytes:
    info = r"{\info{\title Rich title}{\author Alan Turing}{\creatim\yr2021\mo3\dy4\hr5\min6}}"
    return (r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}" + info + body + "}").encode("latin-1", "replace")


def mail(
    text: str = "Dear all,\n\nthe engine works.\n", html: str = "", attached: tuple[str, bytes] | None = None
) -> bytes:
    message = EmailMessage()
    message["From"] = "Ada <ada@a.test>"
    message["To"] = "all@a.test"
    message["Subject"] = "Grüße"
    message["Date"] = "Sat, 29 Feb 2020 10:00:00 +0100"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    if attached is not None:
        message.add_attachment(attached[1], maintype="application", subtype="octet-stream", filename=attached[0])
    return message.as_bytes()


def mailbox(count: int = 2) -> bytes:
    one = "From a@b.test Sat Feb 29 10:00:00 2020\nSubject: number {n}\nFrom: a@b.test\n\nbody {n}\n\n"
    return "".join(one.format(n=n) for n in range(count)).encode()


NOTEBOOK_TEXT = (
    b'{"cells": [{"cell_type": "markdown", "source": ["# Notes\\n", "some **bold** text"]},'
    b' {"cell_type": "code", "source": "print(1)", "outputs": [{"text": ["1\\n"]}]}], "nbformat": 4}'
)
MARKED = (
    b"---\ntitle: Marked\nauthor: Donald\n---\n# Top\n\nSome [link](https://b.test/x) and **bold**.\n\n- one\n- two\n\n"
    b"| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode here\n```\n"
)


def samples() -> dict[str, tuple[str, bytes]]:
    """One of each kind: media type and bytes."""
    return {
        "docx": (DOCX, letter()),
        "xlsx": (XLSX, xlsx(ROW * 3)),
        "pptx": (PPTX, pptx([shape("First", "title") + shape("body text", "body"), shape("Second", "title")])),
        "odt": (ODT, odt('<text:h text:outline-level="2">Open heading</text:h><text:p>Open <text:s/>words</text:p>')),
        "epub": (EPUB, epub("<h1>One</h1><p>alpha</p>", "<h1>Two</h1><p>beta</p>")),
        "pdf": (PDF, pdf(["Hello from page one", "And from page two"])),
        "rtf": (RTF, rtf(r"\pard Some {\b bold} words.\par Another line.\par")),
        "mail": (MAIL, mail(attached=("letter.docx", letter()))),
        "mbox": (MBOX, mailbox()),
        "csv": (CSV, b"name;age\nAda;36\n"),
        "json": (JSON, b'{"title": "T", "parts": [{"name": "gear", "count": 3}, null, true]}'),
        "markdown": (MARKDOWN, MARKED),
        "ipynb": (NOTEBOOK, NOTEBOOK_TEXT),
    }


def spoiled(body: bytes, seed: int, count: int) -> Iterator[bytes]:
    """The bytes cut, or with some of them changed; the same for the same seed."""
    chance = random.Random(seed)
    for number in range(count):
        if number % 3 == 0:
            yield body[: chance.randrange(1, len(body))]
        elif number % 3 == 1:
            held = bytearray(body)
            for _ in range(chance.randrange(1, 20)):
                held[chance.randrange(len(held))] = chance.randrange(256)
            yield bytes(held)
        else:
            start = chance.randrange(len(body))
            yield body[:start] + chance.randbytes(chance.randrange(1, 64)) + body[start + chance.randrange(200) :]
