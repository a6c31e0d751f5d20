"""A catalogue of hostile documents: FAULTS C1 to C5 in every format, and damaged ones of every kind."""

import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import pairwise
from zlib import compress

from tests.parse.documents.samples import (
    ROW,
    SHEET,
    WORD,
    docx,
    epub,
    letter,
    mail,
    odt,
    pdf,
    pdf_of,
    pptx,
    relations,
    rtf,
    samples,
    shape,
    spoiled,
    words,
    xlsx,
    zipped,
)  # fmt: skip

from gossamer.values.document import (
    CSV,
    DOC,
    DOCX,
    EPUB,
    JSON,
    MAIL,
    MARKDOWN,
    MBOX,
    MSG,
    NOTEBOOK,
    ODS,
    ODT,
    PDF,
    PPT,
    PPTX,
    RTF,
    XLS,
    XLSX,
)  # fmt: skip

MIB = 1 << 20
Case = tuple[str, str, Callable[[], bytes]]
"""Name, media type, and how the bytes are made."""
LETTERS = "abcdefghijklmnopqrst"
BILLION = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(["<!ENTITY " + name + ' "' + f"&{before};" * 10 + '">' for before, name in pairwise(LETTERS)])
    + "]>"
)
OUTSIDE = (
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b SYSTEM "http://10.255.255.1/x">'
    '<!ENTITY % c SYSTEM "http://10.255.255.1/y"> %c;]>'
)


def zip_cases() -> Iterator[Case]:
    zeros = b"<w:t>" + b" " * (100 * MIB)
    yield "docx of 100 MiB of spaces", DOCX, lambda: docx("", {"word/document.xml": zeros})
    yield "xlsx of 100 MiB of zeros", XLSX, lambda: xlsx("", {"xl/sheet1.xml": b"\x00" * (100 * MIB)})
    yield "epub chapter of 100 MiB", EPUB, lambda: epub("<p>" + "a" * (100 * MIB))
    yield "odt of 100 MiB of letters", ODT, lambda: odt("<text:p>" + "x" * (100 * MIB) + "</text:p>")
    yield (
        "pptx with a bomb for relations",
        PPTX,
        lambda: pptx([shape("x")], {"ppt/slides/_rels/slide0.xml.rels": b"<" + b" " * (100 * MIB)}),
    )
    yield (
        "docx of many parts of 20 MiB",
        DOCX,
        lambda: docx(
            words("x"),
            {
                "word/_rels/document.xml.rels": relations(*[(f"h{n}", "header", f"h{n}.xml") for n in range(30)]),
                **{f"word/h{n}.xml": b"<a>" + b" " * (20 * MIB) for n in range(30)},
            },
        ),
    )
    yield "zip of a million members", DOCX, million_members
    yield "zip that overlaps itself", DOCX, overlapping
    yield "zip whose sizes lie", DOCX, lambda: lying(letter())
    yield "zip in zip in zip", DOCX, lambda: nested(12)
    yield "zip with names that climb", DOCX, lambda: zipped(
        {"../../../tmp/x": b"x", "/etc/cron.d/x": b"x", "a\x00b": b"x", "con": b"x", "[Content_Types].xml": "<a/>",
         "word/document.xml": f'<w:document xmlns:w="{WORD}">{words("climbed")}</w:document>'}
    )  # fmt: skip
    yield "zip with the same name a thousand times", DOCX, repeated
    yield "relations in a circle", PPTX, lambda: pptx(
        [shape("x")] * 3,
        {
            f"ppt/slides/_rels/slide{n}.xml.rels": relations(
                ("a", "slideLayout", f"slide{(n + 1) % 3}.xml"), ("b", "notesSlide", f"slide{n}.xml"),
                ("c", "diagramData", "../presentation.xml"),
            )
            for n in range(3)
        },
    )  # fmt: skip
    yield "a slide listed a million times", PPTX, lambda: pptx(
        [shape("x")],
        {"ppt/presentation.xml": "<p xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>"
         + "<sldId r:id='s0'/>" * 1_000_000 + "</p>"},
    )  # fmt: skip
    yield "a chapter listed 100,000 times", EPUB, lambda: zipped(
        {"mimetype": EPUB, "META-INF/container.xml": '<c><rootfile full-path="b.opf"/></c>', "c.html": "<p>x" * 1000,
         "b.opf": '<p><item id="c" href="c.html"/>' + '<itemref idref="c"/>' * 100_000 + "</p>"}
    )  # fmt: skip
    yield (
        "encrypted flag on every part",
        DOCX,
        lambda: letter().replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"),
    )
    yield "unknown compression", DOCX, lambda: letter().replace(b"\x08\x00", b"\x63\x00")


def million_members() -> bytes:
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * 1_000_000
    head = b"PK\x03\x04" + b"\x00" * 26 + b"[Content_Types].xml"
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9_999, 9_999, len(directory), len(head), 0)
    return head + directory + end


def overlapping() -> bytes:
    """Every entry points at the same data, which inflates to 10 MiB."""
    data = compress(b"<a>" + b" " * (10 * MIB))[2:-4]
    local = (
        struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, len(data), 10 * MIB, 17, 0) + b"word/document.xml"
    )
    names = ["[Content_Types].xml", "_rels/.rels", "word/document.xml", "word/_rels/document.xml.rels"]
    names += [f"word/h{n}.xml" for n in range(2_000)]
    directory = b"".join(
        struct.pack("<4s6H3L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, len(data), 10 * MIB)
        + struct.pack("<5H2L", len(name), 0, 0, 0, 0, 0, 0)
        + name.encode()
        for name in names
    )  # fmt: skip
    start = len(local) + len(data)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(names), len(names), len(directory), start, 0)
    return local + data + directory + end


def lying(body: bytes) -> bytes:
    at = body.rfind(b"PK\x05\x06")
    return body[: at + 12] + struct.pack("<2L", 0xFFFFFFF0, 0xFFFFFFF0) + body[at + 20 :]


def nested(levels: int) -> bytes:
    held = letter()
    for _ in range(levels):
        held = docx(words("outer"), {"word/embeddings/inner.docx": held, "word/document.zip": held})
    return held


def repeated() -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(1_000):
                file.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}">{words(str(number))}</w:document>')
        file.writestr("[Content_Types].xml", "<a/>")
    return held.getvalue()


def xml_cases() -> Iterator[Case]:
    for name, head in (("billion laughs", BILLION), ("entities from outside", OUTSIDE)):
        yield f"docx: {name}", DOCX, lambda head=head: docx(words("&s;&b;&a;"), head=head)
        yield f"xlsx: {name}", XLSX, lambda head=head: xlsx("", {"xl/sheet1.xml": f"{head}<a>&s;&b;</a>"})
        yield f"odt: {name}", ODT, lambda head=head: odt("", more={"content.xml": f"{head}<a>&s;&a;</a>"})
        yield (
            f"epub: {name}",
            EPUB,
            lambda head=head: zipped(
                {"mimetype": EPUB, "META-INF/container.xml": f"{head}<c><rootfile full-path='&a;'/></c>"}
            ),
        )
        yield f"svg in pptx: {name}", PPTX, lambda head=head: pptx([f"{shape('x')}"], {"core.xml": f"{head}<a>&s;</a>"})
    deep = 200_000
    yield "docx a million deep", DOCX, lambda: docx("<w:p>" * 1_000_000)
    yield "xlsx 200,000 deep", XLSX, lambda: xlsx("<row>" * deep)
    yield "odt lists 200,000 deep", ODT, lambda: odt("<text:list>" * deep + "<text:p>x</text:p>")
    yield "pptx groups 200,000 deep", PPTX, lambda: pptx(["<p:grpSp>" * deep + shape("x")])
    yield "epub 200,000 deep", EPUB, lambda: epub("<div>" * deep + "x")
    yield "docx tables 100,000 deep", DOCX, lambda: docx("<w:tbl><w:tr><w:tc>" * 100_000)
    yield "docx of 3 million runs", DOCX, lambda: docx("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * 3_000_000 + "</w:p>")
    yield "docx of 2 million paragraphs", DOCX, lambda: docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 2_000_000)
    yield (
        "docx tag of 100,000 attributes",
        DOCX,
        lambda: docx("<w:p" + "".join([f" a{n}='x'" for n in range(100_000)]) + "/>"),
    )
    yield (
        "docx of 100,000 namespaces",
        DOCX,
        lambda: docx("".join(f"<a{n}:b xmlns:a{n}='u{n}'>" for n in range(100_000))),
    )
    yield (
        "docx of bold letters",
        DOCX,
        lambda: docx("<w:p>" + "<w:r><w:rPr><w:b/></w:rPr><w:t>a b</w:t></w:r>" * 300_000 + "</w:p>"),
    )
    yield "docx fields in fields", DOCX, lambda: docx('<w:p><w:fldChar w:fldCharType="begin"/>' * 400_000)
    yield "docx styles in a circle", DOCX, lambda: docx(
        words("x", "A"),
        {"word/_rels/document.xml.rels": relations(("s", "styles", "styles.xml")), "word/styles.xml":
         f'<w:styles xmlns:w="{WORD}"><w:style w:styleId="A"><w:basedOn w:val="B"/></w:style>'
         f'<w:style w:styleId="B"><w:basedOn w:val="A"/></w:style></w:styles>'},
    )  # fmt: skip
    yield (
        "sheet of a million by 16,000 cells",
        XLSX,
        lambda: xlsx('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    )
    yield "sheet of 3 million cells", XLSX, lambda: xlsx("<row>" + "<c><v>1</v></c>" * 3_000_000 + "</row>")
    yield "sheet of a million rows", XLSX, lambda: xlsx("<row><c><v>1</v></c></row>" * 1_000_000)
    yield (
        "a million shared strings",
        XLSX,
        lambda: xlsx(ROW, {"xl/strings.xml": "<s>" + "<si><t>x</t></si>" * 1_000_000 + "</s>"}),
    )
    yield (
        "one string, a million times",
        XLSX,
        lambda: xlsx(
            '<row><c t="s"><v>0</v></c></row>' * 300_000,
            {"xl/strings.xml": f"<s><si><t>{'long ' * 6_000}</t></si></s>"},
        ),
    )
    yield (
        "numbers that are none",
        XLSX,
        lambda: xlsx(
            "<row>"
            + "".join(
                f'<c s="1" t="{t}"><v>{v}</v></c>'
                for t in ("n", "s", "b", "x")
                for v in ("1e999", "nan", "-1", "9" * 5000, "", "٣")
            )
            + "</row>"
        ),
    )
    yield "ods: a cell repeated a billion times", ODS, lambda: odt(
        '<table:table><table:table-row table:number-rows-repeated="1048576">'
        '<table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell>'
        "</table:table-row></table:table>", "spreadsheet",
    )  # fmt: skip
    yield (
        "UTF-16 in every part",
        DOCX,
        lambda: docx(
            "", {"word/document.xml": f'<w:document xmlns:w="{WORD}">{words("wide")}</w:document>'.encode("utf-16")}
        ),
    )
    yield (
        "EBCDIC",
        DOCX,
        lambda: docx("", {"word/document.xml": "<?xml version='1.0' encoding='cp037'?><a/>".encode("cp037")}),
    )
    yield "external template and frames", DOCX, lambda: docx(
        words("x"),
        {"word/_rels/document.xml.rels": relations(
            ("a", "attachedTemplate", "\\\\10.255.255.1\\share\\t.dotm"), ("b", "frame", "http://10.255.255.1/f"),
            ("c", "image", "http://10.255.255.1/i.png"), external=("a", "b", "c"))},
    )  # fmt: skip
    yield "macros", DOCX, lambda: docx(words("x"), {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0" + b"x" * 1_000})


def pdf_cases() -> Iterator[Case]:
    yield "PDF of a million pages that are one", PDF, lambda: pdf_of(
        ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Count 1000000 /Kids [{'3 0 R ' * 1_000_000}] >>",
         "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"], "/Root 1 0 R",
    )  # fmt: skip
    yield "PDF whose pages contain themselves", PDF, lambda: pdf_of(
        ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 3 /Kids [2 0 R 2 0 R 3 0 R] /Parent 2 0 R >>",
         "<< /Type /Pages /Count 9 /Kids [2 0 R 3 0 R] >>"], "/Root 1 0 R",
    )  # fmt: skip
    yield (
        "PDF with outlines in a circle",
        PDF,
        lambda: pdf(["x"], "/Outlines << /First 1 0 R /Last 1 0 R /Next 1 0 R >>"),
    )
    yield "PDF with /Prev in a circle", PDF, lambda: pdf(["x"]).replace(b"trailer\n<<", b"trailer\n<< /Prev 9 ")
    yield "PDF with a Flate bomb", PDF, lambda: flate_pdf(b"BT /F1 9 Tf (a) Tj ET " * (8 * MIB))
    yield (
        "PDF with bombs in bombs",
        PDF,
        lambda: flate_pdf(compress(compress(b"\x00" * (100 * MIB))), "[/FlateDecode /FlateDecode /FlateDecode]"),
    )
    yield "PDF that starts a program", PDF, lambda: pdf(["x"], "/OpenAction << /S /Launch /F (/bin/sh) >>")
    yield (
        "PDF with JavaScript",
        PDF,
        lambda: pdf(["x"], "/OpenAction << /S /JavaScript /JS (while(1){app.launchURL('http://10.255.255.1/')}) >>"),
    )
    yield (
        "PDF with a form that loads",
        PDF,
        lambda: pdf(["x"], f"/AcroForm << /XFA ({OUTSIDE.replace('(', '').replace(')', '')}<a>&a;</a>) >>"),
    )
    yield (
        "PDF of a page a million times as large",
        PDF,
        lambda: pdf(["x"]).replace(b"[0 0 612 792]", b"[0 0 9e30 9e30]"),
    )
    yield "PDF with a million lines", PDF, lambda: pdf(["BT /F1 9 Tf " + "1 0 Td (a) Tj " * 300_000 + "ET"])
    yield (
        "PDF with fonts that are pages",
        PDF,
        lambda: pdf(["x"]).replace(b"/BaseFont /Helvetica", b"/BaseFont /Helvetica /ToUnicode 1 0 R /Encoding 2 0 R"),
    )
    yield (
        "PDF with dates that are none",
        PDF,
        lambda: pdf(["x"], info="/CreationDate (D:99999999999999999) /ModDate (never) /Title (\xfe\xff\xd8\x00)"),
    )
    yield (
        "PDF with an XMP bomb",
        PDF,
        lambda: pdf(["x"]) + b"<?xpacket begin?><rdf:RDF>" + BILLION.encode() + b"</rdf:RDF><?xpacket end?>",
    )
    yield "PDF, only its signature", PDF, lambda: b"%PDF-1.7\n"
    yield "PDF, a signature and noise", PDF, lambda: b"%PDF-1.7\n" + random.Random(1).randbytes(MIB)
    yield "PDF of 20 MiB of objects", PDF, lambda: pdf_of(["<< /Type /Catalog >>", *["<< >>"] * 600_000], "/Root 1 0 R")
    yield "PDF with arrays 100,000 deep", PDF, lambda: pdf(["x"], "/X " + "[" * 100_000)


def flate_pdf(data: bytes, filters: str = "/FlateDecode") -> bytes:
    stream = compress(data, 9).decode("latin-1")
    return pdf_of(
        ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
         "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
         f"<< /Filter {filters} /Length {len(stream)} >>\nstream\n{stream}\nendstream",
         "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"], "/Root 1 0 R",
    )  # fmt: skip


def text_cases() -> Iterator[Case]:
    yield "mail 1,000 parts deep", MAIL, lambda: multipart(1_000)
    yield "mail 100 parts deep", MAIL, lambda: multipart(100)
    yield (
        "mail of 100,000 parts",
        MAIL,
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 100_000 + b"--b--\n",
    )
    yield "mail with a header of 50 MiB", MAIL, lambda: b"Subject: " + b"a" * (50 * MIB) + b"\n\nx"
    yield "mail with a million headers", MAIL, lambda: b"X-A: b\n" * 1_000_000 + b"\nx"
    yield "mail with encoded words without end", MAIL, lambda: b"Subject: " + b"=?utf-8?q?" * 100_000 + b"\n\nx"
    yield "mail with an unknown charset", MAIL, lambda: b"Content-Type: text/plain; charset=\xff\x00nope\n\nx"
    yield "mail with remote pictures", MAIL, lambda: mail(html="<img src=http://10.255.255.1/x.png><p>seen")
    yield "mail in mail in mail", MAIL, lambda: forwarded(20)
    yield (
        "mail with a zip bomb attached",
        MAIL,
        lambda: mail(attached=("b.docx", docx("", {"word/document.xml": b" " * (100 * MIB)}))),
    )
    yield "mail with winmail.dat", MAIL, lambda: mail(attached=("winmail.dat", b"\x78\x9f\x3e\x22" + b"\x01" * 1_000))
    yield (
        "mail with a name that climbs",
        MAIL,
        lambda: mail(attached=("../../-rf $(reboot)\r\nX: y".replace("\r\n", ""), b"x")),
    )
    yield "a box of a million messages", MBOX, lambda: b"From a Sat Feb 29 10:00:00 2020\n\nx\n" * 500_000
    yield "a box of nothing but From", MBOX, lambda: b"From " * (2 * MIB)
    yield "rtf groups a million deep", RTF, lambda: b"{\\rtf1 " + b"{" * 1_000_000
    yield "rtf of closing braces", RTF, lambda: b"{\\rtf1 " + b"}" * 1_000_000
    yield "rtf with a long number", RTF, lambda: rtf("\\u" + "9" * 100_000 + " x")
    yield (
        "rtf with characters that are none",
        RTF,
        lambda: rtf("\\u55357 \\u-1 \\u65536 \\u-99999 \\'zz \\bin9999999 x"),
    )
    yield "rtf of 15 MiB", RTF, lambda: rtf("\\b a\\par " * (15 * MIB // 10))
    yield "rtf of a picture of 15 MiB", RTF, lambda: rtf("{\\pict " + "00ff" * (15 * MIB // 4) + "} x")
    yield (
        "rtf with a loading object",
        RTF,
        lambda: rtf(
            '{\\object\\objautlink{\\*\\objdata 0105}}{\\field{\\*\\fldinst INCLUDEPICTURE "http://10.255.255.1/"}}'
        ),
    )
    yield "csv of a million rows", CSV, lambda: b"a,b\n" * 1_000_000
    yield "csv of one row", CSV, lambda: b"a," * 5_000_000
    yield "csv with an open quote", CSV, lambda: b'a,"b\n' * 1_000_000
    yield "csv of zeros", CSV, lambda: b"\x00," * MIB
    yield "json a million deep", JSON, lambda: b"[" * 1_000_000
    yield "json 1,000 deep", JSON, lambda: b'{"a":' * 1_000 + b"1" + b"}" * 1_000
    yield "json of 3 million values", JSON, lambda: b"[" + b"1," * 3_000_000 + b"1]"
    yield "json of a long number", JSON, lambda: b"9" * 1_000_000
    yield "json of one long string", JSON, lambda: b'"' + b"a" * (8 * MIB) + b'"'
    yield (
        "notebook of odd cells",
        NOTEBOOK,
        lambda: b'{"cells": [1, null, {"source": {"a": 1}}, {"outputs": [[], {"data": {}}]}]}',
    )
    yield "markdown of brackets", MARKDOWN, lambda: b"[" * (2 * MIB)
    yield "markdown of links without end", MARKDOWN, lambda: b"[a](" * MIB
    yield "markdown of stars", MARKDOWN, lambda: b"**" * (2 * MIB)
    yield "markdown of fences", MARKDOWN, lambda: b"```\n" * MIB
    yield "markdown front matter without end", MARKDOWN, lambda: b"---\n" + b"title: x\n" * 500_000
    yield "epub of quotes", EPUB, lambda: epub("<a href='" * 300_000)


def multipart(levels: int) -> bytes:
    held = b"Content-Type: text/plain\n\ninside\n"
    for number in range(levels):
        edge = b"b%d" % number
        held = b"Content-Type: multipart/mixed; boundary=%s\n\n--%s\n%s\n--%s--\n" % (edge, edge, held, edge)
    return held


def forwarded(levels: int) -> bytes:
    held = mail()
    for _ in range(levels):
        held = b"Subject: again\nContent-Type: message/rfc822\n\n" + held
    return held


def ole(sectors: bytes = b"", names: tuple[str, ...] = ()) -> bytes:
    """A header of an OLE file, a directory with these names, and other sectors."""
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 16 + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + b"\x00" * 10
    head += struct.pack("<9L", 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0) + b"\xff" * 432
    entries = b"".join(
        name.encode("utf-16-le").ljust(64, b"\x00")
        + struct.pack("<HBB3L", len(name) * 2 + 2, 5 if n == 0 else 2, 1, n, n, 1)
        + b"\x00" * 36 + struct.pack("<LQ", 0, 1 << 40)
        for n, name in enumerate(("Root Entry", *names))
    )  # fmt: skip
    table = struct.pack("<128L", 0xFFFFFFFD, 1, *[2] * 126)
    return head[:512] + table + entries.ljust(512, b"\x00") + sectors


def ole_cases() -> Iterator[Case]:
    for kind, name in (
        (DOC, "WordDocument"),
        (XLS, "Workbook"),
        (PPT, "PowerPoint Document"),
        (MSG, "__properties_version1.0"),
    ):
        yield f"OLE in a circle: {name}", kind, lambda name=name: ole(names=(name,))
        yield f"OLE with noise: {name}", kind, lambda name=name: ole(random.Random(7).randbytes(MIB), (name,))
        yield f"OLE, its header: {name}", kind, lambda name=name: ole(names=(name,))[:700]
        yield f"OLE of 16 MiB of ones: {name}", kind, lambda name=name: ole(b"\xff" * (16 * MIB), (name,))
    yield "OLE of 40 names", MSG, lambda: ole(names=("__properties_version1.0",) * 2)
    yield "a message without anything", MSG, lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def damaged_cases() -> Iterator[Case]:
    for name, (kind, body) in samples().items():
        for number, one in enumerate(spoiled(body, seed=len(body), count=12)):
            yield f"damaged {name} {number}", kind, lambda one=one: one


def every_case() -> list[Case]:
    return [
        *zip_cases(), *xml_cases(), *pdf_cases(), *text_cases(), *ole_cases(), *damaged_cases(),
    ]  # fmt: skip


assert SHEET
