"""The last resort for bytes that declare nothing and are not UTF-8: the detector that Firefox uses (chardetng), and two
Cyrillic code pages that it does not know."""

import re

from chardetng_py.detector import EncodingDetector

from gossamer.parse.labels import decode, encoding_named

FALLBACK = "windows-1252"
_SAMPLE = 1 << 20
_WORD = re.compile(r"[^\x00-\x40\[-`{-~]{3,}")
_CYRILLIC = re.compile("[\u0400-\u042f\u0490]?[\u0430-\u045f\u0491]+|[\u0400-\u042f\u0490]+")
"""A word as it is written: in small letters, perhaps with a capital first, or in capitals. Read in another code page,
the capitals and some of the letters are symbols, Latin, or capitals inside a word."""
_LEAST_WORDS = 5
_LEAST_SHARE = 0.9


def guessed(body: bytes) -> str:
    detector = EncodingDetector()
    detector.feed(body[:_SAMPLE], last=len(body) <= _SAMPLE)
    label = detector.guess(tld=None, allow_utf8=False)
    found = encoding_named("windows-874" if label == "cp874" else label) or FALLBACK
    if found not in ("windows-1252", "windows-1251"):
        return found
    shares = {name: _cyrillic(body[:_SAMPLE], name) for name in ("windows-1251", "x-mac-cyrillic", "ibm855")}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > _LEAST_SHARE else found


def _cyrillic(sample: bytes, encoding: str) -> float:
    """The share of well-formed Cyrillic words among those that are not ASCII."""
    words = [word for word in _WORD.findall(decode(sample, encoding)) if not word.isascii()]
    if len(words) < _LEAST_WORDS:
        return 0.0
    return sum(_CYRILLIC.fullmatch(word) is not None for word in words) / len(words)
