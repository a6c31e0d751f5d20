"""Public collections of encodings: labels, code pages, declarations, and text without a declaration.

Read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import json
import re

import pytest
from tests.conformance.suites import HOME

from gossamer.parse.charset import ENCODING_OF, charset_of, decode, encoding_named, prescan
from gossamer.parse.sniff import media_type_of

SUITE = HOME / "encoding"
GUESS_FLOOR = 208
NOT_READ = {"EUC-TW", "Johab", "iso-2022-kr"}
"""Encodings that browsers do not read either. (Browsers do not read IBM855 and UTF-32, but we do.)"""
DECLARATION = re.compile(rb"\sencoding\s*=\s*[\"'][\w.-]+[\"']|charset\s*=\s*[\"']?[\w.:-]+", re.IGNORECASE)
LANGUAGE = re.compile(r"-[a-z]{5,}$")
PYTHON_NAME = {
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "iso-8859-1": "cp1252",
    "ascii": "utf-8",
    "euc-kr": "cp949",
    "euc-tw": "big5",
    "tis-620": "cp874",
}
# A script writes the declaration while the page loads, so no reader of bytes can find it.
WRITTEN_BY_SCRIPT = b"multi-script test"

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the encoding suites are not here; set GOSSAMER_CONFORMANCE")


def test_every_label_of_the_standard_is_known_and_no_other():
    expected = json.loads((SUITE / "wpt" / "encoding_labels.json").read_text())
    assert {label: name.lower() for label, name in expected.items()} == ENCODING_OF


def test_every_byte_of_every_single_byte_encoding_is_read_right():
    for name, points in json.loads((SUITE / "wpt" / "single_byte_indexes.json").read_text()).items():
        expected = "".join("\ufffd" if point is None else chr(point) for point in points)
        assert decode(bytes(range(128, 256)), encoding_named(name)) == expected, name


def declarations():
    for file in sorted((SUITE / "html5lib").rglob("*.dat")):
        for block in file.read_bytes().split(b"#data\n")[1:]:
            page, _, label = block.partition(b"\n#encoding\n")
            if WRITTEN_BY_SCRIPT not in page:
                yield page, encoding_named(label.split(b"\n")[0].decode())


def test_declarations_are_found_where_browsers_find_them():
    wrong = []
    for page, expected in declarations():
        found = charset_of(None, page)
        named = found.encoding if found.how in ("bom", "meta") else prescan(page) or "windows-1252"
        if named != expected:
            wrong.append((page[:80], expected, named))
    assert not wrong


def without_change(body):
    return body


def undeclared(body):
    return DECLARATION.sub(b"", body)


@pytest.mark.parametrize("made", [without_change, undeclared])
def test_M_C10_real_pages_are_read_right_with_their_declaration_and_without(made):
    right = total = 0
    wrong = set()
    for folder in sorted((SUITE / "chardet").iterdir()):
        name = LANGUAGE.sub("", folder.name.lower())
        for file in sorted(folder.iterdir()):
            body = made(file.read_bytes())
            found = decode(body, charset_of(None, body).encoding)
            expected = body.decode(PYTHON_NAME.get(name, name), "replace")
            is_right = found.lstrip("\ufeff") == expected.lstrip("\ufeff")
            right, total = right + is_right, total + 1
            if not is_right:
                wrong.add(folder.name)
    print(f"{made.__name__}: {right} of {total} read right")
    assert wrong <= NOT_READ
    assert right >= GUESS_FLOOR


KEPT = {
    "EUC-JP": {0x5C, 0x7E, 0xA1C1, 0xA1C2, 0xA1DD, 0xA1F1, 0xA1F2, 0xA2CC, 0x8FA2B7},
    "ISO-2022-JP": {0x2141, 0x2142, 0x215D, 0x2171, 0x2172, 0x224C},
    "Shift_JIS": {0x5C, 0x7E, 0x817C},
    "Big5": {0xA145, 0xA14E, 0xA1C2, 0xA1E3, 0xA1F2, 0xA1F3, 0xA241, 0xA242, 0xA244, 0xA246, 0xA247},
    "EUC-KR": set(),
}
"""Rows for encoding only (0x5C is read as a backslash), and signs that Python decodes by the national standard: a wave
dash where browsers have a full-width tilde. No letter is among them."""


def test_M_C10_every_character_of_the_multibyte_encodings_is_read_right():
    for name, rows in json.loads((SUITE / "wpt" / "multibyte_chars.json").read_text()).items():
        wrong = set()
        for code, point in [*rows["chars"], *rows.get("chars_extra", [])]:
            if decode(bytes.fromhex(code), encoding_named(name)) != chr(int(point, 16)):
                wrong.add(int(code.removeprefix("1B2442").removesuffix("1B2842"), 16))
        assert wrong == KEPT[name], name


def test_M_C10_pages_in_utf_32_are_recognised_as_pages():
    for file in sorted((SUITE / "wpt").glob("utf-32-*")):
        body = file.read_bytes()
        assert media_type_of(None, body) in ("text/html", "text/xml", "application/xhtml+xml"), file.name
        assert "sample file" in decode(body, charset_of(None, body).encoding), file.name
