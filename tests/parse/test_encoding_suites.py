"""Public collections of encodings: labels, code pages, declarations, and text that declares nothing.

Read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import json
import os
import re
from pathlib import Path

import pytest

from gossamer.parse.charset import charset_of, prescan
from gossamer.parse.labels import ENCODING_OF, decode, encoding_named

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
SUITE = HOME / "encoding"
GUESS_FLOOR = 190
LANGUAGE = re.compile(r"-[a-z]{5,}$")
PYTHON_NAME = {"gb2312": "gb18030", "shift_jis": "cp932", "iso-8859-1": "cp1252", "ascii": "utf-8", "euc-kr": "cp949"}
# A script that writes the declaration while the page loads: nothing that reads bytes can see it.
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


def test_text_that_declares_nothing_is_mostly_read_right():
    right = total = 0
    for folder in sorted((SUITE / "chardet").iterdir()):
        name = LANGUAGE.sub("", folder.name.lower())
        for file in sorted(folder.iterdir()):
            body = file.read_bytes()
            found = decode(body, charset_of(None, body).encoding)
            expected = body.decode(PYTHON_NAME.get(name, name).replace("euc-tw", "big5"), "replace")
            right += found.lstrip("\ufeff") == expected.lstrip("\ufeff")
            total += 1
    print(f"undeclared encodings: {right} of {total} read right")
    assert right >= GUESS_FLOOR
