"""The last resort for bytes that declare nothing and are not UTF-8: read them every likely way, keep the best."""

import re
import unicodedata

from gossamer.parse.labels import decode
from gossamer.parse.language import spoken_in

FALLBACK = "windows-1252"
_SAMPLE = 1 << 16
_HEARD = 1000
# Which languages are written in what. Multibyte encodings check themselves: few other texts are valid in them.
_MULTIBYTE = {
    "shift_jis": {"ja"},
    "euc-jp": {"ja"},
    "euc-kr": {"ko"},
    "big5": {"zh", "yue", "wuu"},
    "gb18030": {"zh", "wuu"},
}
_CODE_PAGES = {
    "windows-1252": {"en", "fr", "de", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "is", "ca", "gl", "eu", "id"},
    "windows-1251": {"ru", "bg", "uk", "sr", "mk", "be"},
    "koi8-r": {"ru"},
    "windows-1250": {"cs", "pl", "sk", "hu", "sl", "hr", "ro"},
    "iso-8859-2": {"cs", "pl", "sk", "hu", "sl", "hr", "ro"},
    "windows-1253": {"el"},
    "windows-1254": {"tr", "az"},
    "windows-1255": {"he", "yi"},
    "windows-1256": {"ar", "fa", "ur"},
    "windows-874": {"th"},
    "iso-8859-5": {"ru", "bg", "sr", "mk"},
    "ibm866": {"ru"},
    "x-mac-cyrillic": {"ru", "bg", "uk", "mk"},
}
_OTHER_SCRIPTS = _CODE_PAGES.keys() - {"windows-1252", "windows-1250", "iso-8859-2", "windows-1254"}
_SELDOM = {"windows-874": 0.9, "windows-1256": 0.9}
_TAGS = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>|[\x00-\x40\[-`{-~]+", re.DOTALL | re.IGNORECASE)


def guessed(body: bytes) -> str:
    sample = body[:_SAMPLE]
    if re.search(rb"\x1b(?:\$[@B]|\([IJ])", sample):
        return "iso-2022-jp"
    ranked = [(_sense(sample, name, languages), name) for name, languages in (_MULTIBYTE | _CODE_PAGES).items()]
    best, name = max(ranked, key=lambda each: each[0])
    return name if best > 0.0 else FALLBACK


def _sense(sample: bytes, encoding: str, languages: set[str]) -> float:
    """How much the sample, read in this encoding, looks like a language that is written in it."""
    text = decode(sample, encoding)
    broken = text.count("\ufffd")
    if broken > 1 and broken > len(text) // 1000:
        return 0.0
    words = _TAGS.sub(" ", text).split()
    if encoding not in _MULTIBYTE:
        words = [word for word in words if not word.isascii()]
    sample_text = " ".join(words)[:_HEARD]
    language, sureness = spoken_in(sample_text)
    if language not in languages:
        return 0.0
    return (
        _SELDOM.get(encoding, 1.0)
        * sureness
        * _letters(sample_text)
        * (_unmixed(words) if encoding in _OTHER_SCRIPTS else 1.0)
    )


def _unmixed(words: list[str]) -> float:
    """The share of words without a Latin letter. A script of its own always sounds sure; mixed words give it away."""
    return sum(not re.search("[A-Za-z]", word) for word in words) / len(words)


def _letters(words: str) -> float:
    """The share of letters among what is not ASCII: the wrong code page strews symbols and capitals into words."""
    foreign = [c for c in words if not c.isascii()]
    good = sum(unicodedata.category(c) in ("Ll", "Lo", "Mn", "Mc") for c in foreign)
    return good / len(foreign) if foreign else 0.0
