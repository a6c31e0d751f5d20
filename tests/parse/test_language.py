"""Recognising the language of a text, on labelled texts of the public encoding collection.

Read in place, or under $GOSSAMER_CONFORMANCE; without it these tests are skipped.
"""

import html
from collections.abc import Iterator
from functools import cache

import pytest
from tests.conformance.suites import HOME

from gossamer.parse.charset import charset_of, decode
from gossamer.parse.content import xml_text
from gossamer.parse.language import language_of

SUITE = HOME / "encoding" / "chardet"
LANGUAGES = {
    "hungarian": "hu", "croatian": "hr", "czech": "cs", "polish": "pl", "slovak": "sk", "slovene": "sl",
    "bulgarian": "bg", "russian": "ru", "greek": "el", "turkish": "tr", "hebrew": "he", "Big5": "zh", "GB2312": "zh",
    "EUC-JP": "ja", "SHIFT_JIS": "ja", "EUC-KR": "ko", "CP949": "ko", "KOI8-R": "ru", "IBM866": "ru", "TIS-620": "th",
}  # fmt: skip
LATIN = frozenset(("hu", "hr", "cs", "pl", "sk", "sl", "tr"))
WRONG = {"ru": "uk", "bg": "ru", "cs": "sk", "sk": "cs", "hr": "sl", "sl": "hr", "pl": "cs", "zh": "ja", "ja": "zh"}
PIECES = 4

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the encoding suites are not here; set GOSSAMER_CONFORMANCE")


@cache
def texts() -> list[tuple[str, str]]:
    found = []
    for folder in sorted(SUITE.iterdir()):
        tag = next((tag for ending, tag in LANGUAGES.items() if folder.name.endswith(ending)), None)
        for file in sorted(folder.iterdir()) if tag else ():
            body = file.read_bytes()
            found.append((tag or "", xml_text(html.unescape(xml_text(decode(body, charset_of(None, body).encoding))))))
    return found


def pieces(length: int) -> Iterator[tuple[str, str]]:
    """Pieces of the texts. In other scripts, pieces that are mostly English (names, commands) are left out."""
    for tag, text in texts():
        for number in range(PIECES):
            piece = text[200 + number * max(length, 400) :][:length]
            latin = sum(char.isascii() and char.isalpha() for char in piece)
            if len(piece) == length and (tag in LATIN or latin < 0.4 * length):
                yield tag, piece


@pytest.mark.parametrize(("length", "least", "most_wrong"), [(40, 0.88, 0.08), (150, 0.965, 0.02), (600, 0.99, 0.005)])
def test_the_language_of_an_undeclared_text_is_recognised(length: int, least: float, most_wrong: float) -> None:
    found = [(language_of(None, piece), tag) for tag, piece in pieces(length)]
    right, wrong = (
        sum(test(*one) for one in found) / len(found) for test in (lambda a, b: a == b, lambda a, b: a not in ("", b))
    )
    print(f"{length} characters: {right:.3f} right, {wrong:.3f} wrong of {len(found)}")
    assert right >= least and wrong <= most_wrong


@pytest.mark.parametrize(("length", "least"), [(100, 0.9), (150, 0.92), (600, 0.94)])
def test_a_wrong_declaration_is_corrected_and_a_correct_one_kept(length: int, least: float) -> None:
    given = list(pieces(length))
    for wrong in ("en", None):
        fixed = sum(language_of(wrong or WRONG.get(tag, "fr"), piece) == tag for tag, piece in given) / len(given)
        print(f"{length} characters, declared {wrong or 'a neighbour'}: {fixed:.3f} corrected")
        assert fixed >= least
    kept = sum(language_of(tag, piece) == tag for tag, piece in given) / len(given)
    print(f"{length} characters, declared right: {kept:.3f} kept")
    assert kept >= 0.995
